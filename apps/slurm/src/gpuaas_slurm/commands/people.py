"""The commands that let people charge an account, and take it from them again. Pure: argv only.

They run inside one script with what is done to the machine's users, in an order that matters.
"""

import shlex
from collections.abc import Iterable, Sequence

Argv = tuple[str, ...]
_SACCTMGR: Argv = ("sacctmgr", "--immediate")


def user_add(names: Sequence[str], cluster: str, account: str) -> Iterable[Argv]:
    """Let users charge an account; it becomes the default of those who have none."""
    if names:
        yield (
            *_SACCTMGR, "add", "user", ",".join(names), f"account={account}", f"cluster={cluster}",
        )  # fmt: skip


def user_close(names: Sequence[str], cluster: str, account: str) -> Iterable[Argv]:
    """Let users start nothing more: what waits is cancelled, what runs may end."""
    if names:
        yield (*_modify(names, cluster, account), "MaxSubmitJobs=0", "MaxJobs=0")
        yield ("scancel", "--state=PENDING", f"--account={account}", f"--user={','.join(names)}")


def user_reopen(names: Sequence[str], cluster: str, account: str) -> Iterable[Argv]:
    """Take a closing back."""
    if names:
        yield (*_modify(names, cluster, account), "MaxSubmitJobs=-1", "MaxJobs=-1")


def user_remove(names: Sequence[str], cluster: str) -> Iterable[Argv]:
    """Forget users in a cluster; their past jobs stay on record.

    The whole user goes, since an account that is a user's default cannot be taken from them.
    """
    if names:
        yield (
            *_SACCTMGR, "remove", "user", "where", f"user={','.join(names)}", f"cluster={cluster}",
        )  # fmt: skip


def as_script(commands: Iterable[Argv]) -> str:
    """Return commands as lines of a script."""
    return "".join(f"{shlex.join(argv)}\n" for argv in commands)


def _modify(names: Sequence[str], cluster: str, account: str) -> Argv:
    where = (f"user={','.join(names)}", f"cluster={cluster}", f"account={account}")
    return (*_SACCTMGR, "modify", "user", "where", *where, "set")

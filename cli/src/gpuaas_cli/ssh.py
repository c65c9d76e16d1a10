"""`gpuaas ssh` and `gpuaas ssh-config`: log in to a machine the project holds, by certificate.

The key is made here, the certificate lives for minutes, and the host's keys are known from its
enrolment: nothing is trusted on first use.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated

from gpuaas_cli.config import config_path
from gpuaas_cli.names import identified
from gpuaas_cli.options import Connection
from gpuaas_cli.said import Parameter
from gpuaas_cli.session import Session, Stop, run
from gpuaas_sdk.ssh_files import ssh_files

Allocation = Annotated[str, Parameter(help="id or name of the allocation")]
Lifetime = Annotated[int, Parameter(name="--ttl", help="seconds the certificate can be used")]
Person = Annotated[
    bool,
    Parameter(
        name="--as-person",
        negative="--as-operator",
        help="log in as yourself, where an app made you an account; otherwise as root",
    ),
]


def ssh(
    allocation: Allocation,
    *command: Annotated[
        str, Parameter(allow_leading_hyphen=True, help="what to run there; a shell when left out")
    ],
    person: Person = False,
    ttl: Lifetime = 300,
    connection: Connection | None = None,
) -> int:
    """Log in to an allocation by a certificate of minutes, or run a command there.

    The exit code is that of ssh.

    Examples
    --------
    $ gpuaas ssh n1
    $ gpuaas ssh n1 -- systemctl status sshd
    $ gpuaas ssh --as-person n1
    """

    async def log_in(session: Session) -> int:
        wanted = await identified(session, "allocation_id", allocation)
        access = await ssh_files(
            session.clients.calls, wanted, ttl_seconds=ttl, login=_login(person=person)
        )
        try:
            words = (*access.command, *command)
            return subprocess.run(words, check=False).returncode  # noqa: ASYNC221 - nothing else runs
        except FileNotFoundError as error:
            raise Stop("there is no `ssh` here: install OpenSSH's client.") from error
        finally:
            access.remove()

    return run(connection, log_in)


def ssh_config(
    allocation: Allocation,
    *,
    renew: Annotated[
        bool, Parameter(negative="", help="write a new certificate and say nothing")
    ] = False,
    person: Person = False,
    ttl: Lifetime = 300,
    connection: Connection | None = None,
) -> int:
    """Print an entry for your own ssh configuration; each login renews its certificate.

    Examples
    --------
    $ gpuaas ssh-config n1 >> ~/.ssh/config
    """

    async def write(session: Session) -> int:
        wanted = await identified(session, "allocation_id", allocation)
        folder = config_path().parent / "ssh" / wanted
        access = await ssh_files(
            session.clients.calls,
            wanted,
            ttl_seconds=ttl,
            login=_login(person=person),
            folder=folder,
        )
        if not renew:
            options = access.config_text.partition("\n")[2]
            match = _match(allocation, connection, person=person)
            sys.stdout.write(f"{match}\n{options}")
        return 0

    return run(connection, write)


def _login(*, person: bool) -> str:
    return "person" if person else "operator"


def _match(allocation: str, connection: Connection | None, *, person: bool) -> str:
    """The line that lets ssh call us for a new certificate before it reads the old one."""
    program = Path(sys.argv[0]).resolve()
    words = [str(program), "ssh-config", allocation, "--renew"]
    if person:
        words.append("--as-person")
    named = (connection.context if connection else None) or os.environ.get("GPUAAS_CONTEXT")
    if named:
        words += ["--context", named]
    return f'Match originalhost {allocation} exec "{shlex.join(words)}"'

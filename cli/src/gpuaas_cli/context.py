"""`gpuaas context …`: platforms and identities one works with. Nothing here makes a call."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from gpuaas_cli.config import (
    Config,
    ConfigError,
    Context,
    config_path,
    config_read,
    config_write,
)
from gpuaas_cli.options import Format
from gpuaas_cli.output import show
from gpuaas_cli.said import Parameter

Output = Annotated[
    Format, Parameter(name=["--output", "-o"], help="table, wide, json, yaml or csv")
]


def context_list(*, output: Output = "table") -> int:
    """List the contexts.

    Examples
    --------
    $ gpuaas context list
    """

    def work(config: Config) -> None:
        rows = [
            {"name": name, "current": name == config.current, **_told(one)}
            for name, one in config.contexts.items()
        ]
        columns = ("name", "current", "url", "who", "tenant", "project", "identity")
        show(rows, output, columns)

    return _with(work)


def context_use(name: str) -> int:
    """Choose the context that is used by default.

    Examples
    --------
    $ gpuaas context use lab
    """

    def work(config: Config) -> None:
        _known(config, name)
        config_write(config_path(), Config(name, config.contexts))
        sys.stdout.write(f"now using {name}\n")

    return _with(work)


def context_show(name: str | None = None, *, output: Output = "table") -> int:
    """Show a context (the current one), without its secret.

    Examples
    --------
    $ gpuaas context show -o json
    """

    def work(config: Config) -> None:
        label = name or config.current or ""
        show({"name": label, **_told(_known(config, label))}, output)

    return _with(work)


def context_set(
    *,
    name: Annotated[str | None, Parameter(help="of the context; the current one")] = None,
    tenant: Annotated[str | None, Parameter(help="tenant to work in, by name or id")] = None,
    project: Annotated[str | None, Parameter(help="project to work in, by name or id")] = None,
) -> int:
    """Choose the tenant and project of a context.

    Examples
    --------
    $ gpuaas context set --project research
    """

    def work(config: Config) -> None:
        label = name or config.current or ""
        before = _known(config, label)
        after = replace(before, tenant=tenant or before.tenant, project=project or before.project)
        contexts = {**config.contexts, label: after}
        config_write(config_path(), Config(config.current, contexts))

    return _with(work)


def context_remove(name: str) -> int:
    """Forget a context. Its token lives on until it ends; `gpuaas logout` ends it.

    Examples
    --------
    $ gpuaas context remove lab
    """

    def work(config: Config) -> None:
        _known(config, name)
        config_write(config_path(), config.without(name))

    return _with(work)


def _with(work: Callable[[Config], None]) -> int:
    try:
        work(config_read(config_path()))
    except ConfigError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def _known(config: Config, name: str) -> Context:
    if name not in config.contexts:
        known = ", ".join(config.contexts) or "none; `gpuaas login` makes one"
        raise ConfigError(f"there is no context {name or 'chosen'}; known: {known}")
    return config.contexts[name]


def _told(context: Context) -> dict[str, Any]:
    """A context without its token."""
    identity = "token" if context.token else "key file" if context.key_file else "nobody"
    return {
        "url": context.url,
        "who": context.who,
        "tenant": context.tenant,
        "project": context.project,
        "identity": identity,
        "key_file": context.key_file,
    }

"""Contexts: platforms one works with, as whom, and where in them.

One file below the user's configuration folder, readable by its owner alone, because it holds
tokens. The environment wins over it: GPUAAS_CONTEXT chooses, GPUAAS_URL, GPUAAS_TOKEN,
GPUAAS_KEY_FILE, GPUAAS_TENANT and GPUAAS_PROJECT stand in for its parts.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from urllib.parse import urlsplit

DEFAULT_URL = "http://127.0.0.1:8470"


class ConfigError(Exception):
    """The file of contexts cannot be used; said in one sentence."""


@dataclass(frozen=True)
class Context:
    """One platform and identity. `token_id` names the token, so that it can be ended."""

    url: str = DEFAULT_URL
    token: str | None = field(default=None, repr=False)
    token_id: str | None = None
    key_file: str | None = None
    tenant: str | None = None
    project: str | None = None
    who: str = ""


@dataclass(frozen=True)
class Config:
    """Every context, and which one is used by default."""

    current: str | None = None
    contexts: Mapping[str, Context] = field(default_factory=dict)

    def having(self, name: str, context: Context) -> "Config":
        """With this context, chosen."""
        return Config(name, {**self.contexts, name: context})

    def without(self, name: str) -> "Config":
        """Without this context."""
        rest = {key: one for key, one in self.contexts.items() if key != name}
        return Config(None if self.current == name else self.current, rest)


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the contexts are kept."""
    if named := environ.get("GPUAAS_CONFIG"):
        return Path(named)
    home = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME", "~")) / ".config")
    return Path(home).expanduser() / "gpuaas" / "contexts.json"


def config_read(path: Path) -> Config:
    """The contexts; none when there is no file yet."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        known = {one.name for one in fields(Context)}
        contexts = {
            name: Context(**{key: value for key, value in one.items() if key in known})
            for name, one in raw["contexts"].items()
        }
        return Config(raw.get("current"), contexts)
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path} is not a file of contexts; move it away") from error


def config_write(path: Path, config: Config) -> None:
    """Keep the contexts, whole or not at all, for the owner's eyes alone."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    raw = {
        "current": config.current,
        "contexts": {
            name: {key: value for key, value in asdict(one).items() if value}
            for name, one in config.contexts.items()
        },
    }
    fresh = path.with_name(f".contexts-{os.urandom(6).hex()}")
    with os.fdopen(
        os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        json.dump(raw, file, indent=2)
        file.write("\n")
    fresh.replace(path)


def context_chosen(
    config: Config,
    named: str | None,
    url: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Context:
    """The context of a command: named, from the environment, current, or the default platform."""
    name = named or environ.get("GPUAAS_CONTEXT") or config.current
    if name is None:
        chosen = Context()
    elif name in config.contexts:
        chosen = config.contexts[name]
    else:
        known = ", ".join(config.contexts) or "none"
        raise ConfigError(f"there is no context {name!r}; known: {known}")
    return _addressed(_overridden(chosen, url or environ.get("GPUAAS_URL"), environ))


def _addressed(context: Context) -> Context:
    """The context, when its address can be one."""
    try:
        parts = urlsplit(context.url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, or half an IPv6 address
        sound = False
    if not sound:
        raise ConfigError(f"{context.url!r} is no address of a platform: https://HOST[:PORT]")
    return context


def _overridden(context: Context, url: str | None, environ: Mapping[str, str]) -> Context:
    if url and url.rstrip("/") != context.url.rstrip("/"):
        # A token of one platform is never sent to another.
        context = Context(url=url, tenant=context.tenant, project=context.project)
    token, key_file = environ.get("GPUAAS_TOKEN"), environ.get("GPUAAS_KEY_FILE")
    if token or key_file:
        context = replace(context, token=token or None, key_file=None if token else key_file)
    return replace(
        context,
        tenant=environ.get("GPUAAS_TENANT") or context.tenant,
        project=environ.get("GPUAAS_PROJECT") or context.project,
    )

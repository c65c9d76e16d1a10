"""What must never be seen: credentials in texts people send, values in the words of exceptions.

Used by logs, problems and whoever keeps a text somebody pasted. Pure.
"""

import re
from typing import Final

from gpuaas_platform.kernel.problems import PlatformError

MASK: Final = "[masked]"

# What can be told by its form: our own secrets (identity, webhooks), tokens, private keys.
_SHAPES: Final = (
    re.compile(r"()\b(?:gp[cdeknpst]|whsec)_[A-Za-z0-9_+/=-]{20,}"),
    re.compile(r"()\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
    re.compile(r"()-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END[A-Z -]*-----|\Z)", re.DOTALL),
)
_SUSPECT: Final = re.compile(
    r"gp[cdeknpst]_|whsec_|eyJ|-----BEGIN"
)  # cheap: asked for every log line

# A header or a field whose name says that a secret follows.
_NAMED: Final = (
    re.compile(
        r"(?i)((?:authorization|cookie|x-csrf-token|password|passwd|secret|token|private[_-]?key"
        r"|api[_-]?key|credential)[\"']?\s*[:=]\s*[\"']?)(?:bearer\s+|basic\s+)?[^\s\"',;&}]+"
    ),
    re.compile(r"(?i)(bearer\s+)[^\s\"']+"),
)

# Exceptions whose words come from code; those of any other may quote a value.
_SPEAKING: Final = (
    ArithmeticError, AssertionError, AttributeError, ImportError, NameError, NotImplementedError,
    OSError, PlatformError, RuntimeError, TypeError,
)  # fmt: skip


def shapes_masked(text: str) -> str:
    """The text without anything that has the form of a credential."""
    return _masked(text, _SHAPES) if _SUSPECT.search(text) else text


def secrets_masked(text: str) -> str:
    """The text without credentials, told by their form or by the name before them."""
    return _masked(text, _NAMED + _SHAPES)


def error_told(error: BaseException) -> str:
    """An exception in words that quote no value: its kind, and its text where code wrote it."""
    kind = type(error).__name__
    if isinstance(error, _SPEAKING) and not isinstance(error, UnicodeError):
        return f"{kind}: {shapes_masked(str(error))}"
    state = getattr(error, "sqlstate", None)
    constraint = getattr(error, "constraint_name", None)
    told = [kind, f"SQLSTATE {state}" if state else "", f"of {constraint}" if constraint else ""]
    return " ".join(part for part in told if part)


def _masked(text: str, patterns: tuple[re.Pattern[str], ...]) -> str:
    for pattern in patterns:
        text = pattern.sub(lambda match: match[1] + MASK, text)
    return text

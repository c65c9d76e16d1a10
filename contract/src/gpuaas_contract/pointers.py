"""JSON pointers (RFC 6901) over plain JSON values: parse, read, write.

Used by manifests (placement, conditions, panels), by entitlement settings and by whoever reports
where in a document something is wrong. Pure.
"""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

_POINTER: Final = re.compile(r"(?:/(?:[^~/]|~[01])*)*")
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")


class Missing:
    """Stands for "there is nothing at this pointer", which null does not say."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


def pointer_checked(text: str) -> str:
    """The pointer itself when it is well formed; else an error that says what is not."""
    if not _POINTER.fullmatch(text):
        raise ValueError("not a JSON pointer: empty, or parts each led by '/' ('~' is '~0')")
    return text


JsonPointer = Annotated[
    str,
    AfterValidator(pointer_checked),
    Field(max_length=500, description="JSON pointer (RFC 6901)", examples=["/adapter_detail"]),
]


def pointer_parts(pointer: str) -> list[str]:
    """The unescaped parts of a pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def pointer_make(parts: Iterable[str | int]) -> str:
    """The pointer made of these parts."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def pointer_read(document: Any, pointer: str) -> Any:  # noqa: ANN401 - any JSON value
    """What a pointer points to, or `MISSING`."""
    value = document
    for part in pointer_parts(pointer):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and _INDEX.fullmatch(part) and int(part) < len(value):
            value = value[int(part)]
        else:
            return MISSING
    return value


def pointer_written(document: Any, pointer: str, value: Any) -> Any:  # noqa: ANN401 - JSON
    """A copy of the document with this value at this pointer; missing objects are made.

    Only objects are walked: what is set by pointer is a named field. Where something else stands
    in the way, the document stays as it is.
    """
    parts = pointer_parts(pointer)
    if not parts:
        return value
    base = {} if document is MISSING else document
    if not isinstance(base, dict):
        return document
    head, rest = parts[0], pointer_make(parts[1:])
    return {**base, head: pointer_written(base.get(head, MISSING), rest, value)}

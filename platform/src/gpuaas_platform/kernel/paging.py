"""Cursor pagination: a cursor is the sort key of the last row, opaque to callers.

Lists order by id (newest first unless said otherwise), so a page costs what it returns and stays
stable while rows are added.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Query, Response

from gpuaas_contract.common import MAX_PAGE, Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.problems import PlatformError

T = TypeVar("T")

ANY_OF: Any = Query(
    default_factory=list,
    max_length=32,
    description="Only in this state; repeat it for any of several",
)
"""A filter of states."""
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Items per page at most")]
Cursor = Annotated[
    str | None, Query(max_length=500, description="`next_cursor` of the page before")
]


def cursor_encode(key: str) -> str:
    """An opaque cursor for the row with this sort key."""
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def cursor_decode(cursor: str | None) -> str | None:
    """The sort key inside a cursor, or None for the first page."""
    if cursor is None:
        return None
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(raw, type=str)
    except (binascii.Error, msgspec.DecodeError, ValueError) as error:
        raise PlatformError(
            ErrorCode.INVALID_CURSOR, "The cursor was not made by this list; start over."
        ) from error


def page_of(rows: Sequence[T], limit: int, key: Callable[[T], str]) -> Page[T]:
    """A page from `limit + 1` fetched rows: the extra row only says that there is more."""
    items = list(rows[:limit])
    more = len(rows) > limit
    return Page[T].model_construct(
        items=items, next_cursor=cursor_encode(key(items[-1])) if more else None
    )


def page_response(rows: Sequence[Record], limit: int, fields: Sequence[str]) -> Response:
    """The same for rows whose columns are the answer's fields: encoded as they are, by their id."""
    items = [{field: row[field] for field in fields} for row in rows[:limit]]
    more = len(rows) > limit
    page = {"items": items, "next_cursor": cursor_encode(items[-1]["id"]) if more else None}
    return Response(msgspec.json.encode(page), media_type="application/json")

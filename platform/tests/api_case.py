"""What a case of a route is; the cases themselves are in `api_cases.py` and beside it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

Params = Mapping[str, str]
Body = Callable[[Params], dict[str, Any]]


class At(Enum):
    """Where a route's subject is at home, which decides how each wrong identity is refused."""

    OPEN = "nobody needs to be known"
    OWN = "the caller's own"
    COMMON = "the same for everybody who may read it anywhere"
    PLATFORM = "the platform's"
    TENANT = "the tenant's"
    PROJECT = "the project's"
    REACH = "a list of whatever is in the caller's reach"


@dataclass(frozen=True)
class Case:
    """One route: whose it is, what to send, by whom it may be asked."""

    at: At
    body: Body | None = None
    by: str = "boss"
    reads: bool = False  # a POST that changes nothing
    why: str = ""
    params: Mapping[str, str] = field(default_factory=dict)  # path parameter → key in the scenario
    query: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None  # sent as it is, where a route takes no JSON
    headers: Mapping[str, str] = field(default_factory=dict)

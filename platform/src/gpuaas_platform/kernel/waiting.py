"""`?wait=30s` of reads that can wait for something new. Used by routes."""

import re
from typing import Annotated, Final

from pydantic import Field

from gpuaas_contract.controllers import MAX_WAIT_SECONDS
from gpuaas_platform.kernel.problems import invalid

_WAIT: Final = re.compile(r"(\d{1,5})(ms|s)")

WaitFor = Annotated[
    str,
    Field(
        max_length=8,
        description=f"Wait this long for something newer, at most {MAX_WAIT_SECONDS}s",
        examples=["30s"],
    ),
]


def wait_seconds(text: str) -> float:
    """How long to wait; what goes over the longest wait is cut."""
    match = _WAIT.fullmatch(text)
    if match is None:
        raise invalid("/query/wait", "a number and `s` or `ms`, as in 30s")
    return min(int(match[1]) / (1000 if match[2] == "ms" else 1), float(MAX_WAIT_SECONDS))

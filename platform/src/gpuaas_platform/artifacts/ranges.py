"""Which bytes of a content a request asks for (RFC 9110, one range). Pure."""

import re
from dataclasses import dataclass
from typing import Final

_RANGE: Final = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


@dataclass(frozen=True)
class Span:
    """From where, how much, of how much; `partial` says that a range was asked for and is met."""

    start: int
    length: int
    size: int
    partial: bool

    @property
    def satisfiable(self) -> bool:
        """Whether there is anything to send."""
        return self.length > 0 or not self.partial

    @property
    def content_range(self) -> str:
        """The header that says which bytes these are."""
        if not self.satisfiable:
            return f"bytes */{self.size}"
        return f"bytes {self.start}-{self.start + self.length - 1}/{self.size}"


def span_of(asked: str | None, if_range: str | None, etag: str, size: int) -> Span:
    """The span a `Range` means. What is malformed, several ranges, or meant for other content
    is answered with everything, as if no range had been asked for.
    """
    whole = Span(0, size, size, partial=False)
    match = _RANGE.fullmatch((asked or "").replace(" ", ""))
    if match is None or (if_range is not None and if_range.strip() != etag):
        return whole
    first, last = match[1], match[2]
    if not first and not last:
        return whole
    if not first:
        length = min(int(last), size)
        return Span(size - length, length, size, partial=True)
    start = int(first)
    end = min(int(last), size - 1) if last else size - 1
    if last and int(last) < start:
        return whole
    return Span(start, max(0, end - start + 1), size, partial=True)

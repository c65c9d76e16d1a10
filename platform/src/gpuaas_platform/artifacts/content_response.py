"""The answer that carries an artifact's content: headers of a range, and bytes by the best way.

Where the server can send files (`http/zero_copy.py`) and the content is one, the kernel copies it;
else it is streamed. Either way the sending is ended, also when the machine hangs up.
"""

import base64
from contextlib import suppress
from typing import Final

from fastapi.responses import StreamingResponse
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gpuaas_platform.artifacts.sending import Sending

_EXTENSION: Final = "http.response.zerocopysend"


class ContentResponse(Response):
    """A content, or the part of it that was asked for."""

    def __init__(self, sending: Sending) -> None:
        self._sending = sending
        super().__init__()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        span, file = self._sending.outgoing.span, self._sending.file
        status, headers = _status(self._sending), _headers(self._sending)
        media_type = self._sending.outgoing.media_type
        try:
            if not span.satisfiable:
                await Response(status_code=status, headers=headers)(scope, receive, send)
            elif file is not None and _EXTENSION in (scope.get("extensions") or {}):
                raw = Response(None, status, headers, media_type).raw_headers
                await send({"type": "http.response.start", "status": status, "headers": raw})
                copied = {"file": file, "offset": span.start, "count": span.length}
                with suppress(ConnectionError):  # it may come back and go on from where it was
                    await send({"type": _EXTENSION, **copied})
                    self._sending.all_handed()
            else:
                chunks = self._sending.chunks()
                streamed = StreamingResponse(chunks, status, headers, media_type)
                await streamed(scope, receive, send)
        finally:
            self._sending.end()


def _status(sending: Sending) -> int:
    span = sending.outgoing.span
    if not span.satisfiable:
        return 416
    return 206 if span.partial else 200


def _headers(sending: Sending) -> dict[str, str]:
    delivery, span = sending.outgoing.delivery, sending.outgoing.span
    digest = base64.b64encode(bytes.fromhex(delivery.digest.removeprefix("sha256:"))).decode()
    headers = {
        "Accept-Ranges": "bytes",
        "Cache-Control": "no-store",
        "ETag": f'"{delivery.digest}"',
        "Repr-Digest": f"sha-256=:{digest}:",
        "Content-Disposition": "attachment",
    }
    if span.partial:
        headers["Content-Range"] = span.content_range
    if span.satisfiable:
        headers["Content-Length"] = str(span.length)
    return headers

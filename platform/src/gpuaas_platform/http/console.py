"""Serves the built web console: hashed assets for ever, the page itself never cached.

The console is a folder of files; the platform knows nothing of what is in it. Precompressed
neighbours (`.br`, `.gz`) are sent to whoever accepts them.
"""

from pathlib import Path
from typing import Final

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse
from starlette.exceptions import HTTPException

_POLICY: Final = "; ".join(
    (
        "default-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
    )
)
_ENCODINGS: Final = (("br", ".br"), ("gzip", ".gz"))
_NAME_BYTES: Final = 255
_PATH_BYTES: Final = 2048  # with the folder before it, below what a path may have
_FOR_EVER: Final = "public, max-age=31536000, immutable"


def console_mount(app: FastAPI, folder: Path) -> None:
    """Serve the console at `/`; every path that is no file is the page (deep links)."""
    root = folder.resolve()

    async def serve(request: Request, path: str = "") -> Response:
        if path.startswith("api/"):
            raise HTTPException(404, "There is no such route.")
        if not _nameable(path):
            raise HTTPException(404, "There is no such page.")
        file = (root / path).resolve()
        hashed = path.startswith("assets/")
        if not (path and file.is_relative_to(root) and file.is_file()):
            if hashed:
                raise HTTPException(404, "This file belongs to another release of the console.")
            file = root / "index.html"
        return _file_response(request, file, hashed=hashed)

    for route in ("/", "/{path:path}"):
        app.add_api_route(route, serve, methods=["GET", "HEAD"], include_in_schema=False)


def _nameable(path: str) -> bool:
    """Whether a file could have this path: the operating system raises for any other."""
    raw = path.encode(errors="surrogatepass")
    short = len(raw) <= _PATH_BYTES and max(map(len, raw.split(b"/"))) <= _NAME_BYTES
    return short and b"\0" not in raw


def _file_response(request: Request, file: Path, *, hashed: bool) -> Response:
    headers = {
        "Content-Security-Policy": _POLICY,
        "Cache-Control": _FOR_EVER if hashed else "no-cache",
        "Vary": "Accept-Encoding",
    }
    media = _media_type(file)
    accepted = request.headers.get("accept-encoding", "")
    for name, suffix in _ENCODINGS:
        compressed = file.with_name(file.name + suffix)
        if name in accepted and compressed.is_file():
            return FileResponse(
                compressed, headers=headers | {"Content-Encoding": name}, media_type=media
            )
    return FileResponse(file, headers=headers, media_type=media)


def _media_type(file: Path) -> str:
    known = {
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".svg": "image/svg+xml",
        ".json": "application/json",
        ".png": "image/png",
        ".ico": "image/x-icon",
        ".woff2": "font/woff2",
        ".webmanifest": "application/manifest+json",
    }
    return known.get(file.suffix, "application/octet-stream")

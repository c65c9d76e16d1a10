"""Applications that tests take turns with: making one costs more than most tests do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from gpuaas_platform.http.app import app_make
from gpuaas_platform.kernel.call import Platform

_idle: list[FastAPI] = []


@asynccontextmanager
async def app_running(platform: Platform) -> AsyncIterator[FastAPI]:
    """An application whose process-wide parts run, as this platform's and nobody else's."""
    app = _idle.pop() if _plain(platform) and _idle else app_make(platform)
    app.state.platform = platform
    try:
        async with app.router.lifespan_context(app):
            yield app
    finally:
        if _plain(platform):
            _idle.append(app)


def _plain(platform: Platform) -> bool:
    """Whether its application is like any other's: the console's files are routes of their own."""
    return platform.settings.console_dir is None

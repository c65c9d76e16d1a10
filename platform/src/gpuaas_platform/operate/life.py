"""What the operate room runs for the life of a process. Entered by `http/app.py`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.operate.keeping import keeping_running
from gpuaas_platform.operate.metrics import metrics_serving


@asynccontextmanager
async def operate_running(platform: Platform) -> AsyncIterator[None]:
    """The port of the metrics, and what writes lines and spans for timelines."""
    async with metrics_serving(platform), keeping_running(platform):
        yield

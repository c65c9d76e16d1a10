"""Metrics in Prometheus' text format: what this process counted, and figures of the database.

Served with a permission under the API, and without one on a port of its own where that is
configured: the text tells of no tenant. Figures of the database are the same from every replica;
take their maximum, not their sum.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import structlog
import uvicorn
from prometheus_client import Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import OperationStatus
from gpuaas_platform.apps import figures
from gpuaas_platform.audit import service as audit
from gpuaas_platform.events import following as events
from gpuaas_platform.kernel.call import Call, Platform
from gpuaas_platform.kernel.caller import PLATFORM
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.telemetry import REGISTRY

_log = structlog.get_logger(__name__)
PART: Final = "operate.metrics_url"
_PATH: Final = "/metrics"


def _gauge(name: str, text: str, label: str | None = None) -> Gauge:
    return Gauge(f"gpuaas_{name}", text, [label] if label else [], registry=REGISTRY)


_UP: Final = _gauge("database_up", "Whether the database answers")
_POOL: Final = _gauge("database_connections", "Connections of this replica's pool", "state")
_POOL_MAX: Final = _gauge("database_connections_max", "Connections the pool may have")
_OUTBOX: Final = _gauge("outbox_depth", "Events that wait to be told, counted up to 10,000")
_LAG: Final = _gauge("relay_lag_seconds", "Age of the oldest event that waits to be told")
_UNCHAINED: Final = _gauge("audit_unchained", "Audit entries that wait for their place")
_OPERATIONS: Final = _gauge("operations", "Operations that are not at their end", "status")
_CLAIMABLE: Final = _gauge("operations_claimable_seconds", "Longest wait for a controller to claim")
_FAILING: Final = _gauge("webhooks_failing", "Webhooks whose last delivery failed")
_DEAD: Final = _gauge("webhook_deliveries_dead", "Deliveries that were given up")
_CONTROLLERS: Final = _gauge("controllers", "Replicas of apps' controllers", "state")


async def metrics_read(call: Call) -> Response:
    """The metrics, for those who may see the platform's health."""
    call.caller.require(Permission.HEALTH_READ, PLATFORM)
    return await _response(call.platform)


@asynccontextmanager
async def metrics_serving(platform: Platform) -> AsyncIterator[None]:
    """Serve the metrics on their own port for as long as the block runs, if one is configured."""
    settings = platform.settings
    if settings.metrics_port is None:
        yield
        return
    family = socket.AF_INET6 if ":" in settings.metrics_host else socket.AF_INET
    listener = socket.create_server((settings.metrics_host, settings.metrics_port), family=family)
    config = uvicorn.Config(
        _Exposition(platform), lifespan="off", log_config=None, access_log=False,
        server_header=False, timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = _Server(config)
    host, port = listener.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}{_PATH}"
    platform.parts[PART] = url
    _log.info("metrics_served", url=url)
    task = asyncio.create_task(server.serve(sockets=[listener]), name="metrics")
    try:
        yield
    finally:
        server.should_exit = True
        await task


class _Server(uvicorn.Server):
    """A second server in the process: signals are the first one's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Exposition:
    """The application on the metrics' own port."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] != _PATH or scope["method"] not in {"GET", "HEAD"}:
            response = Response("The metrics are at /metrics.\n", 404, media_type="text/plain")
        else:
            response = await _response(self._platform)
        await response(scope, receive, send)


async def _response(platform: Platform) -> Response:
    await _refresh(platform)
    return Response(generate_latest(REGISTRY), media_type=CONTENT_TYPE_PLAIN_0_0_4)


async def _refresh(platform: Platform) -> None:
    used, idle, most = platform.db.pool_use()
    _POOL.labels("used").set(used)
    _POOL.labels("idle").set(idle)
    _POOL_MAX.set(most)
    try:
        async with platform.db.connection() as conn:
            backlog = await events.backlog(conn)
            unchained = await audit.chain_waiting(conn)
            work = await figures.figures_read(platform, conn)
    except PlatformError:
        _UP.set(0)
        return
    _UP.set(1)
    now = platform.clock.now()
    _OUTBOX.set(backlog.depth)
    _LAG.set(0 if backlog.oldest is None else max(0.0, (now - backlog.oldest).total_seconds()))
    _UNCHAINED.set(unchained)
    _FAILING.set(backlog.webhooks_failing)
    _DEAD.set(backlog.deliveries_dead)
    for status in OperationStatus:
        _OPERATIONS.labels(str(status)).set(work.operations.get(status, 0))
    since = work.claimable_since
    _CLAIMABLE.set(0 if since is None else max(0.0, (now - since).total_seconds()))
    _CONTROLLERS.labels("present").set(sum(one.present for one in work.controllers))
    _CONTROLLERS.labels("absent").set(sum(one.absent for one in work.controllers))

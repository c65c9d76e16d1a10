"""The application: every room's routes, the life of the process, the console's files.

Called by `main.py` and by tests. The only module that knows all rooms.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from fastapi.telemetry import TelemetryConfig
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.types import ASGIApp

from gpuaas_contract.common import API_PREFIX
from gpuaas_contract.errors import Problem
from gpuaas_platform import __version__
from gpuaas_platform.apps.controller_routes import router as controller_router
from gpuaas_platform.apps.routes import router as apps_router
from gpuaas_platform.apps.sweeps import apps_life
from gpuaas_platform.artifacts.delivery_routes import router as deliveries_router
from gpuaas_platform.artifacts.life import artifacts_life
from gpuaas_platform.artifacts.routes import router as artifacts_router
from gpuaas_platform.audit.chain import chain_running
from gpuaas_platform.audit.routes import router as audit_router
from gpuaas_platform.billing.recording import billing_life
from gpuaas_platform.billing.routes import router as billing_router
from gpuaas_platform.capacity.routes import router as capacity_router
from gpuaas_platform.capacity.workshop import capacity_life
from gpuaas_platform.catalog.routes import router as catalog_router
from gpuaas_platform.custody.life import custody_life
from gpuaas_platform.custody.routes import router as custody_router
from gpuaas_platform.custody.secret_routes import router as secrets_router
from gpuaas_platform.events.life import events_running
from gpuaas_platform.events.routes import router as events_router
from gpuaas_platform.events.webhook_routes import router as webhooks_router
from gpuaas_platform.fleet.agent_routes import router as agent_router
from gpuaas_platform.fleet.life import fleet_life
from gpuaas_platform.fleet.routes import router as fleet_router
from gpuaas_platform.fleet.task_routes import router as task_router
from gpuaas_platform.http.console import console_mount
from gpuaas_platform.http.description import ROOMS, SUMMARY, document_describe
from gpuaas_platform.http.edge import Addresses, Edge
from gpuaas_platform.http.errors import errors_install
from gpuaas_platform.http.routing import route_index_install
from gpuaas_platform.identity.life import identity_life
from gpuaas_platform.identity.routes import router as identity_router
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.limits import OpenLimit
from gpuaas_platform.kernel.public_url import public_base
from gpuaas_platform.operate.life import operate_running
from gpuaas_platform.operate.routes import router as operate_router
from gpuaas_platform.operate.telemetry_routes import router as telemetry_router
from gpuaas_platform.policy.routes import router as policy_router

_ROUTERS: tuple[APIRouter, ...] = (
    identity_router,
    policy_router,
    audit_router,
    events_router,
    webhooks_router,
    capacity_router,
    custody_router,
    secrets_router,
    artifacts_router,
    deliveries_router,
    fleet_router,
    task_router,
    agent_router,
    catalog_router,
    controller_router,
    apps_router,
    billing_router,
    telemetry_router,
    operate_router,
)

# What a room runs for the life of the process (its loops): entered in this order, left in reverse.
_LIVES: tuple[Callable[[Platform], AbstractAsyncContextManager[None]], ...] = (
    identity_life,
    chain_running,
    events_running,
    capacity_life,
    custody_life,
    artifacts_life,
    fleet_life,
    apps_life,
    billing_life,
    operate_running,
)
# The framework's own telemetry would keep bodies and messages; the edge traces without them.
_NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
_PROBLEM: dict[int | str, dict[str, Any]] = {
    "default": {"description": "Any error", "model": Problem}
}


class _Described(FastAPI):
    """The framework's application, whose document also says what holds for every route."""

    def openapi(self) -> dict[str, Any]:
        known = self.openapi_schema
        document = super().openapi()
        if document is not known:
            document_describe(document)
        return document

    def build_middleware_stack(self) -> ASGIApp:
        """Only what a request needs: whatever nobody caught is the edge's to answer and log."""
        return ExceptionMiddleware(
            AsyncExitStackMiddleware(self.router), handlers=self.exception_handlers
        )


def app_make(platform: Platform | None) -> FastAPI:
    """The FastAPI application. Without a platform it only describes itself (OpenAPI)."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        platform: Platform | None = app.state.platform
        if platform is None:
            yield
            return
        await platform.db.open()
        platform.signals.start()
        try:
            async with AsyncExitStack() as stack:
                for room_life in _LIVES:
                    await stack.enter_async_context(room_life(platform))
                yield
        finally:
            await platform.signals.stop()
            await platform.db.close()

    app = _Described(
        title="GPUaaS",
        summary=SUMMARY,
        openapi_tags=ROOMS,
        version=__version__,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{API_PREFIX}/openapi.json",
        separate_input_output_schemas=False,
        telemetry=_NO_TELEMETRY,
    )
    app.state.platform = platform
    for router in _ROUTERS:
        app.include_router(router, prefix=API_PREFIX, responses=_PROBLEM)
    route_index_install(app)
    errors_install(app)
    if platform is not None and platform.settings.console_dir is not None:
        console_mount(app, platform.settings.console_dir)
    return app


def asgi_make(platform: Platform) -> ASGIApp:
    """The application behind the edge, as it is served."""
    settings = platform.settings
    https = public_base(settings).startswith("https:")
    addresses = Addresses(OpenLimit(settings.connections_per_address), settings.trusted_proxies)
    return Edge(
        app_make(platform),
        max_body_bytes=settings.max_body_bytes,
        https=https,
        addresses=addresses,
    )

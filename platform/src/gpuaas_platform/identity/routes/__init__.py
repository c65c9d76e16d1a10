"""Routes of the identity room, one module per concern, joined here for `http/app.py`."""

from fastapi import APIRouter

from gpuaas_platform.identity.routes.access import router as access_router
from gpuaas_platform.identity.routes.accounts import router as accounts_router
from gpuaas_platform.identity.routes.devices import router as devices_router
from gpuaas_platform.identity.routes.federation import router as federation_router
from gpuaas_platform.identity.routes.oidc import router as oidc_router
from gpuaas_platform.identity.routes.people import router as people_router
from gpuaas_platform.identity.routes.revocation import router as revocation_router
from gpuaas_platform.identity.routes.second_factors import router as second_factors_router
from gpuaas_platform.identity.routes.sign_in import router as sign_in_router
from gpuaas_platform.identity.routes.tenants import router as tenants_router
from gpuaas_platform.identity.routes.users import router as users_router

router = APIRouter(tags=["identity"])
for part in (
    sign_in_router,
    revocation_router,
    second_factors_router,
    oidc_router,
    federation_router,
    devices_router,
    tenants_router,
    users_router,
    people_router,
    accounts_router,
    access_router,
):
    router.include_router(part)

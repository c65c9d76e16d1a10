"""Routes of webhooks and their deliveries."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from gpuaas_contract.common import Page
from gpuaas_contract.events import (
    DeliveryStatus,
    Redelivered,
    Webhook,
    WebhookCreate,
    WebhookDelivery,
    WebhookUpdate,
    WebhookWithSecret,
)
from gpuaas_platform.events import webhook_service as service
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.etag import etag_headers
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.work import mutate

router = APIRouter(tags=["events"])
Id = Annotated[str, Path(max_length=64)]


@router.post(
    "/projects/{project_id}/webhooks",
    operation_id="project_webhook_create",
    status_code=201,
    response_model=WebhookWithSecret,
)
async def project_webhook_create(call: CallDep, project_id: Id, body: WebhookCreate) -> Response:
    """Deliver a project's events to a URL; the answer shows the signing secret, once."""
    return await service.webhook_create(call, Place(project_id=project_id), body)


@router.get("/projects/{project_id}/webhooks", operation_id="project_webhook_list")
async def project_webhook_list(
    call: CallDep, project_id: Id, cursor: Cursor = None, limit: Limit = 100
) -> Page[Webhook]:
    """List a project's webhooks, newest first."""
    return await service.webhook_list(call, Place(project_id=project_id), cursor, limit)


@router.post(
    "/tenants/{org_id}/webhooks",
    operation_id="tenant_webhook_create",
    status_code=201,
    response_model=WebhookWithSecret,
)
async def tenant_webhook_create(call: CallDep, org_id: Id, body: WebhookCreate) -> Response:
    """Deliver the events of a tenant and all its projects to a URL."""
    return await service.webhook_create(call, Place(org_id), body)


@router.get("/tenants/{org_id}/webhooks", operation_id="tenant_webhook_list")
async def tenant_webhook_list(
    call: CallDep, org_id: Id, cursor: Cursor = None, limit: Limit = 100
) -> Page[Webhook]:
    """List the webhooks of a tenant and its projects, newest first."""
    return await service.webhook_list(call, Place(org_id), cursor, limit)


@router.get("/webhooks/{webhook_id}", operation_id="webhook_read")
async def webhook_read(call: CallDep, webhook_id: Id, response: Response) -> Webhook:
    """Read a webhook: whether it is served, how far it is, what went wrong last."""
    hook = await service.webhook_read(call, webhook_id)
    response.headers.update(etag_headers(hook.revision))
    return hook


@router.patch("/webhooks/{webhook_id}", operation_id="webhook_update", response_model=Webhook)
async def webhook_update(call: CallDep, webhook_id: Id, body: WebhookUpdate) -> Response:
    """Change a webhook, disable it, or enable it again from where it stopped."""
    handler = partial(service.webhook_update, hook_id=webhook_id, body=body)
    return await mutate(call, "events.webhook.update", handler)


@router.delete("/webhooks/{webhook_id}", operation_id="webhook_delete", status_code=204)
async def webhook_delete(call: CallDep, webhook_id: Id) -> Response:
    """Remove a webhook and its deliveries."""
    return await mutate(
        call, "events.webhook.delete", partial(service.webhook_delete, hook_id=webhook_id)
    )


@router.post(
    "/webhooks/{webhook_id}/rotate-secret",
    operation_id="webhook_rotate",
    response_model=WebhookWithSecret,
)
async def webhook_rotate(call: CallDep, webhook_id: Id) -> Response:
    """Make a new signing secret; the one before signs beside it for a day."""
    return await service.webhook_rotate(call, webhook_id)


@router.get("/webhooks/{webhook_id}/deliveries", operation_id="webhook_delivery_list")
async def webhook_delivery_list(
    call: CallDep,
    webhook_id: Id,
    status: Annotated[DeliveryStatus | None, Query(description="`dead`: those given up")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[WebhookDelivery]:
    """List how events fared with a webhook, newest first; `status=dead` is the dead-letter list."""
    return await service.delivery_list(call, webhook_id, status, (cursor, limit))


@router.post(
    "/webhooks/{webhook_id}/redeliver",
    operation_id="webhook_redeliver",
    status_code=202,
    response_model=Redelivered,
)
async def webhook_redeliver(call: CallDep, webhook_id: Id) -> Response:
    """Try every dead delivery of a webhook once more."""
    return await mutate(
        call, "events.webhook.redeliver", partial(service.webhook_redeliver, hook_id=webhook_id)
    )


@router.post(
    "/webhook-deliveries/{delivery_id}/redeliver",
    operation_id="webhook_delivery_redeliver",
    status_code=202,
    response_model=Redelivered,
)
async def webhook_delivery_redeliver(call: CallDep, delivery_id: Id) -> Response:
    """Try one dead delivery once more."""
    return await mutate(
        call,
        "events.delivery.redeliver",
        partial(service.delivery_redeliver, delivery_id=delivery_id),
    )

"""Routes of numbered events: the list and the live stream. Webhooks have their own module."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from gpuaas_contract.common import Page
from gpuaas_contract.events import (
    EVENT_STREAM_MEDIA_TYPE,
    CloudEvent,
    EventListQuery,
    EventStreamQuery,
)
from gpuaas_platform.events import service
from gpuaas_platform.kernel.call import CallDep

router = APIRouter(tags=["events"])

_STREAM = {
    "description": "Messages with the sequence as `id`, the type as `event` and a CloudEvent as"
    " `data`; comments in between keep the connection alive",
    "content": {
        EVENT_STREAM_MEDIA_TYPE: {
            "example": 'id: 42\nevent: apps.instance.running\ndata: {"specversion":"1.0",…}\n\n'
        }
    },
}


@router.get("/events", operation_id="event_list", response_model=Page[CloudEvent])
async def event_list(call: CallDep, query: Annotated[EventListQuery, Query()]) -> Response:
    """What happened: newest first, or in order behind `after`."""
    return await service.event_list(call, query)


@router.get(
    "/events/stream",
    operation_id="event_stream",
    response_class=Response,
    responses={200: _STREAM},
)
async def event_stream(
    call: CallDep,
    request: Request,
    query: Annotated[EventStreamQuery, Query()],
    last_event_id: Annotated[
        str | None, Header(pattern=r"^\d{0,18}$", description="Resume behind this sequence")
    ] = None,
) -> Response:
    """Events as they happen, behind `Last-Event-ID` or `after` where given."""
    after = int(last_event_id) if last_event_id else query.after
    return await service.event_stream(call, request, query, after)

"""Routes of the operate room. Health and version are open: they tell nothing of any tenant."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from gpuaas_contract.common import CORRELATION_PATTERN, MAX_PAGE, Input, Page
from gpuaas_contract.operate import (
    Gap,
    GapCategory,
    GapCreate,
    GapStatus,
    GapUpdate,
    Live,
    Names,
    NamesQuery,
    PlatformHealth,
    Readiness,
    Timeline,
    Version,
)
from gpuaas_platform.kernel.call import CallDep, OpenCallDep
from gpuaas_platform.kernel.etag import etag_headers
from gpuaas_platform.kernel.waiting import WaitFor, wait_seconds
from gpuaas_platform.kernel.work import mutate
from gpuaas_platform.operate import gaps, health, metrics, naming, timeline
from gpuaas_platform.operate.store import GapFilter
from gpuaas_platform.operate.timeline import TimelineQuery

router = APIRouter(tags=["operate"])
Id = Annotated[str, Path(max_length=64)]
CorrelationId = Annotated[str, Path(pattern=CORRELATION_PATTERN, description="A correlation id")]


class Paged(Input):
    """Where a list goes on, and how long a page is."""

    cursor: Annotated[
        str | None, Field(max_length=500, description="`next_cursor` of the page before")
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Items per page at most")] = 200


class TimelinePage(Paged):
    """A page of a timeline, now or once it reads differently."""

    wait: WaitFor = "0s"
    after: Annotated[
        str | None,
        Field(max_length=64, description="With `wait`: answer once the revision is another"),
    ] = None


class GapQuery(Paged):
    """Filters of gaps."""

    status: GapStatus | None = None
    category: GapCategory | None = None
    project_id: Annotated[str | None, Field(max_length=64)] = None


@router.get("/health/live", operation_id="health_live")
async def health_live() -> Live:
    """The process runs."""
    return Live()


@router.get(
    "/health/ready",
    operation_id="health_ready",
    responses={503: {"model": Readiness, "description": "Not ready; says what is missing"}},
)
async def health_ready(call: OpenCallDep, response: Response) -> Readiness:
    """Whether this replica can do its work, and what is missing if not."""
    readiness = await health.readiness(call.platform)
    response.status_code = 200 if readiness.status == "ready" else 503
    return readiness


@router.get("/version", operation_id="version_read")
async def version_read(call: OpenCallDep) -> Version:
    """Which platform this is."""
    return await health.version(call.platform)


@router.get("/admin/health", operation_id="platform_health_read")
async def platform_health_read(call: CallDep) -> PlatformHealth:
    """The platform's own state: replicas, duties, queues, webhooks and controllers in trouble."""
    return await health.health_read(call)


@router.get(
    "/metrics",
    operation_id="metrics_read",
    response_class=Response,
    responses={200: {"description": "Metrics", "content": {"text/plain": {}}}},
)
async def metrics_read(call: CallDep) -> Response:
    """Metrics of this replica in Prometheus' text format."""
    return await metrics.metrics_read(call)


@router.get("/correlations/{correlation_id}", operation_id="correlation_read")
async def correlation_read(
    call: CallDep,
    correlation_id: CorrelationId,
    page: Annotated[TimelinePage, Query()],
) -> Timeline:
    """Everything that carries this correlation id, in order; waits for a change when asked to."""
    query = TimelineQuery(page.cursor, page.limit, wait_seconds(page.wait), page.after)
    return await timeline.timeline_read(call, correlation_id, query)


@router.get("/names", operation_id="names_read")
async def names_read(call: CallDep, query: Annotated[NamesQuery, Query()]) -> Names:
    """What people call tenants, projects, people, accounts, machines and what runs, by ids."""
    return await naming.names_read(call, query.id)


@router.post("/gaps", operation_id="gap_create", status_code=201, response_model=Gap)
async def gap_create(call: CallDep, body: GapCreate) -> Response:
    """Log something that was missing or awkward, with its evidence."""
    return await mutate(call, "operate.gap.create", partial(gaps.gap_create, body=body))


@router.get("/gaps", operation_id="gap_list")
async def gap_list(call: CallDep, query: Annotated[GapQuery, Query()]) -> Page[Gap]:
    """Gaps in reach, newest first."""
    wanted = GapFilter(query.status, query.category, query.project_id)
    return await gaps.gap_list(call, wanted, query.cursor, query.limit)


@router.get("/gaps/{gap_id}", operation_id="gap_read")
async def gap_read(call: CallDep, gap_id: Id, response: Response) -> Gap:
    """Read one gap."""
    found = await gaps.gap_read(call, gap_id)
    response.headers.update(etag_headers(found.revision))
    return found


@router.patch("/gaps/{gap_id}", operation_id="gap_update", response_model=Gap)
async def gap_update(call: CallDep, gap_id: Id, body: GapUpdate) -> Response:
    """Close a gap, open it again, or say it better."""
    handler = partial(gaps.gap_update, gap_id=gap_id, body=body)
    return await mutate(call, "operate.gap.update", handler)

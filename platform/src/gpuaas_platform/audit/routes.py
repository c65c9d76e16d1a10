"""Routes of the audit room: read, export, verify."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from gpuaas_contract.audit import (
    NDJSON_MEDIA_TYPE,
    AuditFilter,
    AuditListQuery,
    AuditRecord,
    ChainHead,
    ChainVerification,
    VerificationQuery,
)
from gpuaas_contract.common import Page
from gpuaas_platform.audit import service
from gpuaas_platform.kernel.call import CallDep

router = APIRouter(tags=["audit"])

_EXPORT = {
    "description": "One JSON object per line: `seq`, `prev_hash`, `hash` and the `entry`",
    "content": {NDJSON_MEDIA_TYPE: {"schema": {"type": "string"}}},
}


@router.get("/audit", operation_id="audit_list", response_model=Page[AuditRecord])
async def audit_list(call: CallDep, query: Annotated[AuditListQuery, Query()]) -> Response:
    """Who did what to what, newest first."""
    return await service.entry_list(call, query)


@router.get(
    "/audit/export",
    operation_id="audit_export",
    response_class=StreamingResponse,
    responses={200: _EXPORT},
)
async def audit_export(call: CallDep, query: Annotated[AuditFilter, Query()]) -> Response:
    """All entries in reach as lines of JSON that can be verified without the platform."""
    return StreamingResponse(service.entry_export(call, query), media_type=NDJSON_MEDIA_TYPE)


@router.get("/audit/head", operation_id="audit_head_read")
async def audit_head_read(call: CallDep) -> ChainHead:
    """How far the chain has come, signed: keep it elsewhere to notice a chain cut short."""
    return await service.head_read(call)


@router.get("/audit/verification", operation_id="audit_verification_read")
async def audit_verification_read(
    call: CallDep, query: Annotated[VerificationQuery, Query()]
) -> ChainVerification:
    """Recompute the chain and compare it with its signed heads; says the first fault."""
    return await service.chain_check(call, query)

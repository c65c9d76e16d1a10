"""The route controllers hand their log lines and spans in by."""

from fastapi import APIRouter

from gpuaas_contract.telemetry import TelemetrySend, TelemetryTaken
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.operate import telemetry

router = APIRouter(tags=["controllers"])


@router.post("/telemetry", operation_id="telemetry_send")
async def telemetry_send(call: CallDep, body: TelemetrySend) -> TelemetryTaken:
    """Hand in log lines and spans for the timelines of their correlation ids."""
    return await telemetry.telemetry_send(call, body)

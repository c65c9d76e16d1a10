"""The kit an app tests itself with: an in-memory platform and proofs over every operation.

What is named here is public, as in `gpuaas_sdk`.
"""

from gpuaas_sdk.testing.memory import MemoryPlatform
from gpuaas_sdk.testing.proof import ProofFailed, Proven, Stage, prove_operation
from gpuaas_sdk.testing.running import controller_running, operation_ended, operation_run
from gpuaas_sdk.testing.world import FakeClock

__all__ = [
    "FakeClock",
    "MemoryPlatform",
    "ProofFailed",
    "Proven",
    "Stage",
    "controller_running",
    "operation_ended",
    "operation_run",
    "prove_operation",
]

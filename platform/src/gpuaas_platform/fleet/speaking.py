"""Who speaks: only a node's agent is heard on the agent's routes, and only of its own node."""

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import CallerKind
from gpuaas_platform.kernel.problems import Denied, PlatformError
from gpuaas_platform.kernel.work import refusal_record


class AgentOnly(Denied):
    """Somebody else than a node's agent used an agent's route."""

    def __init__(self) -> None:
        super().__init__("", hidden=False)
        self.detail = "Only the agent of a node speaks here."
        self.context = {}


def agent_require(call: Call) -> str:
    """The id of the node whose agent calls; anybody else is refused."""
    if call.caller.kind is not CallerKind.NODE:
        raise AgentOnly
    return call.caller.id


async def agent_heard_require(call: Call, action: str) -> str:
    """The same for calls that leave no journal of their own: the refusal is on record too."""
    try:
        return agent_require(call)
    except AgentOnly as error:
        await refusal_record(call, action, error)
        raise


def agent_gone() -> PlatformError:
    """The answer for an agent whose node has let it go."""
    return PlatformError(ErrorCode.UNAUTHENTICATED, "This node has no such agent any more.")

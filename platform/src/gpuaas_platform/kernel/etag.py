"""Optimistic concurrency: a resource's revision is its ETag; `If-Match` guards an update."""

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.problems import PlatformError


def etag_headers(revision: int) -> dict[str, str]:
    """The header that carries a resource's revision."""
    return {"ETag": f'"{revision}"'}


def match_require(call: Call, revision: int) -> None:
    """Refuse an update that was made against another revision than the current one."""
    if call.if_match is None or call.if_match.strip() == "*":
        return
    if f'"{revision}"' not in [tag.strip() for tag in call.if_match.split(",")]:
        raise PlatformError(
            ErrorCode.PRECONDITION_FAILED,
            f"The resource is at revision {revision}; read it again and repeat the change.",
            context={"revision": str(revision)},
        )

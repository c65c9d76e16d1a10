"""A way in for a program that speaks SSH, for apps: failures are those of machine sessions."""

from pathlib import Path

from gpuaas_contract.custody import GRANT_SECONDS, GrantLogin
from gpuaas_sdk.client import Client
from gpuaas_sdk.errors import GpuaasError
from gpuaas_sdk.machines.certificate import failure_of
from gpuaas_sdk.ssh_files import SshAccess, ssh_files

__all__ = ["SshAccess", "ssh_access"]


async def ssh_access(
    client: Client,
    allocation_id: str,
    *,
    folder: Path | None = None,
    ttl_seconds: int = GRANT_SECONDS,
    login: GrantLogin = GrantLogin.OPERATOR,
) -> SshAccess:
    """Ask for a certificate and write what `ssh` needs into a private folder (a new one, if none).

    `login`: as the machine's operator, or as oneself where an app made one an account. The same
    folder can be given again: what is in it is replaced, each file at once.
    """
    try:
        return await ssh_files(
            client, allocation_id, ttl_seconds=ttl_seconds, login=login, folder=folder
        )
    except GpuaasError as error:
        raise failure_of(allocation_id, error) from error

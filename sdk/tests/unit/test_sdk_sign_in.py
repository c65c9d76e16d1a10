"""Signing in with a password that is that of several accounts."""

import httpx2
import pytest

from gpuaas_sdk import Client, GpuaasError
from gpuaas_sdk.sign_in import password_sign_in


async def test_a_password_of_several_accounts_names_them() -> None:
    asked: list[str] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        accounts = [
            {"user_id": "user_1", "org_id": "org_1", "org_name": "Acme"},
            {"user_id": "user_2", "org_id": None, "org_name": None},
        ]
        return httpx2.Response(200, json={"accounts": accounts})

    transport = httpx2.MockTransport(handler)
    async with Client("http://platform", transport=transport) as platform:
        with pytest.raises(GpuaasError, match=r"user_1 \(Acme\), user_2 \(platform\)"):
            await password_sign_in(platform, {"email": "a@b", "password": "x"}, {"name": "t"})
    assert asked == ["/api/v1/sessions"]

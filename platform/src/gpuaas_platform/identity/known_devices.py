"""Known devices: a sealed cookie that says which browser this account signed in from before.

It proves nothing about the person, so it opens nothing. It gives the browser a throttle of its own:
guesses from elsewhere, also from the same address, do not slow it down.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from gpuaas_platform.identity.credentials import bytes_of, text_of
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.keyring import keyring_of
from gpuaas_platform.kernel.keyring_file import KeyringError

DEVICE_SECONDS: Final = 180 * 86_400
_CONTEXT: Final = "identity.known_device"
_ID_BYTES: Final = 16


@dataclass(frozen=True)
class KnownDevice:
    """A browser in which a person has signed in."""

    id: str
    user_id: str


async def device_cookie_make(
    platform: Platform, user_id: str, known: KnownDevice | None = None
) -> str:
    """A cookie's value for a browser in which this person has just signed in."""
    clock = platform.clock
    device_id = known.id if known is not None else clock.randomness(_ID_BYTES).hex()
    until = clock.now() + timedelta(seconds=DEVICE_SECONDS)
    plain = json.dumps([device_id, user_id, int(until.timestamp())]).encode()
    return text_of((await keyring_of(platform)).seal(plain, _CONTEXT))


async def device_known(
    platform: Platform, cookie: str | None, user_ids: Collection[str]
) -> KnownDevice | None:
    """The device a cookie names, where it is one of these people's and its time has not run out."""
    if cookie is None or not user_ids:
        return None
    try:
        sealed = bytes_of(cookie)
        plain = (await keyring_of(platform)).unseal(sealed, _CONTEXT)
    except (KeyringError, ValueError):
        return None
    device_id, owner, until = json.loads(plain)
    if owner not in user_ids or until <= platform.clock.now().timestamp():
        return None
    return KnownDevice(device_id, owner)

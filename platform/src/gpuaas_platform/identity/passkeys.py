"""Passkeys (WebAuthn) as second factors, by the library `webauthn`. Pure, but for its loading.

The library is loaded with the first passkey: it takes longer than the rest of the room together.
"""

import json
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

CHALLENGE_BYTES: Final = 32
_NAME: Final = "GPUaaS"


class PasskeyRefused(Exception):
    """What the browser sent is not a right answer to the challenge."""


@dataclass(frozen=True)
class Site:
    """Where the console is: a passkey made for one site answers no other."""

    host: str
    origin: str


@dataclass(frozen=True)
class Passkey:
    """The public half of a passkey."""

    credential_id: bytes
    public_key: bytes
    sign_count: int


def site_of(base_url: str) -> Site:
    """The site behind the address people use."""
    parts = urlsplit(base_url)
    return Site(parts.hostname or "", f"{parts.scheme}://{parts.netloc}")


def registration_options(
    site: Site, user: tuple[str, str], challenge: bytes, known: list[bytes]
) -> dict[str, Any]:
    """What a browser is asked to make a passkey by, for a user's id and address."""
    import webauthn  # noqa: PLC0415 - takes most of a second, and few need it
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor  # noqa: PLC0415 - as above

    options = webauthn.generate_registration_options(
        rp_id=site.host,
        rp_name=_NAME,
        user_id=user[0].encode(),
        user_name=user[1],
        challenge=challenge,
        exclude_credentials=[PublicKeyCredentialDescriptor(id=one) for one in known],
    )
    return _plain(webauthn.options_to_json(options))


def registration_check(site: Site, credential: dict[str, Any], challenge: bytes) -> Passkey:
    """The passkey a browser made for this challenge."""
    import webauthn  # noqa: PLC0415 - as above

    try:
        made = webauthn.verify_registration_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=site.host,
            expected_origin=site.origin,
        )
    except Exception as error:
        raise PasskeyRefused(str(error)) from error
    return Passkey(made.credential_id, made.credential_public_key, made.sign_count)


def sign_in_options(site: Site, challenge: bytes, known: list[bytes]) -> dict[str, Any]:
    """What a browser is asked to sign with one of a person's passkeys."""
    import webauthn  # noqa: PLC0415 - as above
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor  # noqa: PLC0415 - as above

    options = webauthn.generate_authentication_options(
        rp_id=site.host,
        challenge=challenge,
        allow_credentials=[PublicKeyCredentialDescriptor(id=one) for one in known],
    )
    return _plain(webauthn.options_to_json(options))


def answered(credential: dict[str, Any]) -> tuple[bytes, bytes]:
    """Which passkey a browser answered with, and which challenge it says it signed."""
    import webauthn  # noqa: PLC0415 - as above

    try:
        credential_id = webauthn.base64url_to_bytes(credential["id"])
        client = json.loads(webauthn.base64url_to_bytes(credential["response"]["clientDataJSON"]))
        return credential_id, webauthn.base64url_to_bytes(client["challenge"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise PasskeyRefused("this is no answer of a passkey") from error


def sign_in_check(
    site: Site, credential: dict[str, Any], challenge: bytes, passkey: Passkey
) -> int:
    """Check a signature over the challenge; how often the passkey has signed by now."""
    import webauthn  # noqa: PLC0415 - as above

    try:
        checked = webauthn.verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=site.host,
            expected_origin=site.origin,
            credential_public_key=passkey.public_key,
            credential_current_sign_count=passkey.sign_count,
        )
    except Exception as error:
        raise PasskeyRefused(str(error)) from error
    return checked.new_sign_count


def _plain(text: str) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(text)
    return plain

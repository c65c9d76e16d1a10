"""Wire types of how people keep their account theirs: sessions, second factors, failed sign-ins.

Part of the identity room. Pure.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from gpuaas_contract.common import Input, Model
from gpuaas_contract.identity import PASSWORD_MAX

PresentPassword = Annotated[
    str,
    Field(
        max_length=PASSWORD_MAX,
        json_schema_extra={"writeOnly": True},
        description="Your present password",
    ),
]


class Session(Model):
    """A browser's session. Its secret lives in a cookie no script can read."""

    id: str
    user_id: str
    created_at: datetime
    expires_at: datetime
    idle_until: Annotated[datetime, Field(description="It ends then, unless it is used before")]
    last_used_at: Annotated[datetime | None, Field(description="Exact to a minute")] = None
    source: Annotated[str | None, Field(description="Address the person signed in from")] = None
    current: Annotated[bool, Field(description="It is the one that asks")] = False


class SignInFailure(Model):
    """Failed sign-ins to an account, from one address."""

    id: str
    source: Annotated[str, Field(description="Address they came from")]
    attempts: int
    first_at: datetime
    last_at: datetime


class CredentialsEnded(Model):
    """How many sessions and personal tokens ended; those that had ended before do not count."""

    sessions: int
    tokens: int


class SecondFactorKind(StrEnum):
    """What a second factor is."""

    TOTP = "totp"
    PASSKEY = "passkey"


class SecondFactor(Model):
    """What a person proves who they are with, beside their password."""

    id: str
    kind: SecondFactorKind
    name: str
    created_at: datetime
    last_used_at: datetime | None


class SecondFactorCreate(Input):
    """A new second factor. It counts once its first code has confirmed it."""

    kind: Annotated[
        SecondFactorKind, Field(description="An authenticator app (TOTP), or a passkey (WebAuthn)")
    ] = SecondFactorKind.TOTP
    name: Annotated[
        str, Field(min_length=1, max_length=100, description="Tells your factors apart")
    ] = "Authenticator app"
    current_password: PresentPassword


class SecondFactorBegun(Model):
    """A second factor before its first code: the one time its secret is shown."""

    id: str
    secret: Annotated[
        str | None, Field(description="For an app that is typed into; null for a passkey")
    ] = None
    uri: Annotated[str | None, Field(description="The same, for an app that reads a QR code")] = (
        None
    )
    options: Annotated[
        dict[str, Any] | None,
        Field(description="What the browser makes a passkey by; null for an app"),
    ] = None


class SecondFactorConfirm(Input):
    """The first code, which shows that the app has the secret; or the passkey that was made."""

    code: Annotated[
        str | None, Field(min_length=6, max_length=20, description="What the app shows")
    ] = None
    passkey: Annotated[
        dict[str, Any] | None, Field(description="What the browser made, as JSON")
    ] = None


class PasskeyChallenge(Model):
    """What a browser is to sign with a passkey; it lives for minutes and is used once."""

    options: dict[str, Any]


class RecoveryCodes(Model):
    """Codes for when the second factor is lost. Each works once; they are shown this once."""

    codes: list[str]


class SecondFactorConfirmed(Model):
    """A second factor that counts, with the recovery codes where it is the first."""

    factor: SecondFactor
    recovery_codes: Annotated[
        list[str] | None, Field(description="Shown this once; null where there are some already")
    ]


class PasswordProof(Input):
    """The present password, before a change of how one signs in."""

    current_password: PresentPassword


class RecoveryCodesLeft(Model):
    """How many recovery codes are left."""

    left: int

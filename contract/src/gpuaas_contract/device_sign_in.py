"""Wire types of signing a terminal in: it shows a code, and a person lets it in with a browser.

The person signs in as they always do, with a password or through their organisation's provider;
the terminal never sees how. Pure.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from gpuaas_contract.common import Input, Model
from gpuaas_contract.identity import TOKEN_MAX, PersonalTokenCreated

DEVICE_SECRET_PREFIX: Final = "gpc"
# No vowels, so that no word comes out; nothing that reads like something else.
CODE_LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
CODE_LENGTH: Final = 8


class DeviceSignInCreate(Input):
    """A terminal that wants to be let in, and for how long."""

    name: Annotated[
        str,
        Field(
            min_length=1,
            max_length=100,
            description="What the person is shown, and the token's name",
            examples=["gpuaas on ada-laptop"],
        ),
    ]
    expires_in_seconds: Annotated[
        int | None,
        Field(
            ge=60,
            le=TOKEN_MAX,
            description="How long its token works; the platform's settings say the longest, and"
            " what holds when left out",
        ),
    ] = None


class DeviceSignInStatus(StrEnum):
    """Where a terminal's sign-in stands."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    REDEEMED = "redeemed"
    EXPIRED = "expired"


class DeviceSignIn(Model):
    """A terminal's sign-in, as the person sees it who is asked to let it in."""

    id: str
    user_code: Annotated[str, Field(description="What the terminal shows, to be compared")]
    name: Annotated[str, Field(description="What the terminal calls itself")]
    source: Annotated[str, Field(description="Address the terminal asked from")]
    token_seconds: Annotated[int, Field(description="How long its token will live")]
    status: DeviceSignInStatus
    created_at: datetime
    expires_at: datetime


class DeviceSignInBegun(Model):
    """A terminal's sign-in at its birth: the one time its secret is shown."""

    id: str
    secret: Annotated[str, Field(description="Redeems it; the terminal's alone")]
    user_code: Annotated[
        str, Field(examples=["WDJB-MJHT"], description="For the person to type or compare")
    ]
    verification_url: Annotated[
        str,
        Field(
            description="Page for the person, with the code; relative to the platform's address"
            " where no public URL is configured"
        ),
    ]
    interval_seconds: Annotated[int, Field(description="How long to wait between looks")]
    expires_at: datetime


class DeviceSignInDecision(Input):
    """Whether the terminal is let in, as the person who decides."""

    approve: Annotated[
        bool, Field(description="True lets the terminal in as you; false turns it away")
    ]


class DeviceSignInRedeem(Input):
    """The secret of a terminal's sign-in."""

    secret: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            json_schema_extra={"writeOnly": True},
            description="The one that was shown when the sign-in began",
        ),
    ]


class DeviceSignInAnswer(Model):
    """What has become of it; the token comes with `approved`, once."""

    status: DeviceSignInStatus
    token: PersonalTokenCreated | None = None

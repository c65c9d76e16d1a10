"""Routes of sessions, second factors and the credentials of others, for `api_cases.py`."""

from typing import Any, Final

from api_case import At, Case, Params
from identity_fixtures import ADMIN, PASSWORD


def _password(_: Params) -> dict[str, Any]:
    return {"current_password": PASSWORD}


CREDENTIAL_CASES: Final[dict[str, Case]] = {
    "passkey_challenge_create": Case(
        At.OPEN,
        lambda _: {"email": ADMIN, "password": PASSWORD},
        why="the step of a sign-in before the passkey",
    ),
    "session_end_all": Case(At.OWN, why="only within a session"),
    "sign_in_failure_list": Case(At.OWN),
    "user_sign_in_failure_list": Case(At.TENANT),
    "second_factor_list": Case(At.OWN),
    "second_factor_create": Case(At.OWN, _password, why="only within a session"),
    "second_factor_confirm": Case(
        At.OWN, lambda _: {"code": "123456"}, why="only within a session"
    ),
    "second_factor_remove": Case(At.OWN, _password, why="only within a session"),
    "recovery_codes_read": Case(At.OWN),
    "recovery_codes_create": Case(At.OWN, _password, why="only within a session"),
    "user_second_factor_list": Case(At.TENANT),
    "user_second_factor_reset": Case(At.TENANT),
    "user_session_list": Case(At.TENANT),
    "user_session_end": Case(At.TENANT, params={"session_id": "member_session_id"}),
    "user_session_end_all": Case(At.TENANT, query={"tokens": "false"}),
    "user_personal_token_list": Case(At.TENANT),
    "user_personal_token_revoke": Case(At.TENANT, params={"token_id": "member_token_id"}),
}

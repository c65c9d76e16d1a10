"""What the command line and the RBAC reference say is what the contract says."""

from __future__ import annotations

import json

from tools import cli_contract, cli_surface, rbac


def test_the_digest_is_up_to_date() -> None:
    wanted = cli_contract.rendered(json.loads(cli_contract.SOURCE.read_text()))
    found = {name: (cli_contract.DATA / name).read_text() for name in wanted}

    assert found == wanted, "make openapi"


def test_help_and_completion_know_the_commands_there_are() -> None:
    assert cli_surface.FILE.read_text() == cli_surface.rendered(), "make openapi"


def test_every_operation_is_a_command() -> None:
    document = json.loads(cli_contract.SOURCE.read_text())
    wanted = {one["operationId"] for path in document["paths"].values() for one in path.values()}
    digest = json.loads((cli_contract.DATA / "commands.json").read_text())
    known = [one["id"] for one in digest["operations"]]
    words = [(one["noun"], one["verb"]) for one in digest["operations"]]

    assert wanted - set(known) == {  # pages for a browser, and what its cookie names
        "oidc_callback",
        "oidc_provider_callback",
        "oidc_start",
        "pending_sign_in_complete",
        "pending_sign_in_read",
    }
    assert len(set(words)) == len(words)


def test_the_reference_of_permissions_is_up_to_date() -> None:
    assert rbac.FILE.read_text() == rbac.document(), "make docs"

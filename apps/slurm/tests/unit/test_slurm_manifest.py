"""The manifest holds together, and the app does what it promises."""

import json

from gpuaas_sdk import Client
from gpuaas_sdk.contract import manifest_check
from gpuaas_slurm.app import slurm_app
from gpuaas_slurm.command.controller import manifest_text
from gpuaas_slurm.services import Services


def test_the_manifest_is_one_the_platform_takes() -> None:
    manifest, problems = manifest_check(json.loads(manifest_text()))
    assert problems == []
    assert manifest is not None


def test_every_operation_people_can_ask_for_is_one_the_app_does() -> None:
    manifest, _ = manifest_check(json.loads(manifest_text()))
    assert manifest is not None
    app = slurm_app(Services(Client("http://127.0.0.1:9")))
    assert {one.kind for one in manifest.operations} == set(app.operations)


def test_every_operation_has_a_button_but_the_deploy() -> None:
    manifest, _ = manifest_check(json.loads(manifest_text()))
    assert manifest is not None
    buttons = {action.operation for action in manifest.actions}
    assert buttons == {one.kind for one in manifest.operations} - {"deploy"}

"""The manifest holds together, and the app does what it promises."""

import json

from gpuaas_sdk import Client
from gpuaas_sdk.contract import manifest_check
from gpuaas_slurm.app import slurm_app
from gpuaas_slurm.command.controller import manifest_text
from gpuaas_slurm.delivery import Pin, artifact_name, pin_of
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


def test_a_manifest_can_say_which_bundles_its_version_stands_on() -> None:
    open_one, pinned = json.loads(manifest_text()), json.loads(manifest_text("2026.11"))
    manifest, problems = manifest_check(pinned)
    assert manifest is not None, problems
    assert not any(one.optional for one in manifest.artifacts)
    for role in ("controller", "worker"):
        assert pin_of(open_one, artifact_name(role)) == Pin()
        assert pin_of(pinned, artifact_name(role)) == Pin("2026.11")


def test_what_a_manifest_says_of_a_bundle_is_read_whole_or_not_at_all() -> None:
    said = {"name": "gpuaas-slurm-worker", "version": "1", "digest": "sha256:x", "source": "here"}
    assert pin_of({"artifacts": [said]}, "gpuaas-slurm-worker") == Pin("1", "sha256:x", "here")
    assert pin_of({"artifacts": [said]}, "gpuaas-slurm-controller") == Pin()
    assert not pin_of({"artifacts": None}, "gpuaas-slurm-worker").named

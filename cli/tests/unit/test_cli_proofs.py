"""How proofs judge and how they are told: without a platform."""

from datetime import UTC, datetime

import pytest

from gpuaas_cli.manifests import operation_for, placed, pointer_get, pointer_set
from gpuaas_cli.proof.evidence import Check, Evidence, Failed, Report, Result, Unverified
from gpuaas_cli.proof.report import page, say, summary
from gpuaas_cli.proof.runner import Statement, run_statements
from gpuaas_cli.proof.smoke import public_key
from gpuaas_cli.session import Stop


def report() -> Report:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    return Report("smoke test", "notes", "1.0.0", "http://x", "proj_1", began)


async def test_every_kind_of_end_is_told_apart() -> None:
    async def good(_: None) -> str:
        return "seen"

    async def bad(_: None) -> str:
        raise Failed("it is not so")

    async def dark(_: None) -> str:
        raise Unverified("nobody could look")

    async def odd(_: None) -> str:
        answer: dict[str, str] = {}
        return answer["missing"]

    async def slow(_: None) -> str:
        raise TimeoutError

    made = report()
    statements = [
        Statement("a", "x", "good", good),
        Statement("b", "x", "bad", bad),
        Statement("c", "x", "dark", dark),
        Statement("d", "x", "odd", odd, ("a",)),
        Statement("e", "x", "late", good, ("a", "b")),
        Statement("f", "x", "last", good, ("e",)),
        Statement("g", "x", "slow", slow),
    ]
    seen: list[Check] = []
    await run_statements(made, statements, None, (), seen.append)
    assert [one.result.value for one in seen] == [
        *("passed", "failed", "unverified", "failed", "unreached", "unreached", "failed")
    ]
    assert "b did not pass" in seen[4].detail
    assert not made.passed
    assert "NOT passed" in summary(made)


def test_only_everything_seen_and_nothing_left_is_a_pass() -> None:
    empty, whole, untidy = report(), report(), report()
    for one in (whole, untidy):
        one.checks.append(Check("a", "x", "t", Result.PASSED, "d"))
    untidy.left_behind.append("instance inst_1")
    assert [one.passed for one in (empty, whole, untidy)] == [False, True, False]
    assert "left behind: instance inst_1" in summary(untidy)


def test_a_page_shows_evidence_and_runs_nothing_from_it(capsys: pytest.CaptureFixture[str]) -> None:
    made = report()
    call = Evidence("POST /x\n<script>alert(1)</script>", "409 {}", "cor_1")
    check = Check("a", "area", "title", Result.FAILED, "<b>why</b>", (call,), gap_id="gap_1")
    made.checks.append(check)
    text = page(made)
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "cor_1" in text
    assert "gap_1" in text
    say(check)
    assert "correlation id cor_1" in capsys.readouterr().err


def test_placement_follows_the_manifest() -> None:
    spec = {
        "kind": "add",
        "purpose": "member_add",
        "valid_in": {"components": []},
        "input": {"properties": {"where": {"type": "array"}, "one": {"type": "string"}}},
        "placement": [{"pointer": "/where", "component": "pin", "when": []}],
    }
    assert placed(spec, ["a", "b"]) == {"where": ["a", "b"]}
    single = {**spec, "placement": [{"pointer": "/one", "component": "pin", "when": []}]}
    assert placed(single, ["a"]) == {"one": "a"}
    with pytest.raises(Stop, match="one allocation at a time"):
        placed(single, ["a", "b"])
    with pytest.raises(Stop, match="does not say"):
        placed({**spec, "placement": []}, ["a"])
    manifest = {"operations": [spec]}
    assert operation_for(manifest, "member_add", "pin") is spec
    with pytest.raises(Stop, match="it has: member add"):
        operation_for(manifest, "member_drain")
    body: dict[str, object] = {}
    pointer_set(body, "/a/b", 1)
    assert (body, pointer_get(body, "/a/b"), pointer_get(body, "/a/c/d")) == (
        {"a": {"b": 1}},
        1,
        None,
    )


def test_a_proofs_key_is_a_new_one_each_time() -> None:
    assert public_key().startswith("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI")
    assert public_key() != public_key()

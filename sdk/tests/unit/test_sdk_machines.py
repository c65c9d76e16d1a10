"""Sessions without machines: how scripts are spoken, certificates asked for, work kept apart."""

import asyncio
import base64
import json
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio.lowlevel import checkpoint
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.serialization.ssh import (
    SSHCertificateBuilder,
    SSHCertificateType,
    load_ssh_public_key,
)
from hypothesis import given, settings
from hypothesis import strategies as some

from gpuaas_contract.custody import SEALING_SUITE, Sealed
from gpuaas_sdk import (
    AccessRefused,
    BearerToken,
    Client,
    File,
    GpuaasError,
    Machine,
    Machines,
    MachineUnreachable,
    PermanentFailure,
    Retries,
    ScriptFailed,
    ScriptTimedOut,
    SealingKey,
)
from gpuaas_sdk.machines import About, CertificateAccess, Order, Output, agent_wire
from gpuaas_sdk.machines.scripts import put_input, put_script, spoken
from gpuaas_sdk.machines.ssh_script import Kept
from gpuaas_sdk.machines.ssh_wire import Pass

AUTHORITY = Ed25519PrivateKey.generate()
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGmtaG8VbnJRA2AQKCdmwG5Ilde0bYkSW9xdCChEXkrf"


def ran(order: Order, cut: int = 0, rest: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """What sshd would do with it, here; `cut` bytes of the script do not arrive."""
    command, payload = spoken(order)
    sent = payload[: len(payload) - cut] + (b"" if cut else rest)
    return subprocess.run(["/bin/sh", "-c", command], input=sent, capture_output=True, check=False)


def order(script: str, **more: Any) -> Order:
    """A script for somebody."""
    return Order("alloc_1", script, 20, about=About("cor_1", "a step"), **more)


@given(value=some.text(some.characters(exclude_characters="\0", codec="utf-8"), max_size=40))
@settings(max_examples=25, deadline=None)
def test_an_environment_arrives_as_it_was(value: str) -> None:
    done = ran(order('printf "%s" "$GIVEN"', env={"GIVEN": value}))
    number, _, said = done.stdout.partition(b"\n")
    assert number.isdigit()
    assert said == value.encode()


@pytest.mark.parametrize("given_input", [(), (b"in",)])
def test_a_script_that_did_not_arrive_whole_is_not_run(given_input: tuple[bytes, ...]) -> None:
    wanted = order("echo one\necho 'two'", input=given_input)
    assert ran(wanted, rest=b"".join(given_input)).stdout.split()[1:] == [b"one", b"two"]
    payload = spoken(wanted)[1]
    last = len(payload) - len(payload.removesuffix(b"\nexit\n"))
    for cut in range(last + 1, len(payload) + 1):
        assert ran(wanted, cut).stdout == b"", cut


def test_what_is_on_the_command_line_says_nothing_of_the_script() -> None:
    for given_input in ((), (b"canary",)):
        command, _ = spoken(order("canary", env={"A": "canary"}, input=given_input))
        assert "canary" not in command


def test_input_is_left_for_the_script() -> None:
    done = ran(order("head -c 2; echo; cat", input=(b"x",)), rest=b"ab\0cd")
    assert done.stdout.partition(b"\n")[2] == b"ab\n\0cd"
    assert ran(order("cat; echo end")).stdout.partition(b"\n")[2] == b"end\n"


def test_the_status_is_the_scripts_own() -> None:
    assert ran(order("exit 7")).returncode == 7
    assert ran(order("false")).returncode == 1
    assert ran(order("if then (")).returncode != 0


def test_what_cannot_be_said_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        spoken(order("a\0b"))
    with pytest.raises(ValueError, match="cannot name"):
        spoken(order("true", env={"A B": ""}))
    for path in ("relative", "/folder/"):
        with pytest.raises(ValueError, match="absolute path"):
            put_script([(File(path, b""), 0)], "mark")


def test_files_are_put_in_place_whole_or_not_at_all(tmp_path: Path) -> None:
    local = tmp_path / "local"
    local.write_bytes(b"x" * 20_000)
    files = [
        (File(f'{tmp_path}/a/it\'s "odd"', b"\x00\xff", mode=0o600), 2),
        (File(f"{tmp_path}/a/empty", b"", mode=0o755), 0),
        (File(f"{tmp_path}/b/{'long' * 40}", local), 20_000),
    ]
    script = put_script(files, "mark", "echo then; umask")
    sent = b"".join(p.read_bytes() if isinstance(p, Path) else p for p in put_input(files, "mark"))
    early = ran(order(script, input=(b"x",)), rest=sent[:-12_000])
    assert early.returncode != 0
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path != local]
    assert left == []
    whole = ran(order(script, input=(b"x",)), rest=sent)
    assert (whole.returncode, whole.stdout.partition(b"\n")[2]) == (0, b"then\n0022\n"), whole
    assert {p.name: p.read_bytes() for p in (tmp_path / "a").iterdir()} == {
        'it\'s "odd"': b"\x00\xff",
        "empty": b"",
    }
    assert [p.read_bytes() for p in (tmp_path / "b").iterdir()] == [local.read_bytes()]
    modes = {p.name: p.stat().st_mode & 0o7777 for p in (tmp_path / "a").iterdir()}
    assert modes == {'it\'s "odd"': 0o600, "empty": 0o755}
    written = [p.stat().st_mtime for p in tmp_path.rglob("*") if p.is_file()]
    assert min(written) >= local.stat().st_mtime


@given(pieces=some.lists(some.binary(max_size=300), max_size=20))
def test_of_any_output_the_beginning_and_the_end_are_kept(pieces: list[bytes]) -> None:
    kept, whole = Kept(100), b"".join(pieces)
    for piece in pieces:
        kept.take(piece)
    said = kept.whole()
    assert len(said) < 100 + 25 + 50
    assert said[:100] == whole[:100]
    assert (said == whole) == (kept.left_out == 0)
    if whole:
        assert said[-20:] == whole[-20:]


@dataclass
class FakeWire:
    """A way to a machine that does as the script says."""

    name: str
    log: list[str]
    hanging: asyncio.Event

    async def ready(self, about: About) -> None:
        """Reached, unless it is dead."""
        del about
        if self.name == "dead":
            raise MachineUnreachable(self.name, "no answer")

    async def execute(self, given_order: Order) -> Output:
        """End at once, wait for ever, fail or be late."""
        self.log.append(f"{self.name}: {given_order.script}")
        if given_order.script == "hang":
            if sum(line.endswith("hang") for line in self.log) == 2:
                self.hanging.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.log.append(f"{self.name}: ended")
        status = 3 if given_order.script == "fail" else 0
        late = given_order.script == "late"
        return Output(status, b"out", b"why\n" if status else b"", 0.0, timed_out=late)

    async def close(self) -> None:
        """Nothing is left."""
        self.log.append(f"{self.name}: closed")


@dataclass
class FakeAccess:
    """A way to any machine."""

    log: list[str] = field(default_factory=list)
    key: str = "fake"
    hanging: asyncio.Event = field(default_factory=asyncio.Event)

    def wire(self, _: Client, allocation_id: str) -> FakeWire:
        """The way to one."""
        return FakeWire(allocation_id, self.log, self.hanging)


async def test_each_machine_succeeds_or_fails_on_its_own() -> None:
    machines = Machines(Client("http://127.0.0.1:1"), FakeAccess()).bound("cor_1", "install")

    async def work(machine: Machine) -> str:
        if machine.allocation_id == "unfit":
            raise PermanentFailure("unfit", "It is too small.")
        script = machine.allocation_id if machine.allocation_id in {"fail", "late"} else "true"
        return (await machine.run(script)).stdout

    ended = await machines.each(["good", "dead", "unfit", "fail", "late", "good"], work)
    assert list(ended) == ["good", "dead", "unfit", "fail", "late"]
    assert ended["good"] == "out"
    assert isinstance(ended["dead"], MachineUnreachable)
    assert isinstance(ended["unfit"], PermanentFailure)
    failed = ended["fail"]
    assert isinstance(failed, ScriptFailed)
    assert failed.message == "install ended with 3 on the machine of fail: why"
    assert failed.detail["step"] == "install"
    assert isinstance(ended["late"], ScriptTimedOut)


async def test_a_bug_is_raised_and_a_cancel_ends_all() -> None:
    access = FakeAccess()
    machines = Machines(Client("http://127.0.0.1:1"), access)

    async def bug(machine: Machine) -> None:
        await checkpoint()
        if machine.allocation_id == "a":
            raise KeyError("a")
        await machine.run("true")

    with pytest.raises(KeyError):
        await machines.each(["a", "b"], bug)
    assert access.log == ["b: true"]

    async def hang(machine: Machine) -> None:
        await machine.run("hang")

    task = asyncio.create_task(machines.each(["a", "b"], hang))
    await access.hanging.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(access.log[3:]) == ["a: ended", "b: ended"]
    await machines.close()


class Granting:
    """The platform's part: certificates, for all but one allocation; every call is counted."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.down = False

    def client(self) -> Client:
        """A client of it."""
        transport = httpx2.MockTransport(self.answer)
        retries = Retries(attempts=1)
        return Client("http://127.0.0.1:1", BearerToken("t"), retries=retries, transport=transport)

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        """One request."""
        path = request.url.path.removeprefix("/api/v1")
        self.calls[path] += 1
        if self.down:
            raise httpx2.ConnectError("away")
        body = json.loads(request.content)
        wanted = body.get("allocation_ids") or [path.split("/")[2]]
        if "alien" in wanted:
            problem = {
                "title": "No", "status": 404, "detail": "There is no allocation alien.",
                "code": "not_found", "correlation_id": "cor_1", "retryable": False,
            }  # fmt: skip
            return httpx2.Response(404, json=problem)
        issued = [_issued(one, body["public_key"]) for one in wanted]
        if "allocation_ids" in body:
            return httpx2.Response(201, json={"issued": issued, "refused": []})
        return httpx2.Response(201, json=issued[0])


def _issued(allocation_id: str, public_key: str) -> dict[str, Any]:
    now = datetime.now(UTC)
    certificate = (
        SSHCertificateBuilder()
        .public_key(load_ssh_public_key(public_key.encode()))  # type: ignore[arg-type]  # an Ed25519 key
        .serial(1)
        .type(SSHCertificateType.USER)
        .key_id(b"id")
        .valid_principals([allocation_id.encode()])
        .valid_after(0)
        .valid_before(2**40)
        .sign(AUTHORITY)
        .public_bytes()
        .decode()
    )
    grant = {
        "id": "grant_1", "org_id": "o", "project_id": "p", "allocation_id": allocation_id,
        "serial": 1, "principal": allocation_id, "login": "operator", "username": "root",
        "ca_key_id": "k", "fingerprint": "f", "source_address": [], "force_command": None,
        "pty": False, "valid_after": now.isoformat(),
        "valid_before": (now + timedelta(minutes=5)).isoformat(), "revoked_at": None,
        "revoke_reason": "", "created_by": "me", "correlation_id": "cor_1",
        "created_at": now.isoformat(),
    }  # fmt: skip
    where = f"10.0.0.1 {HOST_KEY}"
    return {
        "grant": grant, "certificate": certificate, "address": "10.0.0.1", "known_hosts": [where],
    }  # fmt: skip


async def test_who_asks_together_is_one_request() -> None:
    platform = Granting()
    desk = CertificateAccess().desk(platform.client())
    given_out = await asyncio.gather(*(desk.ask(f"a{n}", About("cor_1")) for n in range(16)))
    assert platform.calls == {"/access-grants": 1}
    assert all(one.certificate is not None and one.username == "root" for one in given_out)
    await desk.ask("a1", About("cor_1"))
    assert platform.calls["/allocations/a1/access-grants"] == 1


async def test_one_that_is_not_ours_takes_the_certificate_from_no_other() -> None:
    platform = Granting()
    desk = CertificateAccess().desk(platform.client())
    asked = (desk.ask(name, About()) for name in ("a", "alien", "b"))
    ended = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(ended[0], Pass)
    assert isinstance(ended[1], AccessRefused)
    assert ended[1].code == "allocation_unknown"
    assert isinstance(ended[2], Pass)


async def test_a_platform_that_is_away_is_no_verdict_on_a_machine() -> None:
    platform = Granting()
    platform.down = True
    desk = CertificateAccess().desk(platform.client())
    ended = await asyncio.gather(
        *(desk.ask(name, About()) for name in ("a", "b")), return_exceptions=True
    )
    assert all(isinstance(one, MachineUnreachable) for one in ended)
    assert {getattr(one, "code", "") for one in ended} == {"platform_unreachable"}


def test_what_was_sealed_is_opened_by_its_key_alone(tmp_path: Path) -> None:
    key = SealingKey()
    key.save(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    public = X25519PublicKey.from_public_bytes(base64.b64decode(key.public_key))
    suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
    box = base64.b64encode(suite.encrypt(b"secret", public, b"for me")).decode()
    sealed = Sealed(suite=SEALING_SUITE, info="for me", ciphertext=box)
    assert SealingKey.load(tmp_path / "key").open(sealed) == b"secret"
    with pytest.raises(GpuaasError, match="not sealed to the key at hand"):
        SealingKey().open(sealed)
    with pytest.raises(GpuaasError, match="not sealed to the key at hand"):
        key.open(sealed.model_copy(update={"info": "for you"}))
    assert "secret" not in repr(key)


@pytest.mark.parametrize(("room", "status"), [("/tmp", 3), ("/run", 3), ("", 1)])  # noqa: S108
def test_a_full_tmp_keeps_no_script_of_the_agent_out(
    tmp_path: Path, room: str, status: int
) -> None:
    """Any user of a machine can fill /tmp; `room` is where there is some left."""
    own = tmp_path / "mktemp"
    own.write_text(f'#!/bin/sh\n[ "$3" = "{room}" ] && exec /usr/bin/mktemp -d -p {tmp_path}\n')
    own.chmod(0o755)
    order = Order("alloc_1", "cat; echo wrong >&2; exit 3", 5.0)
    done = subprocess.run(
        ["/bin/sh", "-c", agent_wire._wrapped(order, b"given\n")],
        capture_output=True,
        check=False,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
    )
    said = (
        (b"given\n", b"wrong\n") if room else (b"there is room neither in /tmp nor in /run\n", b"")
    )
    assert (done.returncode, agent_wire._parted(done.stdout), done.stderr) == (status, said, b"")
    assert list(tmp_path.iterdir()) == [own]

"""The pure rules of the artifacts room: choosing, ranges, signatures, archives, addresses."""

import base64
import hashlib
import io
import subprocess
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from artifacts_fixtures import SigningKey

from gpuaas_contract.artifacts import Artifact, ArtifactKind
from gpuaas_contract.common import Scope, ScopeKind
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.policy import Decision, Dimension, Rules
from gpuaas_contract.states import ArtifactStatus, ArtifactTrust
from gpuaas_platform.artifacts.choosing import Candidate, Chosen, Wanted, choose
from gpuaas_platform.artifacts.oci_layout import (
    ManifestWrong,
    layout_of,
    manifest_for,
    manifest_parse,
)
from gpuaas_platform.artifacts.ranges import span_of
from gpuaas_platform.artifacts.sigv4 import Keys, Signed, headers_signed
from gpuaas_platform.artifacts.tokens import token_make, token_require
from gpuaas_platform.artifacts.trust import TrustedKey, public_key_parse, signature_verify
from gpuaas_platform.kernel.keyring import Keyring
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.policy.rules import OverlayRules, decide

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WANTED = Wanted("runtime", "1.0.0", None, "debian-12/amd64")
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def _candidate(
    source: str, digest: str = "a", *, allowed: bool = True, platform: str = WANTED.platform
) -> Candidate:
    artifact = Artifact(
        id=f"art_{source}_{platform}",
        org_id=None if source.startswith("shared") else "org_1",
        source_id=source,
        source_address=f"blob://{source}",
        kind=ArtifactKind.BLOB,
        name="runtime",
        version="1.0.0",
        platform=platform,
        description="",
        media_type="text/plain",
        digest=f"sha256:{digest * 64}",
        size=1,
        reference=None,
        status=ArtifactStatus.PUBLISHED,
        status_reason="",
        trust=ArtifactTrust.UNVERIFIED,
        trust_reason="",
        key_id=None,
        channels=[],
        expires_at=None,
        revision=1,
        created_by="user_1",
        correlation_id="cor_1",
        created_at=NOW,
        published_at=NOW,
    )
    return Candidate(artifact, _decision(artifact.source_address, allowed=allowed), None)


def _decision(address: str, *, allowed: bool) -> Decision:
    if allowed:
        return decide([], Dimension.ARTIFACT_SOURCES, address)
    overlay = OverlayRules(
        "ovl_1",
        "closed",
        Scope(kind=ScopeKind.TENANT, org_id="org_1"),
        {Dimension.ARTIFACT_SOURCES: Rules(deny=("blob://*",))},
    )
    return decide([overlay], Dimension.ARTIFACT_SOURCES, address)


def test_the_same_content_is_taken_from_what_is_shared() -> None:
    chosen = choose(WANTED, [_candidate("own"), _candidate("shared")])
    assert isinstance(chosen, Chosen)
    assert chosen.candidate.artifact.source_id == "shared"
    assert [one.chosen for one in chosen.considered] == [False, True]


def test_different_contents_are_never_chosen_between() -> None:
    refused = choose(WANTED, [_candidate("own", "b"), _candidate("shared")])
    assert isinstance(refused, PlatformError)
    assert refused.code is ErrorCode.CONFLICT
    one = choose(WANTED, [_candidate("own", "b", allowed=False), _candidate("shared")])
    assert isinstance(one, Chosen)


def test_a_refusal_names_the_rule() -> None:
    refused = choose(WANTED, [_candidate("own", allowed=False)])
    assert isinstance(refused, PlatformError)
    assert (refused.code, refused.context["overlay"]) == (ErrorCode.POLICY_DENIED, "closed")
    nothing = choose(WANTED, [])
    assert isinstance(nothing, PlatformError)
    assert nothing.detail == "No source in reach has runtime 1.0.0 for debian-12/amd64."


def test_the_very_platform_hides_any() -> None:
    chosen = choose(WANTED, [_candidate("shared", "b", platform="any"), _candidate("shared")])
    assert isinstance(chosen, Chosen)
    assert chosen.candidate.artifact.platform == WANTED.platform


@pytest.mark.parametrize(
    ("asked", "start", "length", "partial"),
    [
        (None, 0, 100, False),
        ("bytes=0-", 0, 100, True),
        ("bytes=10-19", 10, 10, True),
        ("bytes=-5", 95, 5, True),
        ("bytes=-500", 0, 100, True),
        ("bytes=90-500", 90, 10, True),
        ("bytes=100-", 100, 0, True),
        ("bytes=9-1", 0, 100, False),
        ("bytes=a-b", 0, 100, False),
        ("bytes=99999999999999999999-", 0, 100, False),
    ],
)
def test_ranges(asked: str | None, start: int, length: int, *, partial: bool) -> None:
    span = span_of(asked, None, '"e"', 100)
    assert (span.start, span.length, span.partial) == (start, length, partial)


def test_signatures_of_openssl_are_understood(tmp_path: Path) -> None:
    """What cosign's `sign-blob` writes is made the same way: DER in base64 over SHA-256."""
    content, key, public = tmp_path / "content", tmp_path / "key", tmp_path / "public"
    content.write_bytes(b"hello")
    for command in (
        ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(key)],
        ["openssl", "ec", "-in", str(key), "-pubout", "-out", str(public)],
    ):
        subprocess.run(command, check=True, capture_output=True)
    sign = ["openssl", "dgst", "-sha256", "-sign", str(key), str(content)]
    raw = subprocess.run(sign, check=True, capture_output=True).stdout
    pem, fingerprint = public_key_parse(public.read_text())
    digest = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    signature = base64.b64encode(raw).decode()
    other = TrustedKey("other", public_key_parse(SigningKey().pem)[0])
    assert signature_verify(digest, signature, [other, TrustedKey("mine", pem)]) == "mine"
    assert signature_verify(digest, signature, [other]) is None
    assert signature_verify(digest[:-1] + "5", signature, [TrustedKey("mine", pem)]) is None
    assert signature_verify(digest, "AAAA", [TrustedKey("mine", pem)]) is None
    assert len(fingerprint) == 64


def test_only_keys_of_the_one_scheme_are_trusted(tmp_path: Path) -> None:
    public = tmp_path / "public"
    command = ["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(tmp_path / "key")]
    subprocess.run(command, check=True, capture_output=True)
    command = ["openssl", "pkey", "-in", str(tmp_path / "key"), "-pubout", "-out", str(public)]
    subprocess.run(command, check=True, capture_output=True)
    for text in (public.read_text(), "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"):
        with pytest.raises(PlatformError, match="public"):
            public_key_parse(text)


def test_requests_are_signed_as_amazon_documents() -> None:
    """The two examples of the S3 documentation that sign the same headers."""
    secret = "wJalrXUtnFEMI/K7MDENG" + "/bPxRfiCYEXAMPLEKEY"  # the documentation's own
    keys = Keys("AKIA" + "IOSFODNN7EXAMPLE", secret, "us-east-1")
    host, moment = "examplebucket.s3.amazonaws.com", datetime(2013, 5, 24, tzinfo=UTC)
    for query, signature in (
        ({"lifecycle": ""}, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        (
            {"prefix": "J", "max-keys": "2"},
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ):
        headers = headers_signed(keys, Signed("GET", host, "/", query, EMPTY), moment)
        assert headers["authorization"].endswith(f"Signature={signature}")


def test_an_archive_is_the_same_for_the_same_manifest() -> None:
    config, layer = {"digest": f"sha256:{'a' * 64}", "size": 3}, {"digest": f"sha256:{'b' * 64}"}
    body = msgspec.json.encode({"config": config, "layers": [layer | {"size": 700}]})
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    layout = layout_of(body, manifest_parse(body, digest), "tools:1")
    written = b"".join(
        member.header + (member.content or b"x" * member.size) + member.padding
        for member in layout.members
    )
    assert len(written + layout.end) == layout.size
    with tarfile.open(fileobj=io.BytesIO(written + layout.end)) as tar:
        assert [member.name for member in tar.getmembers()][:2] == ["oci-layout", "index.json"]
    with pytest.raises(ManifestWrong, match="digest"):
        manifest_parse(body, f"sha256:{'0' * 64}")


@pytest.mark.parametrize("bad", [b"[]", b"{", b'{"layers":[{"digest":"sha256:x","size":1}]}'])
def test_manifests_that_cannot_be(bad: bytes) -> None:
    digest = f"sha256:{hashlib.sha256(bad).hexdigest()}"
    with pytest.raises(ManifestWrong):
        manifest_parse(bad, digest)


def test_an_index_is_asked_for_one_image() -> None:
    listed = [
        {
            "digest": f"sha256:{letter * 64}",
            "size": 1,
            "platform": {"os": "linux", "architecture": name},
        }
        for letter, name in (("a", "amd64"), ("b", "arm64"))
    ]
    body = msgspec.json.encode({"manifests": listed})
    index = manifest_parse(body, f"sha256:{hashlib.sha256(body).hexdigest()}")
    assert manifest_for(index, "debian-12/arm64") == f"sha256:{'b' * 64}"
    with pytest.raises(ManifestWrong, match="0 images"):
        manifest_for(index, "debian-12/riscv64")


def test_a_token_opens_its_delivery_until_its_end() -> None:
    keyring, other = Keyring([b"k" * 32]), Keyring([b"o" * 32])
    token = token_make(keyring, "adel_1", NOW)
    token_require(keyring, "adel_1", token, NOW - timedelta(seconds=1))
    token_require(Keyring([b"k" * 32, b"n" * 32]), "adel_1", token, NOW - timedelta(seconds=1))
    for ring, delivery, given, moment, code in (
        (keyring, "adel_1", token, NOW, ErrorCode.TOKEN_EXPIRED),
        (keyring, "adel_2", token, NOW - timedelta(seconds=1), ErrorCode.UNAUTHENTICATED),
        (other, "adel_1", token, NOW - timedelta(seconds=1), ErrorCode.UNAUTHENTICATED),
        (keyring, "adel_1", token[4:], NOW, ErrorCode.UNAUTHENTICATED),
    ):
        with pytest.raises(PlatformError) as refused:
            token_require(ring, delivery, given, moment)
        assert refused.value.code is code

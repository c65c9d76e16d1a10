"""Clients generated from the public contract call every operation and read every answer.

Two generators as people use them: openapi-python-client, and openapi-typescript with openapi-fetch.
"""

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import httpx
import pytest
from api_samples import JSON, Contract, Operation
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.http.edge import Edge
from gpuaas_platform.kernel.call import Platform

ROOT = Path(__file__).parents[4]
PACKAGE = "generated_gpuaas"
# What the generator does not know by name, and how to take it: its own setting for that.
CONFIG = {
    "post_hooks": [],
    "content_type_overrides": {
        "application/x-ndjson": "text/plain",
        "application/x-pem-file": "text/plain",
        "text/event-stream": "text/plain",
    },
}
BYTES = b"not JSON"


@pytest.fixture(scope="module")
def contract() -> Contract:
    return Contract()


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A Python client, importable."""
    folder = tmp_path_factory.mktemp("python")
    config = folder / "config.json"
    config.write_text(json.dumps(CONFIG))
    made = subprocess.run(
        [
            sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning",
            f"--path={ROOT}/openapi/v1.json", f"--config={config}", "--meta=none",
            f"--output-path={folder / PACKAGE}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    sys.path.insert(0, str(folder))
    try:
        yield folder / PACKAGE
    finally:
        sys.path.remove(str(folder))
        for name in [one for one in sys.modules if one.partition(".")[0] == PACKAGE]:
            del sys.modules[name]


def _generated(path: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.{path}")


class _Recorded:
    """Takes a call as a server would, and answers with what the contract says."""

    def __init__(self, contract: Contract, operation: Operation) -> None:
        self._contract = contract
        self._operation = operation
        self.problem = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        operation = self._operation
        assert (request.method, _matches(operation.path, request.url.path)) == (
            operation.method, True,
        )  # fmt: skip
        if operation.body is not None and operation.body[0] == JSON:
            assert json.loads(request.content) == self._contract.sample(operation.body[1])
        if self.problem:
            problem = self._contract.sample({"$ref": "#/components/schemas/Problem"})
            return httpx.Response(422, json=problem)
        if operation.answer is None:
            return httpx.Response(operation.status)
        kind, schema = operation.answer
        if kind == JSON:
            return httpx.Response(operation.status, json=self._contract.sample(schema))
        return httpx.Response(operation.status, content=BYTES, headers={"Content-Type": kind})


def _matches(template: str, path: str) -> bool:
    pairs = zip(template.split("/"), path.split("/"), strict=True)
    return all(said == given or said.startswith("{") for said, given in pairs)


def test_a_python_client_calls_every_operation_and_reads_every_answer(
    generated: Path, contract: Contract
) -> None:
    operations = list(contract.operations())
    assert len(list(generated.glob("api/*/*.py"))) >= len(operations)
    for operation in operations:
        recorded = _Recorded(contract, operation)
        client = _generated("client").Client(
            base_url="http://test", httpx_args={"transport": httpx.MockTransport(recorded)}
        )
        call = _generated(f"api.{operation.tag}.{operation.id}").sync_detailed
        given = _arguments(contract, operation, call)
        answer = call(client=client, **given)
        assert answer.status_code == operation.status, operation.id
        if operation.answer is not None and operation.answer[0] == JSON:
            expected = contract.sample(operation.answer[1])
            assert _plain(answer.parsed) == expected, operation.id
        elif operation.answer is not None:
            assert answer.content == BYTES, operation.id
        recorded.problem = True
        refused = call(client=client, **given)
        assert refused.parsed.to_dict()["code"] == "invalid_request", operation.id


def _arguments(
    contract: Contract, operation: Operation, call: Callable[..., Any]
) -> dict[str, Any]:
    """What a generated function takes: by name, with bodies of generated types."""
    values = operation.given("path") | operation.given("query") | operation.given("header")
    given = {
        name.lower().replace("-", "_"): contract.sample(one["schema"])
        for name, one in values.items()
    }
    if operation.body is not None:
        kind, schema = operation.body
        wanted = get_type_hints(call)["body"]
        given["body"] = (
            wanted.from_dict(contract.sample(schema)) if kind == JSON else wanted(payload=BYTES)
        )
    return given


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


async def test_a_python_client_reads_the_secret_of_a_new_key(
    generated: Path, platform: Platform, callers: Any
) -> None:
    """The one time a service account's secret is shown, by the real platform."""
    settings = platform.settings
    edge = Edge(platform.parts["test.app"], max_body_bytes=settings.max_body_bytes)
    client = _generated("client").Client(
        base_url="http://test",
        headers=bearer(callers.add(RoleName.PLATFORM_ADMIN)),
        httpx_args={"transport": httpx.ASGITransport(edge)},
    )
    models = _generated("models")

    async def made(name: str, **given: Any) -> Any:
        return await _generated(f"api.identity.{name}").asyncio(client=client, **given)

    place = await project_make(platform, "acme", "research")
    account = await made(
        "service_account_create",
        project_id=place.project_id,
        body=models.ServiceAccountCreate(name="robot"),
    )
    key = await made(
        "service_account_key_create",
        account_id=account.id,
        body=models.ServiceAccountKeyCreate(name="first"),
    )
    assert isinstance(key, models.ServiceAccountKeyCreated)
    assert key.secret.startswith("gpk_")
    assert key.status is models.ServiceAccountKeyStatus.ACTIVE
    page = await made("service_account_key_list", account_id=account.id)
    assert [one.id for one in page.items] == [key.id]


def test_a_typescript_client_calls_every_operation_and_reads_every_answer(
    contract: Contract, tmp_path: Path
) -> None:
    console = ROOT / "console"
    if not (console / "node_modules").is_dir():
        pytest.skip("the console's packages are not installed: python -m tools.setup console")
    node = shutil.which("node", path=str(Path(sys.executable).parent))
    assert node is not None
    (tmp_path / "node_modules").symlink_to(console / "node_modules")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "calls.ts").write_text(_typescript(contract))
    tools = console / "node_modules"
    _run(
        node, tools / "openapi-typescript/bin/cli.js", ROOT / "openapi/v1.json",
        "--default-non-nullable=false", "--output=schema.d.ts", folder=tmp_path,
    )  # fmt: skip
    _run(
        node, tools / "typescript/bin/tsc", "--noEmit", "--strict", "--skipLibCheck",
        "--allowImportingTsExtensions", "--target", "ES2023", "--module", "nodenext",
        "--types", "node", "calls.ts", folder=tmp_path,
    )  # fmt: skip
    said = _run(node, "calls.ts", folder=tmp_path)
    assert said.split() == [operation.id for operation in contract.operations()]


def _run(*words: object, folder: Path) -> str:
    ran = subprocess.run(
        [str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


_HEAD = """\
import { deepStrictEqual } from "node:assert";
import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./schema.d.ts";

type Types = components["schemas"];
let answer: { status: number; kind: string; body: string | null } | null = null;
const client: Client<paths> = createClient<paths>({
  baseUrl: "http://test",
  fetch: async () => {
    const { status, kind, body } = answer!;
    return new Response(body, { status, headers: { "Content-Type": kind } });
  },
});
"""


def _typescript(contract: Contract) -> str:
    """A program that makes every call with typed values and compares what it reads."""
    return _HEAD + "\n".join(_call(contract, one) for one in contract.operations())


def _call(contract: Contract, operation: Operation) -> str:
    params = {
        place: {name: contract.sample(one["schema"]) for name, one in found.items()}
        for place in ("path", "query", "header")
        if (found := operation.given(place))
    }
    options: list[str] = [f"params: {json.dumps(params)}"] if params else []
    if operation.body is not None:
        kind, schema = operation.body
        value = json.dumps(contract.sample(schema)) if kind == JSON else '"" as never'
        options.append(f"body: {value}")
    kind, schema = operation.answer or ("", {})
    body = contract.sample(schema) if kind == JSON else None
    if kind != JSON:
        options.append('parseAs: "text"')
    reply = {"status": operation.status, "kind": kind, "body": None}
    if operation.answer is not None:
        reply["body"] = json.dumps(body) if kind == JSON else BYTES.decode()
    name = schema.get("$ref", "").rpartition("/")[2]
    wanted = f'Types["{name}"] | undefined' if name else "unknown"
    read = "" if kind != JSON else f"  deepStrictEqual(read, {json.dumps(body)});\n"
    return (
        f"{{\n  answer = {json.dumps(reply)};\n"
        f"  const {{ data }} = await client.{operation.method}"
        f'("{operation.path}", {{ {", ".join(options)} }});\n'
        f"  const read: {wanted} = data;\n{read}"
        f'  void read;\n  console.log("{operation.id}");\n}}'
    )


def test_component_names_are_unique_words(contract: Contract) -> None:
    for name, schema in contract.schemas.items():
        assert name.isalnum(), name
        assert name[0].isupper(), name
        assert schema.get("title", name) == name
    assert {"ArtifactKeyStatus", "ServiceAccountKeyStatus"} <= contract.schemas.keys()

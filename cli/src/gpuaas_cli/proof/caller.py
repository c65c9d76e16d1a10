"""Makes the calls of a proof and keeps each as evidence: public calls, nothing else."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuaas_cli.proof.evidence import LONGEST, Evidence, Failed
from gpuaas_contract.headers import CORRELATION_HEADER
from gpuaas_sdk import Client, ProblemError, Request

_NO_STATUS = 0


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    body: Any
    correlation_id: str

    @property
    def ok(self) -> bool:
        """Whether it was granted."""
        return 200 <= self.status < 300

    @property
    def code(self) -> str:
        """The problem's code; empty when there is none."""
        return str(self.body.get("code", "")) if isinstance(self.body, dict) else ""


@dataclass
class Caller:
    """One identity that asks. `kept` collects the evidence of the check under way."""

    client: Client
    who: str = "person"
    kept: list[Evidence] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    async def get(self, path: str, **params: Any) -> Any:  # noqa: ANN401 - JSON
        """Read something that must be there."""
        answer = await self.ask("GET", path, params=params)
        return self.granted(answer, f"GET {path}")

    async def change(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401 - JSON
        """Change something that must be granted."""
        return self.granted(await self.ask(method, path, body), f"{method} {path}")

    async def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Ask, whatever the answer; it is kept as evidence."""
        wait = float(str((params or {}).get("wait", "0s")).rstrip("s"))
        request = Request(
            method,
            path,
            body=None if body is None else dict(body),
            params=params or {},
            idempotency_key=key,
            wait=wait,
        )
        self.paths.append(f"{method} {path}")
        try:
            response = await self.client.send(request)
        except ProblemError as error:
            problem = error.problem
            told = problem.model_dump(mode="json", exclude_defaults=True)
            answer = Answer(problem.status, told, problem.correlation_id)
        else:
            parsed = response.json() if response.content else None
            found = response.headers.get(CORRELATION_HEADER, "")
            answer = Answer(response.status_code, parsed, found)
        self.kept.append(self._evidence(request, body, answer))
        return answer

    def granted(self, answer: Answer, what: str) -> Any:  # noqa: ANN401 - JSON
        """The body of an answer that must be a success."""
        if not answer.ok:
            detail = answer.body.get("detail", "") if isinstance(answer.body, dict) else ""
            raise Failed(f"{what} answered {answer.status} {answer.code}: {detail}")
        return answer.body

    def taken(self) -> tuple[Evidence, ...]:
        """The evidence since the last time, and forget it."""
        found = tuple(self.kept)
        self.kept.clear()
        return found

    def _evidence(
        self, request: Request, body: Mapping[str, Any] | None, answer: Answer
    ) -> Evidence:
        shown = {k: v for k, v in request.params.items() if v is not None}
        query = "&".join(f"{name}={value}" for name, value in shown.items())
        line = f"{request.method} {request.path}{'?' if query else ''}{query}"
        asked = line if body is None else f"{line}\n{json.dumps(body, ensure_ascii=False)}"
        said = json.dumps(answer.body, ensure_ascii=False)
        if len(said) > LONGEST:
            said = f"{said[:LONGEST]}… ({len(said)} characters)"
        return Evidence(asked[:LONGEST], f"{answer.status} {said}", answer.correlation_id, self.who)

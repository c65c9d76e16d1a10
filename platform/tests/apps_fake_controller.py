"""A controller of the app `echo`, small and honest: it works through the public API alone.

It has no machines; what it would do there is a word in its diary. It can be told to fail, to fall
silent in the middle (`crash`) or to stop at a safe point, as a real one would.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
from apps_fixtures import Site


class Crashed(Exception):
    """The controller fell silent; its lease will lapse."""


@dataclass
class FakeController:
    """One replica."""

    site: Site
    replica: str = "echo-0"
    who: dict[str, str] | None = None
    lease_seconds: int = 60
    diary: list[tuple[str, str]] = field(default_factory=list)
    trouble: dict[str, Callable[[dict[str, Any]], dict[str, Any] | None]] = field(
        default_factory=dict
    )

    async def claim(self, capacity: int = 1, **more: Any) -> list[dict[str, Any]]:
        """Take work."""
        body = {
            "app_slug": "echo",
            "controller": {"replica": self.replica, "version": "0.9.1"},
            "capacity": capacity,
            "lease_seconds": self.lease_seconds,
        } | more
        answer = await self.tell("/operations/claim", body)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["items"])

    async def tell(self, path: str, body: dict[str, Any], **headers: str) -> httpx2.Response:
        """One call with the controller's identity."""
        return await self.site.ask("POST", path, body, who=self.who or self.site.robot, **headers)

    async def say(self, claimed: dict[str, Any], what: str, **body: Any) -> httpx2.Response:
        """A report, completion, failure, stop, release or heartbeat under a lease."""
        path = f"/operations/{claimed['operation']['id']}/{what}"
        return await self.tell(path, {"lease_token": claimed["lease"]["token"], **body})

    async def drain_queue(self, limit: int = 100) -> int:
        """Work until there is nothing to claim; how many operations were worked on."""
        done = 0
        while done < limit:
            claimed = await self.claim(10)
            if not claimed:
                return done
            for one in claimed:
                await self.work(one)
                done += 1
        return done

    async def work(self, claimed: dict[str, Any]) -> httpx2.Response:
        """Do one operation from beginning to end, or as told."""
        operation = claimed["operation"]
        self.diary.append((operation["kind"], operation["target"]["id"]))
        for step in ("prepare", "act", "verify"):
            started = await self.say(claimed, "report", steps=[{"name": step, "state": "running"}])
            if started.status_code != 200:
                return started
            if started.json()["cancel_requested"]:
                return await self.say(claimed, "stopped", message="asked to stop")
            if step == "act" and operation["kind"] in self.trouble:
                failure = self.trouble[operation["kind"]](operation)
                if failure is not None:
                    return await self.say(claimed, "fail", **failure)
            await self.say(claimed, "report", steps=[{"name": step, "state": "succeeded"}])
        return await self.say(claimed, "complete", **self._ending(claimed))

    def _ending(self, claimed: dict[str, Any]) -> dict[str, Any]:
        operation, instance = claimed["operation"], claimed["instance"]
        purpose = operation["purpose"]
        absent = {"runtime_verified_absent": True, "evidence": {"processes": 0, "files": []}}
        gone = {"status": "removed", "absence": absent}
        if purpose == "deploy":
            return {
                "instance": {
                    "health": "healthy",
                    "runtime_version": "echo 7.2",
                    "settings_revision": instance["settings_revision"],
                    "access": {"say": "echo hello"},
                    "adapter_detail": {
                        "summary": "repeating",
                        "severity": "info",
                        "detail": {"said": 0},
                    },
                }
            }
        if purpose == "delete":
            return {"members": [{"member_id": m["id"], **gone} for m in claimed["members"]]}
        if purpose == "member_remove":
            return {"members": [{"member_id": operation["member_id"], **gone}]}
        if purpose == "member_replace":
            return {"members": [{"member_id": operation["member_id"], **gone}]}
        if purpose in {"upgrade", "rollback"}:
            return {"instance": {"runtime_version": f"echo {operation['target_version']}"}}
        return {}


def failing(times: int, **failure: Any) -> Callable[[dict[str, Any]], dict[str, Any] | None]:
    """Trouble that passes after so many attempts."""
    left = [times]

    def decide(_: dict[str, Any]) -> dict[str, Any] | None:
        if left[0] <= 0:
            return None
        left[0] -= 1
        return {"code": "no_voice", "message": "It said nothing.", "family": "temporary"} | failure

    return decide


def crashing(times: int) -> Callable[[dict[str, Any]], dict[str, Any] | None]:
    """Silence in the middle, so many times."""
    left = [times]

    def decide(_: dict[str, Any]) -> dict[str, Any] | None:
        if left[0] <= 0:
            return None
        left[0] -= 1
        raise Crashed

    return decide

"""Runs checks one after the other and judges them. Knows nothing of what they check."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from gpuaas_cli.proof.caller import Caller
from gpuaas_cli.proof.evidence import Check, Evidence, Failed, Report, Result, Unverified
from gpuaas_sdk import GpuaasError

R = TypeVar("R")


@dataclass(frozen=True)
class Statement(Generic[R]):
    """What is checked: a sentence, how it is seen, what must hold before it can be asked.

    `category` is the kind of gap it is when it does not hold.
    """

    id: str
    area: str
    title: str
    see: Callable[[R], Awaitable[str]]
    needs: tuple[str, ...] = ()
    category: str = "app_problem"


Seen = Callable[[Check], None]


async def run_statements(
    report: Report,
    statements: Sequence[Statement[R]],
    stage: R,
    callers: Sequence[Caller],
    seen: Seen,
) -> None:
    """Judge every statement; those whose needs did not pass are not asked."""
    results = {one.id: one.result for one in report.checks}
    for one in statements:
        check = await judged(one, stage, callers, results)
        results[one.id] = check.result
        report.checks.append(check)
        seen(check)


async def judged(
    one: Statement[R], stage: R, callers: Sequence[Caller], results: dict[str, Result]
) -> Check:
    """One statement, judged by what it sees."""
    began = time.monotonic()
    lacking = [need for need in one.needs if results.get(need) is not Result.PASSED]
    if lacking:
        said = f"not asked: {', '.join(lacking)} did not pass"
        return Check(one.id, one.area, one.title, Result.UNREACHED, said)
    try:
        result, said = Result.PASSED, await one.see(stage)
    except Failed as failed:
        result, said = Result.FAILED, str(failed)
    except Unverified as unverified:
        result, said = Result.UNVERIFIED, str(unverified)
    except TimeoutError:
        result, said = Result.FAILED, "it did not come to an end in time"
    except (GpuaasError, KeyError, TypeError, IndexError) as error:
        # An answer that is not what the contract says fails the check, and leaves the rest to run.
        result, said = Result.FAILED, f"{type(error).__name__}: {error}"
    evidence: tuple[Evidence, ...] = sum((caller.taken() for caller in callers), ())
    seconds = time.monotonic() - began
    return Check(one.id, one.area, one.title, result, said, evidence, round(seconds, 3))

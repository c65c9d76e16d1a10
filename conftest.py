"""Rules of every test run: where the lab is required, nothing may skip.

Loaded by pytest for every test of the repository. It must not import anything of ours: it is also
read where a package is tested alone.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

_REQUIRED = "GPUAAS_REQUIRE_LAB"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a test that skipped into one that failed."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        _refuse(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a module that skipped itself into one that failed."""
    report = yield
    if report.skipped:
        _refuse(report)
    return report


def _refuse(report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get(_REQUIRED) != "1":
        return
    where = report.longrepr
    reason = where[2] if isinstance(where, tuple) else where
    report.outcome = "failed"
    report.longrepr = f"{reason}\n{_REQUIRED}=1: nothing may skip in this run"

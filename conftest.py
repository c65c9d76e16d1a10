"""Rules of every test run: where the lab is required, nothing may skip; a long run names failures.

Loaded by pytest for every test of the repository. It must not import anything of ours: it is also
read where a package is tested alone.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator

import pytest

_REQUIRED = "GPUAAS_REQUIRE_LAB"
_FIRST_FAILED = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Take interrupts, whoever started the run; name failures at once where it is a long one."""
    # A script's background job ignores them, and so would the programs that tests interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("numprocesses", None):
        config.pluginmanager.register(_FailuresAtOnce(config))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Do not run what builds on a test that failed: it would only fail for the same cause."""
    module = item.getparent(pytest.Module)
    if module is None or item.get_closest_marker("in_order") is None:
        return
    before = module.stash.get(_FIRST_FAILED, None)
    if before is not None:
        pytest.fail(f"not run: {before}, which it builds on, failed", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a test that skipped into one that failed; note the first failure of each file."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        _refuse(report)
    module = item.getparent(pytest.Module)
    if report.failed and module is not None:
        module.stash.setdefault(_FIRST_FAILED, item.name)
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


class _FailuresAtOnce:
    """On several workers, nobody waits half an hour to learn which test an F was."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None:
            return
        if report.when == "teardown":
            for _, words in report.user_properties:
                terminal.write_line(f"\nAT THE END OF {report.nodeid}: {words}")
        if not report.failed:
            return
        crash = getattr(report.longrepr, "reprcrash", None)
        reason = str(crash or report.longrepr).partition("\n")[0]
        terminal.write_line(f"\nFAILED {report.nodeid} ({report.when}): {reason}")

"""A pytest plugin that makes a skipped test a failure: PYTHONPATH=scripts pytest -p no_skips.

What may be skipped is in allowed-skips.txt, a line each: a pattern of test names, then the reason.
"""

from __future__ import annotations

from collections.abc import Generator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

LIST = Path(__file__).parent / "allowed-skips.txt"


def read_allowed(text: str) -> dict[str, str]:
    """Return patterns and reasons."""
    lines = [tuple(line.split(maxsplit=1)) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    for words in lines:
        if len(words) < 2:
            raise pytest.UsageError(f"{LIST.name}: {words[0]!r} has no reason")
    return dict(lines)


def pytest_configure(config: pytest.Config) -> None:
    """Read the list."""
    config.stash[_ALLOWED] = read_allowed(LIST.read_text())


_ALLOWED = pytest.StashKey[dict[str, str]]()


def _refuse(config: pytest.Config, report: Any) -> None:
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    if any(fnmatchcase(report.nodeid, pattern) for pattern in config.stash[_ALLOWED]):
        return
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome = "failed"
    report.longrepr = f"{report.nodeid}: {why}; a skip here is a failure unless scripts/{LIST.name} names it"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
    """Turn the skip of a test into a failure."""
    report = yield
    _refuse(item.config, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Turn the skip of a whole file into a failure."""
    report = yield
    _refuse(collector.config, report)
    return report

"""A pytest plugin that makes a skipped test a failure: PYTHONPATH=scripts pytest -p no_skips.

What may be skipped is in allowed-skips.txt, a line each: a pattern of test names | words with which the test skips
itself | why. A test that is skipped with other words fails, whatever its name.
"""

from __future__ import annotations

from collections.abc import Generator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import pytest

LIST = Path(__file__).parent / "allowed-skips.txt"


class Allowed(NamedTuple):
    """A line of the list: which tests may be skipped, with which words, and why."""

    pattern: str
    words: str
    reason: str

    def covers(self, name: str, words: str) -> bool:
        """Whether a test may be skipped with these words."""
        return fnmatchcase(name, self.pattern.replace("[", "[[]")) and self.words in words


def read_allowed(text: str) -> list[Allowed]:
    """Return the lines of the list."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    found = [tuple(part.strip() for part in line.split(" | ")) for line in lines]
    for parts in found:
        if len(parts) != 3 or not all(parts):
            raise pytest.UsageError(f"{LIST.name}: {parts[0]!r} needs words and a reason, each after ' | '")
    return [Allowed(*parts) for parts in found]


_ALLOWED = pytest.StashKey[list[Allowed]]()


def pytest_configure(config: pytest.Config) -> None:
    """Read the list."""
    config.stash[_ALLOWED] = read_allowed(LIST.read_text())


def _refuse(config: pytest.Config, report: Any) -> None:
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if any(allowed.covers(report.nodeid, why) for allowed in config.stash[_ALLOWED]):
        return
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

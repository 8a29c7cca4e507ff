"""A pytest plugin by which two runs share out the tests: one records what passed, the other leaves that out.

So every test passes in one of the two, or the second fails: PYTHONPATH=scripts pytest -p passed_tests --leave-out FILE.
"""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("suffice")
    group.addoption("--record-passed", type=Path, metavar="FILE", help="write the names of the tests that pass")
    group.addoption("--leave-out", type=Path, metavar="FILE", help="leave out the tests that are named there")


def pytest_configure(config: pytest.Config) -> None:
    """Begin a record."""
    path = config.getoption("record_passed")
    if path is not None and not hasattr(config, "workerinput"):  # of several processes the first hears of every test
        path.unlink(missing_ok=True)  # one that is left from an earlier run tells nothing of this one
        config.pluginmanager.register(_Record(path))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is named."""
    path = config.getoption("leave_out")
    if path is not None:
        named = frozenset(path.read_text().splitlines())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in named])
        items[:] = [item for item in items if item.nodeid not in named]


class _Record:
    """The names of the tests that pass."""

    def __init__(self, path: Path) -> None:
        self.path, self.names = path, list[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            self.names.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.path.write_text("".join(f"{name}\n" for name in self.names))

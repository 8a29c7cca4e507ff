"""A pytest plugin that tries less of the same: of a test with many parameters three, of a property ten examples.

PYTHONPATH=scripts pytest -p few_examples --few tests/core --few tests/search. What is left of a folder still calls
every function that its tests call: that is what another version of a package can break.
"""

from __future__ import annotations

from pathlib import Path

import pytest

PARAMETERS, EXAMPLES = 3, 10
_SETTINGS = "_hypothesis_internal_use_settings"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("suffice")
    group.addoption("--few", action="append", default=[], metavar="FOLDER", help="try less of the tests in a folder")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave parameters out, and lower the numbers of examples."""
    folders = [(config.rootpath / folder).resolve() for folder in config.getoption("few")]
    tests: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and any(item.path.is_relative_to(folder) for folder in folders):
            tests.setdefault((item.path, item.nodeid.partition("[")[0]), []).append(item)
    left_out = set[pytest.Item]()
    for same in tests.values():
        _lower_examples(same[0])
        left_out.update(same)
        left_out.difference_update(same[k] for k in chosen(len(same)))
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def chosen(count: int) -> list[int]:
    """Return which of so many are tried: all if they are few, else the first, the last and those between, evenly."""
    if count <= PARAMETERS:
        return list(range(count))
    return [k * (count - 1) // (PARAMETERS - 1) for k in range(PARAMETERS)]


def _lower_examples(item: pytest.Function) -> None:
    """Let hypothesis try fewer examples of a property; the pinned ones stay."""
    if not getattr(item.obj, "is_hypothesis_test", False):
        return
    from hypothesis import settings

    own = getattr(item.obj, _SETTINGS, None) or settings()
    setattr(item.function, _SETTINGS, settings(own, max_examples=min(own.max_examples, EXAMPLES)))

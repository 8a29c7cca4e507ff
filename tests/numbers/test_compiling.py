"""Machine code on disk is used again only for the same text, in whichever file that is written."""

import subprocess
import sys

import pytest

pytest.importorskip("numba")

CALLER = """
from suffice.numbers.compiling import compiled
from helpers import FACTOR, Record, added, largest

@compiled
def whole(record, x):
    return added(x) * FACTOR + largest(record.first, x)

if __name__ == "__main__":
    value = whole(Record(1, 20), 3)
    (hits,) = whole.ready.stats.cache_hits.values() or (0,)
    print(value, hits)
"""
HELPERS = """
from typing import NamedTuple
from suffice.numbers.compiling import compiled, inlined

FACTOR = 10

class Record(NamedTuple):
    first: int
    second: int

@compiled
def added(x):
    return further(x) + 1

@compiled
def further(x):
    return x

@inlined
def largest(a, b):
    return max(a, b)
"""


def run(folder, helpers):
    (folder / "helpers.py").write_text(helpers)
    command = [sys.executable, "-B", "caller.py"]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


CHANGES = [
    ("FACTOR = 10", "FACTOR = 11", 47),  # a constant
    ("    return x\n", "    return 7\n", 83),  # what a function calls that is called
    ("max(a, b)", "min(a, b)", 41),  # what is put in place
    ("    first: int\n    second: int", "    second: int\n    first: int", 60),  # where a field is
]


def test_code_is_compiled_anew_where_another_file_changes(tmp_path):
    (tmp_path / "caller.py").write_text(CALLER)
    assert run(tmp_path, HELPERS) == [43, 0]
    for before, after, value in CHANGES:
        assert run(tmp_path, HELPERS.replace(before, after)) == [value, 0], after
    assert run(tmp_path, "# another line\n" + HELPERS) == [43, 1]  # the same text elsewhere is the same code

"""The breaks of `breaks.py` fit the checker as it is: each line is there once, and what it becomes is Python.

Whether the tests tell is seen by `python tests/certificates/breaks.py`, which takes a quarter of an hour.
"""

import pytest
from breaks import BREAKS, broken


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_changes_one_line_of_the_checker(name):
    compile(broken(name), BREAKS[name].file, "exec")

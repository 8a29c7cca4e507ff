"""The scripts that say what must pass: skips that count as failures, and the lowest versions."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = """
import pytest

def test_passes(): pass
def test_is_skipped(): pytest.skip("a package is missing")
@pytest.mark.xfail
def test_is_known_to_fail(): assert False
"""


def run_pytest(folder, *, allowed):
    (folder / "allowed-skips.txt").write_text(allowed)
    (folder / "no_skips.py").write_text((ROOT / "scripts" / "no_skips.py").read_text())
    (folder / "test_some.py").write_text(TESTS)
    (folder / "test_whole.py").write_text('import pytest\npytest.importorskip("there_is_no_such_package")\n')
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no_skips", "-p", "no:cacheprovider", "-c", os.devnull]
    command += ["--continue-on-collection-errors", "--rootdir", str(folder), str(folder)]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_a_skip_is_a_failure_unless_it_is_listed(tmp_path):
    code, text = run_pytest(tmp_path, allowed="# nothing\n")
    assert (code, "1 failed, 1 passed, 1 xfailed, 1 error" in text) == (1, True), text
    assert "a package is missing" in text
    assert "there_is_no_such_package" in text
    code, text = run_pytest(tmp_path, allowed="test_some.py*skipped  a reason\ntest_whole.py  another\n")
    assert (code, "1 passed, 2 skipped, 1 xfailed" in text) == (0, True), text


def test_what_may_be_skipped_has_a_reason_and_exists():
    for line in (ROOT / "scripts" / "allowed-skips.txt").read_text().splitlines():
        if not line.startswith("#"):
            pattern, reason = line.split(maxsplit=1)
            assert (ROOT / pattern.partition("*")[0]).exists(), pattern
            assert reason


def test_the_lowest_versions_are_those_of_the_project():
    command = [sys.executable, str(ROOT / "scripts" / "lower_bounds.py")]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9a-z.]*", line) for line in lines)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for need in project["dependencies"]:
        assert need.replace(">=", "==") in lines


def test_no_list_of_packages_names_a_place_that_packages_come_from():
    for path in (ROOT / "scripts").iterdir():
        if path.suffix == ".txt":
            assert "://" not in path.read_text(), path.name

"""The scripts that say what must pass: skips that count as failures, and the lowest versions."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
TESTS = """
import os
import pytest

needs = pytest.mark.skipif("COMPLETE" not in os.environ, reason="a package is missing")
def test_passes(): pass
def test_is_skipped():
    if "COMPLETE" not in os.environ: pytest.skip("a package is missing")
@pytest.mark.parametrize("one", ["a", "b"])
@needs
def test_has_cases(one): pass
@pytest.mark.xfail
def test_is_known_to_fail(): assert False
"""
WHOLE = """
import os
import pytest
if "COMPLETE" not in os.environ:
    pytest.importorskip("there_is_no_such_package")
def test_of_the_file(): pass
"""


@pytest.fixture
def suite(tmp_path):
    """Run a small suite of tests with our plugins; it is complete where nothing is missing."""
    for name in ("no_skips.py", "passed_tests.py", "few_examples.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path)
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_whole.py").write_text(WHOLE)

    def run(*arguments, allowed="", is_complete=False):
        (tmp_path / "allowed-skips.txt").write_text(allowed)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-v",
            "-p",
            "passed_tests",
            "-p",
            "no:cacheprovider",
            "-c",
            os.devnull,
        ]
        command += ["--continue-on-collection-errors", "--rootdir", str(tmp_path), *map(str, arguments), str(tmp_path)]
        environment = os.environ | {"PYTHONPATH": str(tmp_path)} | ({"COMPLETE": "1"} if is_complete else {})
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout

    return run


def test_a_skip_is_a_failure_unless_it_is_listed(suite):
    code, text = suite("-p", "no_skips", allowed="# nothing\n")
    assert (code, "1 failed, 1 passed, 1 xfailed, 3 errors" in text) == (1, True), text
    assert "a package is missing" in text
    assert "there_is_no_such_package" in text
    listed = "test_some.py::test_is_skipped | a package is missing | a reason\n"
    listed += "test_whole.py | no_such_package | another\n"
    code, text = suite("-p", "no_skips", allowed=listed + "test_some.py::test_has_cases[*] | is missing | a third\n")
    assert (code, "1 passed, 4 skipped, 1 xfailed" in text) == (0, True), text
    code, text = suite("-p", "no_skips", allowed=listed + "test_some.py::test_has_cases[a] | is missing | a third\n")
    assert (code, "1 passed, 3 skipped, 1 xfailed, 1 error" in text) == (1, True), text


def test_a_skip_for_another_reason_than_the_listed_one_is_a_failure(suite):
    code, text = suite("-p", "no_skips", allowed="test_*.py* | there is no browser | a reason\n")
    assert (code, "1 failed, 1 passed, 1 xfailed, 3 errors" in text) == (1, True), text
    assert suite("-p", "no_skips", allowed="test_some.py* | there is no browser\n")[0] == 4


def test_what_does_not_pass_in_one_run_is_run_in_the_other(suite, tmp_path):
    record = tmp_path / "passed"
    record.write_text("test_some.py::test_has_cases[a]\n")  # of an earlier run
    assert suite("--record-passed", record)[0] == 0
    assert record.read_text() == "test_some.py::test_passes\n"
    code, text = suite("-p", "no_skips", "--leave-out", record, is_complete=True)
    assert (code, "4 passed, 1 deselected, 1 xfailed" in text) == (0, True), text


def test_so_it_is_in_several_processes(suite, tmp_path):
    record, processes = tmp_path / "passed", ("-n", "2", "--dist", "loadfile")
    assert suite(*processes, "--record-passed", record)[0] == 0
    assert record.read_text() == "test_some.py::test_passes\n"
    code, text = suite(*processes, "-p", "no_skips", "--leave-out", record)
    assert (code, "1 failed" in text, "1 xfailed, 3 errors" in text) == (1, True, True), text
    code, text = suite(*processes, "-p", "no_skips", "--leave-out", record, is_complete=True)
    assert (code, "4 passed, 1 xfailed" in text) == (0, True), text


MANY = """
import pytest
from hypothesis import example, given, settings, strategies

tried = []
@pytest.mark.parametrize("one", range(50))
def test_of_many_cases(one): print("case", one)
@pytest.mark.parametrize("one", range(3))
def test_of_few_cases(one): pass
@settings(max_examples=40)
@given(strategies.integers())
@example(-7)
def test_of_examples(one): tried.append(one)
def test_how_many(): print("tried", len(tried), -7 in tried)
"""


def test_with_the_lowest_versions_less_of_the_same_is_tried(suite, tmp_path):
    for folder in ("own", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"test_{folder}.py").write_text(MANY)
    code, text = suite("-s", "-p", "few_examples", "--few", "own")
    assert code == 0, text
    assert re.findall(r"test_own.py::test_of_many_cases\[(\d+)\]", text) == ["0", "24", "49"]
    assert text.count("test_own.py::test_of_few_cases[") == 3
    assert text.count("test_other.py::test_of_many_cases[") == 50
    other, own = re.findall(r"tried (\d+) True", text)
    assert (int(own), int(other)) == (11, 41), text  # with the pinned one


PROGRAMS = ("chromium", "coqc", "ocamlfind", "java")


@pytest.mark.parametrize("missing", [(), ("java",), PROGRAMS])
def test_what_the_machine_lacks_is_installed_or_told(tmp_path, missing):
    for name in ("bash", "id"):
        (tmp_path / name).symlink_to(shutil.which(name))
    for name in {*PROGRAMS, *missing} - set(missing):
        (tmp_path / name).symlink_to(shutil.which("true"))
    command, environment = [str(tmp_path / "bash"), str(ROOT / "scripts" / "machine")], {"PATH": str(tmp_path)}
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    reason = "(there is no apt-get): the tests that need them are skipped\n"
    assert told == (f"scripts/machine: without {' '.join(missing)} {reason}" if missing else "")
    installer = tmp_path / "apt-get"  # one that installs what it is asked for, under the names of the programs
    names = {"coq": "coqc", "ocaml-findlib": "ocamlfind", "default-jre-headless": "java"}
    cases = "".join(f"{package}) name={program};; " for package, program in names.items())
    make = f'{shutil.which("ln")} -sf {shutil.which("true")} "{tmp_path}/$name"'
    installer.write_text(f"#!{shutil.which('bash')}\nfor name; do case $name in {cases} esac; {make}; done\n")
    installer.chmod(0o755)
    (tmp_path / "id").unlink()
    (tmp_path / "id").write_text("#!/bin/sh\necho 0\n")
    (tmp_path / "id").chmod(0o755)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_the_settings_of_the_project_hold_wherever_the_list_of_what_passed_is(tmp_path):
    """pytest takes an option's file for a test to run, and would look for settings there."""
    project, list_ = tmp_path / "project", tmp_path / "elsewhere" / "passed"
    for folder in (project / "scripts", project / "tests", project / "venv" / "bin", list_.parent):
        folder.mkdir(parents=True)
    for name in ("prepare.sh", "passed_tests.py"):
        shutil.copy(ROOT / "scripts" / name, project / "scripts")
    (project / "pyproject.toml").write_text('[tool.pytest.ini_options]\nfilterwarnings = ["error"]\n')
    (project / "tests" / "test_some.py").write_text("import warnings\ndef test_warns(): warnings.warn('a warning')\n")
    python = project / "venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    list_.write_text("nothing\n")
    run = f"source {project}/scripts/prepare.sh; venv=venv; run_pytest -p no:cacheprovider --leave-out {list_}"
    done = subprocess.run(["bash", "-c", run], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, "1 failed" in done.stdout) == (1, True), done.stdout + done.stderr


def test_pip_has_nothing_to_choose_among_what_the_extras_are_tried_with():
    held = set(
        re.findall(r"^([\w-]+)==[\w.]+$", (ROOT / "scripts" / "constraints-extras.txt").read_text(), re.MULTILINE)
    )
    command = re.search(
        r"^environment extras \S+ (?:.*\\\n)*.*$", (ROOT / "scripts" / "test-extras").read_text(), re.MULTILINE
    )
    ours, *named = [word.strip('"') for word in command.group().split()[3:] if word != "\\"]
    assert len(named) > 10
    assert {Requirement(name).name for name in named} <= held
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needs = {need.name for extra in ("", *re.findall(r"\w+", ours)) for need in needs_of(project, extra)}
    assert needs - {"mypy", "rich", "ruff", "safetensors"} <= held


def test_what_may_be_skipped_exists_and_skips_itself_with_the_listed_words():
    """Every line names tests of a file that holds the words; a line that is out of date is found here."""
    for line in (ROOT / "scripts" / "allowed-skips.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        pattern, words, _reason = line.split(" | ")
        file, _, name = pattern.partition("::")
        text = (ROOT / file).read_text() + (ROOT / "tests" / "adapters" / "peers.py").read_text()
        assert name.startswith("test_*") or name in ("", "*") or f"def {name.partition('[')[0]}(" in text, pattern
        said = re.sub(r"code base \S+ is", "code base {name} is", words)
        assert said in text, words


def test_the_lowest_versions_are_those_of_the_project():
    command = [sys.executable, str(ROOT / "scripts" / "lower_bounds.py")]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9a-z.]*", line) for line in lines)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for need in project["dependencies"]:
        assert need.replace(">=", "==") in lines


def needs_of(project, extra):
    """Return what an extra needs, with what the extras that it names need."""
    for need in map(Requirement, project["optional-dependencies"][extra] if extra else project["dependencies"]):
        if need.name == "suffice":
            for other in need.extras:
                yield from needs_of(project, other)
        else:
            yield need


def test_the_lock_file_has_every_need_in_a_version_that_is_allowed():
    lines = [line for line in (ROOT / "requirements-dev.lock").read_text().splitlines() if not line.startswith("#")]
    found = [re.fullmatch(r"([a-z0-9-]+)==(\S+) --hash=sha256:[0-9a-f]{64}", line) for line in lines]
    versions = dict(one.groups() for one in found)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needs = {need.name: need for need in (*needs_of(project, ""), *needs_of(project, "dev"))}
    del needs["torch"]  # not locked: which build fits depends on the machine
    for name, need in needs.items():
        assert need.specifier.contains(versions[name], prereleases=True), name


def test_no_list_of_packages_names_a_place_that_packages_come_from():
    for path in (*(ROOT / "scripts").glob("*.txt"), ROOT / "requirements-dev.lock"):
        assert "://" not in path.read_text(), path.name

"""Errors, usage, versions and processes of the command line."""

import re

import pytest
from cli.commands import EXPLAINER, LINE, ROWS, answer, call, explain, fail, run, words

import suffice
from suffice import AdditiveModel
from suffice.cli.app import COMMANDS, loaded

BAD = [
    (("explain", "no.safetensors", "data.csv", "--row", 0, "--radius", 1), "no.safetensors: there is no such file"),
    (("explain", "data.csv", "data.csv", "--row", 0, "--radius", 1), "is not a format read here: safetensors"),
    (("explain", "cut.safetensors", "data.csv", "--row", 0, "--radius", 1), "cut.safetensors: is damaged"),
    (("explain", "model.safetensors", "no.csv", "--row", 0, "--radius", 1), "no.csv: there is no such file"),
    (("explain", "model.safetensors", "few.csv", "--row", 0, "--radius", 1), "few.csv: has no column 'age'.*2 are"),
    (explain("--row", 7, "--radius", 1), "no row 7; its 7 rows count from 0 to 6"),
    (explain("--row", -1, "--radius", 1), "no row -1"),
    (explain("--row", 0, "--row", 9, "--radius", 1), "no row 9"),
    (explain("--row", 0, "--radius", -1), "the radius is .?-1.?; it cannot be negative"),
    (explain("--row", 0, "--radius", "wide"), "'wide' is not a number"),
    (explain("--row", 0, "--radius", "nan"), "not a finite number"),
    (explain("--row", 0, "--radius", "age=1"), "'income' is missing"),
    (explain("--row", 0, "--radius", "agee=1", "--radius", 1), "'agee' is not a feature; did you mean 'age'"),
    (explain("--row", 0, "--radius", 1, "--immutable", "sex"), "'sex' is not a feature"),
    (explain("--row", 0, "--radius", 1, "--without", "sex"), "'sex' is not a feature"),
    (explain("--row", 0, "--radius", 0, "--without", "age"), "'age' is not a fixed feature; there are none"),
    (explain("--row", 3, "--radius", 1), "row 3: .*'colour' is 'green', outside its domain: one of red, blue"),
    (explain("--row", 4, "--radius", 1), "row 4: .*'age' is '121', outside its domain"),
    (explain("--row", 5, "--radius", 1), "row 5: .*'income' is missing, outside its domain"),
    (explain("--row", 6, "--radius", 1), "row 6: .*'income': .*not a finite number"),
    (
        ("explain", "plain.safetensors", "data.csv", "--row", 0, "--radius", 1, "--unit", "std"),
        "standard deviation",
    ),
    (
        ("explain", "value.safetensors", "data.csv", "--row", 0, "--radius", 1),
        "has no class, so give a claim",
    ),
    (("info", "no.safetensors"), "there is no such file"),
    (("info", "cut.safetensors"), "is damaged"),
    (("info", "."), r"\."),
]


@pytest.mark.parametrize(("arguments", "reason"), BAD, ids=lambda v: None)
def test_bad_input_gets_one_sentence_and_exit_code_1(folder, arguments, reason):
    (folder / "cut.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:-9])
    (folder / "few.csv").write_text("colour,months\nred,3\n")
    AdditiveModel([LINE], features=["age"]).save("plain.safetensors")
    AdditiveModel([LINE], task="regression", features=["age"]).save("value.safetensors")
    for more in ((), ("--json",)):
        assert re.search(reason, fail(*arguments, *more))


USAGE = [
    (),
    ("explode",),
    ("explain",),
    explain("--row", 0, "--norm", 3),
    explain("--row", 0, "--max-changed", 0),
    explain("--row", 0, "--arithmetic", "float8"),
    explain("--radius", 1),
    explain("--row", "first", "--radius", 1),
    explain("--row", 0, "--radius", 1, "--unit", "sd"),
    explain("--row", 0, "--radius", 1, "--radius", 2),
    explain("--row", 0, "--radius", "age=1", "--radius", "age=2"),
    ("fit", "data.csv", "--target", "colour"),
    ("fit", "data.csv", "--target", "colour", "-o", "m.safetensors", "--estimator", "nam", "--hidden", "64,few"),
    ("fit", "data.csv", "--target", "colour", "-o", "m.safetensors", "--estimator", "nam", "--hidden", "64,0"),
    ("fit", "data.csv", "--target", "colour", "-o", "m.safetensors", "--estimator", "nam", "--epochs", 0),
    ("fit", "data.csv", "--target", "colour", "-o", "m.safetensors", "--task", "guessing"),
    ("fit", "data.csv", "--target", "colour", "-o", "m.safetensors", "--estimator", "forest"),
]


@pytest.mark.parametrize("arguments", USAGE, ids=lambda v: None)
def test_wrong_usage_has_exit_code_2(folder, arguments):
    assert call(*arguments).exit_code == 2


def test_version():
    assert answer("--version").stdout == f"suffice {suffice.__version__}\n"


def test_real_processes(folder):
    code, text, complaint = run("suffice.cli", *map(str, explain("--row", 0, "--radius", 1)))
    assert (code, complaint) == (0, "")
    assert words(text) == f"Row 0 {words(str(EXPLAINER.explain(ROWS[0], radius=1)))}"
    code, text, complaint = run("suffice.cli", "info", "no.safetensors")
    assert (code, text, complaint) == (1, "", "Error: no.safetensors: there is no such file\n")
    assert run("suffice.cli", "info", "--colour")[0] == 2
    assert run("suffice.cli", "--version") == (0, f"suffice {suffice.__version__}\n", "")


def test_a_terminal_without_the_letters_gets_question_marks(folder, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    code, text, complaint = run("suffice.cli", "info", "model.safetensors")
    assert (code, complaint) == (0, "")
    assert "(-?, ?)" in text


def test_heavy_libraries_stay_out(folder):
    code = (
        "import sys, suffice.cli.demo; from suffice.cli.app import app;"
        "app(['info', 'model.safetensors'], standalone_mode=False);"
        "app(['explain', 'model.safetensors', 'data.csv', '--row', '0', '--radius', '1'], standalone_mode=False);"
        "heavy = {'torch', 'pandas', 'sklearn', 'scipy', 'pyarrow'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    code, _, complaint = run(code=code)
    assert (code, complaint) == (0, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_of_itself(name):
    assert " ".join(loaded(name).help.split()) == COMMANDS[name].summary


def test_the_list_of_commands_loads_none_of_them():
    code = (
        "import sys; from suffice.cli.app import app; app(['--help'], standalone_mode=False);"
        "heavy = {'numpy', 'flint', 'suffice.explainer', 'suffice.cli.questions'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    code, _, complaint = run(code=code)
    assert (code, complaint) == (0, "")

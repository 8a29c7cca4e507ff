import importlib.util
import inspect
import io
import json
import math
import os
import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import suffice
from suffice import (
    MISSING,
    AdditiveModel,
    Domain,
    Explainer,
    Feature,
    PiecewiseLinear,
    Readout,
    ReluNetwork,
    Steps,
    Table,
)
from suffice.cli import app, fit_command
from suffice.demo import explain_patients, show_tour
from suffice.model_file import file_hash

HAS_NAM = all(importlib.util.find_spec(name) for name in ("pandas", "sklearn", "torch"))
needs_nam = pytest.mark.skipif(not HAS_NAM, reason="training needs pandas, scikit-learn and PyTorch")

LINE = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
BEND = ReluNetwork([[[1.0], [-1.0]], [[0.3, 0.7]]], [[0.1, 0.0], None])
MODEL = AdditiveModel(
    [LINE * "1/3", BEND, Table({"red": -1, "blue": 2}), Table({-9: 0, MISSING: 1}, otherwise=Steps([5], [0, "1/7"]))],
    "-1/7",
    features=[
        Feature("age", Domain.integers(0, 120), center=40, scale=10, deviation=12),
        Feature("income", deviation="3/2"),
        Feature("colour", deviation=0),
        Feature("months", Domain.integers(0) | Domain.codes(-9, MISSING), deviation=3),
    ],
    classes=["no", "yes"],
)
EXPLAINER = Explainer(MODEL)
TABLE = """\
months,colour,age,income
3,red,50,0.1
,blue,50,-2.5
-9,blue,0,1/3
3,green,50,0.1
3,red,121,0.1
3,red,50,
3,red,50,NaN
"""
ROWS = [
    {"months": "3", "colour": "red", "age": "50", "income": "0.1"},
    {"months": None, "colour": "blue", "age": "50", "income": "-2.5"},
    {"months": "-9", "colour": "blue", "age": "0", "income": "1/3"},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a model and a table, to work in."""
    MODEL.save(tmp_path / "model.safetensors")
    (tmp_path / "data.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments):
    plain = {"COLUMNS": "80", "FORCE_COLOR": None, "TTY_COMPATIBLE": None}
    result = CliRunner(env=plain).invoke(app, [str(one) for one in arguments], prog_name="suffice")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def answer(*arguments):
    result = call(*arguments)
    assert (result.exit_code, "Error" in result.stderr) == (0, False), result.stderr
    return result


def document(*arguments):
    return json.loads(answer(*arguments, "--json").stdout, parse_constant=pytest.fail)


def explain(*options):
    return ("explain", "model.safetensors", "data.csv", *options)


def fail(*arguments):
    """Return the one sentence that a command fails with."""
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert len(line) < 300
    return line


def run(*arguments, code=None):
    command = ["-c", code] if code else ["-m", *arguments]
    environment = {**os.environ, "PYTHONWARNINGS": "error", "COLUMNS": "80"}
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout, done.stderr


def number(value):
    """Return the exact number of a document, having checked the float beside it."""
    if value["exact"] == "inf":
        assert value["float"] is None
        return math.inf
    exact = Fraction(value["exact"])
    assert value["float"] == float(exact)
    return exact


def value(document):
    if "exact" in document:
        return number(document)
    return MISSING if document.get("missing") else document["label"]


def words(text):
    return " ".join(text.split())


# --- explain ----------------------------------------------------------------------------------------------------------


def check_answer(shown, why):
    assert (shown["prediction"], shown["status"], shown["size"]) == (why.prediction, "proven", why.size)
    assert (tuple(shown["features"]), tuple(shown["freed"])) == (why.features, why.freed)
    assert (number(shown["margin"]), number(shown["slack"])) == (why.margin, why.slack)
    assert {name: number(drop) for name, drop in shown["drops"].items()} == why.drops
    witnesses = {name: at if at is None else value(at) for name, at in shown["witnesses"].items()}
    assert witnesses == why.witnesses


QUESTIONS = [
    (["--radius", "0.1"], {"radius": "0.1"}),
    (["--radius", "0.5", "--unit", "std"], {"radius": "0.5", "unit": "std"}),
    (["--radius", "2", "--unit", "model", "--held", "age"], {"radius": 2, "unit": "model", "held": ["age"]}),
    (["--radius", "inf"], {"radius": math.inf}),
    (["--radius", "inf", "--held", "income", "--held", "age"], {"radius": math.inf, "held": ["income", "age"]}),
    (
        ["--radius", "age=5", "--radius", "1/3", "--radius", "months=inf"],
        {"radius": {"age": 5, "income": "1/3", "colour": "1/3", "months": math.inf}},
    ),
]


@pytest.mark.parametrize(("options", "question"), QUESTIONS, ids=lambda v: None)
def test_explain_says_what_the_library_says(folder, options, question):
    """As a document exactly, as text in the same words."""
    picked = [part for k in range(len(ROWS)) for part in ("--row", k)]
    shown = document(*explain(*picked, *options))
    assert [one["row"] for one in shown["explanations"]] == [0, 1, 2]
    assert shown["model"]["sha256"] == file_hash("model.safetensors")
    text = answer(*explain(*picked, *options)).stdout
    for row, one, part in zip(ROWS, shown["explanations"], text.split("\n\n"), strict=True):
        why = EXPLAINER.explain(row, **question)
        check_answer(one, why)
        assert words(part) == f"Row {one['row']} {words(str(why))}"


def test_the_cells_of_a_csv_file_count_as_they_are_spelled(folder):
    (shown,) = document(*explain("--row", 0, "--radius", "0.1"))["explanations"]
    assert shown["values"]["income"] == {"exact": "1/10", "float": 0.1}
    low, high = (shown["region"]["income"]["spans"][0][end] for end in ("low", "high"))
    assert (low, high) == ({"exact": "0", "float": 0.0}, {"exact": "1/5", "float": 0.2})


def test_explain_shows_what_changes_the_prediction(folder):
    question = ("--row", 0, "--radius", "age=30", "--radius", 1, "--without", "age")
    (shown,) = document(*explain(*question))["explanations"]
    why = EXPLAINER.explain(ROWS[0], radius={"age": 30, "income": 1, "colour": 1, "months": 1})
    point = {name: value(at) for name, at in shown["counterexample"]["point"].items()}
    assert point == why.counterexample(without="age")
    assert EXPLAINER.predict(point) == shown["counterexample"]["prediction"] != shown["prediction"]
    text = answer(*explain(*question)).stdout
    row = {"age": 50, "income": Fraction("0.1"), "colour": "red", "months": 3}
    moved = [name for name in row if f"  {name} " in text.split("Without age")[1]]
    assert moved == [name for name in row if point[name] != row[name]]


def test_the_feature_that_is_freed_is_the_first_to_move(folder):
    AdditiveModel([LINE] * 3, -1, features=["a", "b", "c"]).save("three.safetensors")
    (folder / "three.csv").write_text("a,b,c\n1,1,1\n")
    radii = [part for one in ("a=1", "b=2", "c=1.5") for part in ("--radius", one)]
    text = answer("explain", "three.safetensors", "three.csv", "--row", 0, *radii, "--without", "b").stdout
    moved = [line.split()[0] for line in text.split("Without b")[1].splitlines()[1:]]
    assert moved == ["b", "a"]


def test_columns_count_by_name_and_others_are_ignored(folder):
    (folder / "more.csv").write_text("id,age,income,target,colour,months\n7,50,0.1,yes,red,3\n")
    plain = document(*explain("--row", 0, "--radius", 1))["explanations"]
    result = answer("explain", "model.safetensors", "more.csv", "--row", 0, "--radius", 1, "--json")
    assert json.loads(result.stdout)["explanations"] == plain
    assert result.stderr == "Ignored (no feature of the model): 'id', 'target'\n"
    assert answer(*explain("--row", 0, "--radius", 1)).stderr == ""


def test_names_are_not_taken_for_markup(folder):
    names = ["[red]x[/red]", ":smile:", "a=b"]
    AdditiveModel([LINE] * 3, 0, features=names).save("odd.safetensors")
    (folder / "odd.csv").write_text(",".join(names) + "\n1,1,1\n")
    question = ["--row", 0, "--radius", "a=b=9", "--radius", "2", "--without", "a=b"]
    text = answer("explain", "odd.safetensors", "odd.csv", *question).stdout
    why = Explainer(suffice.load("odd.safetensors")).explain([1, 1, 1], [2, 2, 9])
    assert words(str(why)) in words(text)
    assert "[red]x[/red]" in answer("info", "odd.safetensors").stdout


def test_long_names_stay_within_the_terminal(folder):
    names = ["a name of a feature that is much longer than anybody would wish it to be, " + end for end in "ab"]
    AdditiveModel([LINE] * 2, 0, features=names).save("long.safetensors")
    (folder / "long.csv").write_text(",".join(f'"{name}"' for name in names) + "\n1,1\n")
    question = ["--row", 0, "--radius", 9, "--without", names[0]]
    for arguments in (["explain", "long.safetensors", "long.csv", *question], ["info", "long.safetensors"]):
        lines = answer(*arguments).stdout.splitlines()
        assert max(len(line) for line in lines) <= 80
        assert not [line for line in lines if line != line.rstrip()]


BAD = [
    (("explain", "no.safetensors", "data.csv", "--row", 0, "--radius", 1), "no.safetensors: there is no such file"),
    (("explain", "data.csv", "data.csv", "--row", 0, "--radius", 1), "not a safetensors file"),
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
    (explain("--row", 0, "--radius", 1, "--held", "sex"), "'sex' is not a feature"),
    (explain("--row", 0, "--radius", 1, "--without", "sex"), "'sex' is not a feature"),
    (explain("--row", 0, "--radius", 0, "--without", "age"), "'age' is not a kept feature: there is none"),
    (explain("--row", 3, "--radius", 1), "row 3: .*'colour' is 'green', outside its domain: one of red, blue"),
    (explain("--row", 4, "--radius", 1), "row 4: .*'age' is '121', outside its domain"),
    (explain("--row", 5, "--radius", 1), "row 5: .*'income' is None, outside its domain"),
    (explain("--row", 6, "--radius", 1), "row 6: .*'income': .*not a finite number"),
    (("explain", "plain.safetensors", "data.csv", "--row", 0, "--radius", 1, "--unit", "std"), "no standard deviation"),
    (
        ("explain", "value.safetensors", "data.csv", "--row", 0, "--radius", 1),
        "no class that could stay",
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
    explain("--row", 0),
    explain("--radius", 1),
    explain("--row", "first", "--radius", 1),
    explain("--row", 0, "--radius", 1, "--unit", "sd"),
    explain("--row", 0, "--radius", 1, "--radius", 2),
    explain("--row", 0, "--radius", "age=1", "--radius", "age=2"),
    ("fit", "data.csv", "--target", "colour"),
    ("fit", "data.csv", "--target", "colour", "-o", "m.safetensors", "--hidden", "64,few"),
    ("fit", "data.csv", "--target", "colour", "-o", "m.safetensors", "--hidden", "64,0"),
    ("fit", "data.csv", "--target", "colour", "-o", "m.safetensors", "--epochs", 0),
    ("fit", "data.csv", "--target", "colour", "-o", "m.safetensors", "--task", "guessing"),
]


@pytest.mark.parametrize("arguments", USAGE, ids=lambda v: None)
def test_wrong_usage_has_exit_code_2(folder, arguments):
    assert call(*arguments).exit_code == 2


# --- info, version, the process ---------------------------------------------------------------------------------------


def test_info_as_a_document(folder):
    shown = document("info", "model.safetensors")
    assert shown["model"] == {
        "path": "model.safetensors",
        "bytes": (folder / "model.safetensors").stat().st_size,
        "sha256": file_hash("model.safetensors"),
    }
    assert (shown["task"], shown["classes"], shown["ties"]) == ("binary", ["no", "yes"], "positive")
    assert [number(one) for one in shown["intercept"]] == [Fraction(-1, 7)]
    features = {one["name"]: one for one in shown["features"]}
    assert list(features) == list(MODEL.names)
    assert {name: one["shape"] for name, one in features.items()} == {
        "age": ["broken line"],
        "income": ["network-2"],
        "colour": ["table"],
        "months": ["table", "steps"],
    }
    assert [one["pieces"] for one in features.values()] == [
        [len(output.slopes) for output in outputs] for outputs in MODEL.compile()
    ]
    age, months = features["age"], features["months"]["domain"]
    assert [number(age[name]) for name in ("center", "scale", "deviation")] == [40, 10, 12]
    assert [(number(span["low"]), span["high"], span["is_integers"]) for span in months["spans"]] == [(0, None, True)]
    assert [value(code) for code in months["codes"]] == [-9, MISSING]
    assert [value(name) for name in features["colour"]["domain"]["categories"]] == ["red", "blue"]


def test_info_as_text(folder):
    lines = answer("info", "model.safetensors").stdout.splitlines()
    assert max(len(line) for line in lines) <= 80
    assert lines[:4] == [
        "task       binary",
        "classes    no (score below 0), yes (from 0 up)",
        "intercept  -0.1429",
        "features   4",
    ]
    assert lines[5] == f"SHA-256    {file_hash('model.safetensors')}"
    assert [words(line) for line in lines[7:11]] == [
        "feature domain shape pieces center scale",
        "age the integers from 0 to 120 broken line 1 40 10",
        "income (-∞, ∞) network-2 3 0 1",
        "colour one of red, blue table - - -",
    ]
    assert re.fullmatch(r"months the integers from 0 .* table \+ steps 2 0 1( .*)?", words(" ".join(lines[11:])))


def test_info_of_other_tasks_and_shapes(folder):
    basis = ReluNetwork([[[1.0]], [[1.0], [2.0]]], [[1.0], None])
    mean = (Readout(basis, [[1.0, 2.0]] * 3) + Readout(basis, [[0.5, 0.0]] * 3)) * "1/2"
    AdditiveModel([mean], [0, 1, 2], "multiclass", classes=["a", "b", "c"]).save("three.safetensors")
    assert document("info", "three.safetensors")["features"][0]["pieces"] == [2, 2, 2]
    text = answer("info", "three.safetensors").stdout
    assert "classes    a, b, c\nintercept  0, 1, 2\n" in text
    assert "2 x shared network" in text
    AdditiveModel([LINE], task="regression").save("value.safetensors")
    assert "classes" not in answer("info", "value.safetensors").stdout
    AdditiveModel([LINE], ties="negative").save("ties.safetensors")
    assert "0 (score up to 0), 1 (above 0)" in answer("info", "ties.safetensors").stdout


def test_claims_and_contrasts(folder):
    model = AdditiveModel([LINE, LINE * -3], 10, task="regression", features=["a", "b"])
    model.save("value.safetensors")
    (folder / "value.csv").write_text("a,b\n1,1\n")
    asked = ("value.safetensors", "value.csv", "--row", 0, "--radius", 1)
    explainer, row = suffice.Explainer(model), {"a": 1, "b": 1}
    for options, claim in ((("--within", 3), suffice.Within(3)), (("--at-least", "7"), suffice.AtLeast(7))):
        (one,) = document("explain", *asked, *options)["explanations"]
        why = explainer.explain(row, radius=1, claim=claim)
        assert (one["features"], one["lower_bound"]) == (list(why.features), why.size)
        assert one["prediction"] == {"exact": "8", "float": 8.0}
        (two,) = document("contrast", *asked, *options)["contrasts"]
        contrast = explainer.contrast(row, radius=1, claim=claim)
        assert (two["features"], two["is_possible"]) == (list(contrast.features), contrast.is_possible)
    assert "to stay at least 7" in answer("explain", *asked, "--at-least", 7, "--without", "b").stdout
    assert "Proven: 1 feature can break the claim; no fewer can." in answer("contrast", *asked, "--at-least", 7).stdout
    wrong = call("explain", *asked, "--at-least", 7, "--at-most", 9)
    assert (wrong.exit_code, "claim" in wrong.stderr) == (2, True)


def test_contrast_of_classes(folder):
    (one,) = document("contrast", "model.safetensors", "data.csv", "--row", 0, "--radius", "inf")["contrasts"]
    explainer = suffice.Explainer(suffice.load("model.safetensors"))
    point = {name: value(entry) for name, entry in one["point"].items()}
    assert explainer.predict(point) != one["prediction"]


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
        "import sys, suffice.demo; from suffice.cli import app;"
        "app(['info', 'model.safetensors'], standalone_mode=False);"
        "app(['explain', 'model.safetensors', 'data.csv', '--row', '0', '--radius', '1'], standalone_mode=False);"
        "heavy = {'torch', 'pandas', 'sklearn', 'scipy', 'pyarrow'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    code, _, complaint = run(code=code)
    assert (code, complaint) == (0, "")


# --- fit --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def people(folder):
    random = np.random.default_rng(0)
    age, debt = random.integers(18, 90, 80), random.normal(size=80).round(3)
    sex, debt_text = random.choice(["f", "m"], 80), ["" if k % 9 == 0 else str(x) for k, x in enumerate(debt)]
    label = np.where(age + 20 * debt > 50, "good", "bad")
    lines = [f"{k},{a},{d},{s},{y}" for k, (a, d, s, y) in enumerate(zip(age, debt_text, sex, label, strict=True))]
    (folder / "people.csv").write_text("\n".join(["id,age,debt,sex,y", *lines, ""]))
    return folder


FIT = ("fit", "people.csv", "-o", "new.safetensors", "--epochs", 3, "--hidden", "8,4")


@needs_nam
def test_fit_writes_a_model_that_explain_reads(people):
    shown = document(*FIT, "--target", "y", "--drop", "id")
    model = suffice.load("new.safetensors")
    assert (shown["rows"], shown["columns"], shown["target"]) == (80, ["age", "debt", "sex"], "y")
    assert (shown["task"], shown["classes"]) == (model.task, list(model.classes)) == ("binary", ["bad", "good"])
    assert (shown["epochs"], shown["seconds"] > 0, shown["validation_loss"] > 0) == (3, True, True)
    assert shown["model"]["sha256"] == file_hash("new.safetensors")
    assert str(model.domains[1]) == "(-∞, ∞), or one of missing"
    assert model.domains[2] == Domain.categories("f", "m")
    explained = document("explain", "new.safetensors", "people.csv", "--row", 0, "--radius", "0.5", "--unit", "std")
    row = dict(
        zip(["id", "age", "debt", "sex"], (people / "people.csv").read_text().split("\n")[1].split(","), strict=False)
    )
    why = Explainer(model).explain(
        {"age": row["age"], "debt": row["debt"] or None, "sex": row["sex"]}, radius="0.5", unit="std"
    )
    check_answer(explained["explanations"][0], why)


@needs_nam
def test_fit_repeats_itself_and_reports_in_words(people):
    first = document(*FIT, "--target", "y", "--random-state", 3)["model"]["sha256"]
    text = answer(*FIT, "--target", "y", "--random-state", 3).stdout
    assert text.splitlines()[-1] == f"SHA-256   {first}"
    assert words(text).startswith(
        "rows 80 features 4, 1 of them categories target y (binary) classes bad, good trained 3"
    )
    assert max(len(line) for line in text.splitlines()) <= 80
    assert answer(*FIT, "--target", "y", "--random-state", 4, "--quiet").output == ""
    assert file_hash("new.safetensors") != first


@needs_nam
@pytest.mark.parametrize(
    ("rows", "key", "absent", "words_"),
    [
        (80, "validation_loss", "training_loss", "on the validation rows"),
        (10, "training_loss", "validation_loss", "on the training rows (too few rows to hold any back)"),
    ],
)
def test_fit_says_which_rows_its_loss_is_of(people, rows, key, absent, words_):
    lines = (people / "people.csv").read_text().splitlines()
    (people / "people.csv").write_text("\n".join([*lines[: rows + 1], ""]))
    shown = document(*FIT, "--target", "y", "--drop", "id")
    assert (shown["rows"], absent in shown) == (rows, False)
    assert f"loss {shown[key]:.4g} {words_} file" in words(answer(*FIT, "--target", "y", "--drop", "id").stdout)


@needs_nam
def test_fit_takes_other_tasks_and_options(people):
    options = ("--basis", "shared", "--members", 2, "--special-code", -9, "--special-code", 18)
    shown = document(*FIT, "--target", "age", "--drop", "debt", *options)
    assert (shown["task"], shown["classes"], shown["columns"]) == ("regression", [], ["id", "sex", "y"])
    radius = ("--explanation-radius", 0.5, "--explanation-weight", 0.1)
    document(*FIT, "--target", "y", "--special-code", 3, *radius)
    assert "or one of 3" in str(suffice.load("new.safetensors").domains[0])
    assert "needs an explanation_radius" in fail(*FIT, "--target", "y", *radius[2:])


@needs_nam
def test_the_defaults_of_fit_are_those_of_the_estimators():
    from suffice.nam import NAMClassifier

    ours, theirs = inspect.signature(fit_command).parameters, NAMClassifier().get_params()
    assert tuple(int(units) for units in ours["hidden"].default.split(",")) == theirs["hidden_layers"]
    names = {
        "basis": "basis",
        "members": "n_members",
        "epochs": "max_epochs",
        "explanation_radius": "explanation_radius",
        "explanation_weight": "explanation_weight",
        "special_code": "special_codes",
    }
    assert {name: ours[name].default for name in names} == {name: theirs[names[name]] for name in names}


UNFIT = [
    (("--target", "z"), "'z' is not a column of people.csv"),
    (("--target", "y", "--drop", "z"), "'z' is not a column of people.csv"),
    (("--target", "debt"), "target 'debt' is missing in row 0"),
    (("--target", "y", "--task", "regression"), "a regression needs numbers"),
    (("--target", "y", "-o", "no/new.safetensors"), "no/new.safetensors: cannot be written: No such file"),
    (("--target", "y", "-o", "."), "cannot be written: it is a folder"),
    (("--target", "y", "-o", "people.csv"), "is the table itself"),
]


@pytest.mark.parametrize(("options", "reason"), UNFIT, ids=lambda v: None)
def test_fit_tells_what_is_wrong_before_it_trains(people, monkeypatch, options, reason):
    monkeypatch.setitem(sys.modules, "suffice.nam", None)  # nobody gets as far as training
    before = (people / "people.csv").read_text()
    assert reason in fail(*FIT, *options)
    assert (people / "people.csv").read_text() == before


@pytest.mark.parametrize("library", ["torch", "pandas", "sklearn"])
def test_fit_names_the_extra_to_install(people, library):
    code = f"""
import sys
from suffice.cli import app
class Absent:
    def find_spec(name, path=None, target=None):
        if name == {library!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}")
sys.meta_path.insert(0, Absent)
app({[*map(str, FIT), "--target", "y"]})"""
    code, text, complaint = run(code=code)
    assert (code, text) == (1, "")
    assert complaint.count("\n") == 1
    assert complaint.startswith(f"Error: fit cannot run: No module named {library!r}")
    assert complaint.endswith("pip install 'suffice[nam]'\n")


# --- demo -------------------------------------------------------------------------------------------------------------

PATIENTS = """\
patient,colour,age,income,months,diagnosis
11,red,50,0.1,3,yes
12,blue,50,-2.5,,yes
13,blue,0,1/3,-9,no
"""


def test_the_demo_tells_what_is_proven(folder):
    (folder / "rows.csv").write_text(PATIENTS)
    tour = explain_patients(folder / "model.safetensors", folder / "rows.csv")
    assert [(one.name, one.diagnosis) for one in tour.patients] == [("11", "yes"), ("12", "yes"), ("13", "no")]
    for one, row in zip(tour.patients, ROWS, strict=True):
        why = EXPLAINER.explain(row, radius="0.5", unit="std")
        assert (one.why.features, one.why.drops) == (why.features, why.drops)
        if why.size:
            assert one.change.point == why.counterexample(without=why.features[0])
            assert EXPLAINER.predict(one.change.point) == one.change.prediction != why.prediction
        else:
            assert one.change is None
    console = Console(highlight=False, width=80, file=io.StringIO())
    show_tour(tour, console)
    text = console.file.getvalue()
    lines = text.splitlines()
    assert len(lines) <= 40
    assert max(len(line) for line in lines) <= 80
    for one in tour.patients:
        assert f"Patient {one.name}: {one.why.prediction}" in text

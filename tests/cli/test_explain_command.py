"""`suffice explain` says what the library says, as a document and as text."""

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from cli.commands import EXPLAINER, LINE, ROWS, answer, call, check_answer, document, explain, value, words

import suffice
from suffice import (
    AdditiveModel,
    Explainer,
)
from suffice.model.reading import file_hash

QUESTIONS = [
    ([], {}),
    (["--radius", "0.1", "--unit", "raw"], {"radius": "0.1", "unit": "raw"}),
    (["--radius", "0.5", "--unit", "std"], {"radius": "0.5", "unit": "std"}),
    (["--radius", "2", "--unit", "model", "--immutable", "age"], {"radius": 2, "unit": "model", "immutable": ["age"]}),
    (["--radius", "inf"], {"radius": math.inf}),
    (["--radius", "1/3"], {"radius": "1/3"}),
    (
        ["--radius", "inf", "--immutable", "income", "--immutable", "age"],
        {"radius": math.inf, "immutable": ["income", "age"]},
    ),
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
    assert [one["row"] for one in shown["answers"]] == [0, 1, 2]
    assert shown["model"]["sha256"] == file_hash("model.safetensors")
    text = answer(*explain(*picked, *options)).stdout
    for row, one, part in zip(ROWS, shown["answers"], text.split("\n\n"), strict=True):
        why = EXPLAINER.explain(row, **question)
        check_answer(one, why)
        assert words(part) == f"Row {one['row']} {words(str(why))}"


def test_the_cells_of_a_csv_file_count_as_they_are_spelled(folder):
    (shown,) = document(*explain("--row", 0, "--unit", "raw", "--radius", "0.1"))["answers"]
    assert shown["values"]["income"] == {"exact": "1/10", "float": 0.1}
    low, high = (shown["region"]["income"]["spans"][0][end] for end in ("low", "high"))
    assert (low, high) == ({"exact": "0", "float": 0.0}, {"exact": "1/5", "float": 0.2})


def test_explain_shows_what_changes_the_prediction(folder):
    question = ("--row", 0, "--unit", "raw", "--radius", "age=30", "--radius", 1, "--without", "age")
    (shown,) = document(*explain(*question))["answers"]
    why = EXPLAINER.explain(ROWS[0], radius={"age": 30, "income": 1, "colour": 1, "months": 1}, unit="raw")
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
    text = answer(
        "explain", "three.safetensors", "three.csv", "--row", 0, "--unit", "raw", *radii, "--without", "b"
    ).stdout
    moved = [line.split()[0] for line in text.split("Without b")[1].splitlines()[1:]]
    assert moved == ["b", "a"]


def test_columns_count_by_name_and_others_are_ignored(folder):
    (folder / "more.csv").write_text("id,age,income,target,colour,months\n7,50,0.1,yes,red,3\n")
    plain = document(*explain("--row", 0, "--radius", 1))["answers"]
    result = answer("explain", "model.safetensors", "more.csv", "--row", 0, "--radius", 1, "--json")
    assert json.loads(result.stdout)["answers"] == plain
    assert result.stderr == "Ignored (not features of the model): 'id', 'target'\n"
    assert answer(*explain("--row", 0, "--radius", 1)).stderr == ""


def test_names_are_not_taken_for_markup(folder):
    names = ["[red]x[/red]", ":smile:", "a=b"]
    AdditiveModel([LINE] * 3, 0, features=names).save("odd.safetensors")
    (folder / "odd.csv").write_text(",".join(names) + "\n1,1,1\n")
    question = ["--row", 0, "--unit", "raw", "--radius", "a=b=9", "--radius", "2", "--without", "a=b"]
    text = answer("explain", "odd.safetensors", "odd.csv", *question).stdout
    why = Explainer(suffice.load("odd.safetensors")).explain([1, 1, 1], [2, 2, 9], unit="raw")
    assert words(str(why)) in words(text)
    assert "[red]x[/red]" in answer("info", "odd.safetensors").stdout


def test_long_names_stay_within_the_terminal(folder):
    names = ["a name of a feature that is much longer than anybody would wish it to be, " + end for end in "ab"]
    AdditiveModel([LINE] * 2, 0, features=names).save("long.safetensors")
    (folder / "long.csv").write_text(",".join(f'"{name}"' for name in names) + "\n1,1\n")
    question = ["--row", 0, "--unit", "raw", "--radius", 9, "--without", names[0]]
    for arguments in (["explain", "long.safetensors", "long.csv", *question], ["info", "long.safetensors"]):
        lines = answer(*arguments).stdout.splitlines()
        assert max(len(line) for line in lines) <= 80
        assert not [line for line in lines if line != line.rstrip()]


def test_claims_and_contrasts(folder):
    model = AdditiveModel([LINE, LINE * -3], 10, task="regression", features=["a", "b"])
    model.save("value.safetensors")
    (folder / "value.csv").write_text("a,b\n1,1\n")
    asked = ("value.safetensors", "value.csv", "--row", 0, "--radius", 1, "--unit", "raw")
    explainer, row = suffice.Explainer(model), {"a": 1, "b": 1}
    for options, claim in ((("--within", 3), suffice.Within(3)), (("--at-least", "7"), suffice.AtLeast(7))):
        (one,) = document("explain", *asked, *options)["answers"]
        why = explainer.explain(row, radius=1, claim=claim, unit="raw")
        assert (one["features"], one["lower_bound"]) == (list(why.features), why.size)
        assert one["prediction"] == {"exact": "8", "float": 8.0}
        (two,) = document("contrast", *asked, *options)["answers"]
        contrast = explainer.contrast(row, radius=1, claim=claim, unit="raw")
        assert (two["features"], two["is_possible"]) == (list(contrast.features), contrast.is_possible)
    assert answer("explain", *asked, "--at-least", 7, "--without", "b").stdout.splitlines() == [
        "Row 0",
        "In short: 8; b (1) settles this: whatever else changes within the region, the",
        "  prediction stays at or above 7.",
        "Prediction: 8",
        "Claim: the prediction stays at or above 7 (margin 1)",
        "Region: within 1 of the row's value",
        "Proven: fixing 1 of 2 features is enough: whatever the other one does within",
        "  the region, the claim stays true; no smaller set is enough.",
        "  b  = 1  could lower the margin by 3",
        "Range: whatever the free features do within the region, the prediction stays",
        "  between 7 and 9.",
        "Slack: in the worst case the free features use 1 of the margin; 0 is left.",
        "Strongest free: a (1).",
        "If b could also change: 1 -> 2 would break the claim.",
        "Without b fixed: it can become 5, as here:",
        "  b  1 -> 2",
    ]
    assert (
        "Proven: changing 1 feature can break the claim; no fewer can."
        in answer("contrast", *asked, "--at-least", 7).stdout
    )
    wrong = call("explain", *asked, "--at-least", 7, "--at-most", 9)
    assert (wrong.exit_code, "claim" in wrong.stderr) == (2, True)


def test_contrast_of_classes(folder):
    (one,) = document("contrast", "model.safetensors", "data.csv", "--row", 0, "--radius", "inf")["answers"]
    explainer = suffice.Explainer(suffice.load("model.safetensors"))
    point = {name: value(entry) for name, entry in one["point"].items()}
    assert explainer.predict(point) != one["prediction"]


def test_a_compiled_model_is_kept_and_a_damaged_one_is_told(folder, monkeypatch):
    plain = answer(*explain("--row", 0)).stdout
    for _ in range(2):
        shown = answer(*explain("--row", 0, "--cache", "kept"))
        assert (shown.stdout, shown.stderr) == (plain, "")
    (path,) = Path("kept").iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    monkeypatch.setenv("SUFFICE_CACHE", "kept")
    told = call(*explain("--row", 0))
    assert (told.exit_code, told.stdout) == (0, plain)
    assert told.stderr.startswith(f"{path}: is not as it was written")
    assert "compiled anew" in told.stderr
    assert answer(*explain("--row", 0)).stderr == ""

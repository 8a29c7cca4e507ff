import io
import json
import os
import subprocess
import sys
from fractions import Fraction

import pytest
from cli.commands import EXPLAINER, ROWS
from oracles import fraction
from rich.console import Console

from suffice import Explainer, load
from suffice.cli.demo import RADIUS, embedded_files, explain_patients, show_tour
from suffice.tables.reading import read_table


@pytest.fixture(scope="module")
def embedded():
    """The embedded model, its patients' cells, and the tour of them."""
    with embedded_files() as (model, rows):
        return Explainer(load(model)), [read_table(rows).row(k) for k in range(3)], explain_patients(model, rows)


def question(explainer, cells):
    return {name: cells[name] for name in explainer.model.names}


def run(*arguments):
    environment = {"PYTHONWARNINGS": "error", **os.environ, "COLUMNS": "80"}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_each_explanation_shown_is_sufficient_and_none_of_its_features_can_go(embedded):
    explainer, table, tour = embedded
    for cells, patient in zip(table, tour.patients, strict=True):
        row, why = question(explainer, cells), patient.why
        assert why.prediction == explainer.predict(row)
        assert explainer.is_sufficient(row, why.features, RADIUS, unit="std")
        for name in why.features:
            rest = [other for other in why.features if other != name]
            assert not explainer.is_sufficient(row, rest, RADIUS, unit="std")


def test_each_counterexample_keeps_to_the_rules_and_flips_the_exact_prediction(embedded):
    explainer, table, tour = embedded
    deviations = {feature.name: Fraction(str(feature.deviation)) for feature in explainer.model.features}
    for cells, patient in zip(table, tour.patients, strict=True):
        row, why, change = question(explainer, cells), patient.why, patient.change
        if change is None:
            assert why.size == 0
            continue
        assert change.without == why.features[0]
        point = why.counterexample(without=change.without)
        assert explainer.predict(point) == change.prediction != explainer.predict(row)
        assert list(point.values()) == [fraction(value) for value in change.point]
        for name, value in point.items():
            moved = abs(value - Fraction(row[name]))
            assert moved <= Fraction(RADIUS) * deviations[name]
            assert moved == 0 or name == change.without or name in why.free


def test_the_embedded_patients_show_small_and_large_explanations(embedded):
    """Otherwise there would be little to see: nothing to fix, one feature, most features."""
    _, table, tour = embedded
    sizes = [patient.why.size for patient in tour.patients]
    assert sizes[:2] == [0, 1]
    assert sizes[2] > 1
    assert [patient.diagnosis for patient in tour.patients] == [cells["diagnosis"] for cells in table]
    assert {patient.why.prediction for patient in tour.patients} == {"benign", "malignant"}


def test_the_text_says_what_was_proven(embedded):
    _, _, tour = embedded
    console = Console(highlight=False, width=80, file=io.StringIO())
    show_tour(tour, console)
    text = console.file.getvalue()
    assert f"{tour.pieces:,} exact pieces" in " ".join(text.split())
    parts = text.split("\n\n")[1:-1]
    for patient, part in zip(tour.patients, parts, strict=True):
        assert part.startswith(f"Patient {patient.name}: {patient.why.prediction}, as diagnosed\n")
        assert all(f"\n    {name} " in part for name in patient.why.features[:3])
        if patient.change is None:
            assert "no feature needs to be fixed; all 30 may move" in part
        else:
            assert f"fixing {patient.why.size} of 30 is enough" in part
            change = patient.change
            told = f"But if {change.without} could also change, the answer could become {change.prediction}:"
            assert told in " ".join(part.split())


def test_the_demo_fits_a_terminal():
    lines = run("-m", "suffice.cli.demo").splitlines()
    assert len(lines) <= 42
    assert max(len(line) for line in lines) <= 80
    assert sum(line.startswith("Patient ") for line in lines) == 3


def test_the_demo_as_a_document(embedded):
    explainer, _, tour = embedded
    shown = json.loads(run("-m", "suffice.cli", "demo", "--json"))
    assert shown["question"] == explainer.question("0.5").document()
    for one, patient in zip(shown["patients"], tour.patients, strict=True):
        assert (one["patient"], one["diagnosis"], one["status"]) == (patient.name, patient.diagnosis, "proven")
        assert (one["prediction"], tuple(one["features"])) == (patient.why.prediction, patient.why.features)
        assert {name: Fraction(drop["exact"]) for name, drop in one["drops"].items()} == patient.why.drops
        if patient.change is None:
            assert "counterexample" not in one
        else:
            point = {name: Fraction(at["exact"]) for name, at in one["counterexample"]["point"].items()}
            found = dict(zip(explainer.model.names, map(fraction, patient.change.point), strict=True))
            assert (point, one["counterexample"]["prediction"]) == (found, patient.change.prediction)


@pytest.mark.parametrize("command", [["demo"], ["demo", "--json"]])
def test_the_demo_needs_no_heavy_libraries(command):
    code = (
        f"import sys; from suffice.cli.app import app; app({command}, standalone_mode=False);"
        "heavy = {'torch', 'pandas', 'sklearn', 'scipy', 'pyarrow', 'matplotlib'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    run("-c", code)


def test_the_demo_stands_beside_the_command_line_not_on_it():
    run("-c", "import sys, suffice.cli.demo; assert 'suffice.cli.app' not in sys.modules")


def test_documents_need_no_terminal():
    run("-c", "import sys, suffice.answers.documents; assert not {'rich', 'typer'} & set(sys.modules)")


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
            point = why.counterexample(without=why.features[0])
            assert [str(value) for value in one.change.point] == [str(value) for value in point.values()]
            assert EXPLAINER.predict(point) == one.change.prediction != why.prediction
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

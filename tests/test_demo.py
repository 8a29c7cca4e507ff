import io
import json
import os
import subprocess
import sys
from fractions import Fraction

import pytest
from rich.console import Console

from suffice import Explainer, load
from suffice.demo import RADIUS, embedded_files, explain_patients, show_tour
from suffice.tables import read_table


@pytest.fixture(scope="module")
def embedded():
    """The embedded model, its patients' cells, and the tour of them."""
    with embedded_files() as (model, rows):
        return Explainer(load(model)), [read_table(rows).row(k) for k in range(3)], explain_patients(model, rows)


def question(explainer, cells):
    return {name: cells[name] for name in explainer.model.names}


def run(*arguments):
    environment = {**os.environ, "PYTHONWARNINGS": "error", "COLUMNS": "80"}
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
        assert explainer.predict(change.point) == change.prediction != explainer.predict(row)
        for name, value in change.point.items():
            moved = abs(value - Fraction(row[name]))
            assert moved <= Fraction(RADIUS) * deviations[name]
            assert moved == 0 or name == change.without or name in why.freed


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
            assert "nothing need be fixed; all 30 may move" in part
        else:
            assert f"{patient.why.size} of 30 fix" in part
            assert f"But let {patient.change.without} move too, and it can turn {patient.change.prediction}:" in part


def test_the_demo_fits_a_terminal():
    lines = run("-m", "suffice.demo").splitlines()
    assert len(lines) <= 42
    assert max(len(line) for line in lines) <= 80
    assert sum(line.startswith("Patient ") for line in lines) == 3


def test_the_demo_as_a_document(embedded):
    _, _, tour = embedded
    shown = json.loads(run("-m", "suffice.cli", "demo", "--json"))
    assert shown["unit"] == "std"
    for one, patient in zip(shown["patients"], tour.patients, strict=True):
        assert (one["patient"], one["diagnosis"], one["status"]) == (patient.name, patient.diagnosis, "proven")
        assert (one["prediction"], tuple(one["features"])) == (patient.why.prediction, patient.why.features)
        assert {name: Fraction(drop["exact"]) for name, drop in one["drops"].items()} == patient.why.drops
        if patient.change is None:
            assert "counterexample" not in one
        else:
            point = {name: Fraction(at["exact"]) for name, at in one["counterexample"]["point"].items()}
            assert (point, one["counterexample"]["prediction"]) == (patient.change.point, patient.change.prediction)


@pytest.mark.parametrize("command", [["demo"], ["demo", "--json"]])
def test_the_demo_needs_no_heavy_libraries(command):
    code = (
        f"import sys; from suffice.cli import app; app({command}, standalone_mode=False);"
        "heavy = {'torch', 'pandas', 'sklearn', 'scipy', 'pyarrow', 'matplotlib'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    run("-c", code)


def test_the_demo_stands_beside_the_command_line_not_on_it():
    run("-c", "import sys, suffice.demo; assert 'suffice.cli' not in sys.modules")


def test_documents_need_no_terminal():
    run("-c", "import sys, suffice.present.json; assert not {'rich', 'typer'} & set(sys.modules)")

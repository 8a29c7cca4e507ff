"""Three patients of the embedded breast cancer model, explained: `suffice demo`, or `python -m suffice.cli.demo`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from suffice.answers import Contested, Counterexample, Explanation
from suffice.answers.documents import to_text
from suffice.answers.words import others
from suffice.cli.options import AsJson
from suffice.errors import SufficeError
from suffice.explainer import Explainer
from suffice.model.domain import format_value
from suffice.model.reading import load_model
from suffice.present.terminal import grid_of, new_console, put, show_error
from suffice.tables.reading import read_table

RADIUS = "0.5"  # standard deviations
_MOST_SHOWN = 3


class Patient(NamedTuple):
    """A row of the embedded table and its explanation."""

    name: str
    diagnosis: str
    why: Explanation
    change: Counterexample | None  # what the first of the fixed features can do; None if none is fixed


class Tour(NamedTuple):
    """What the demo shows."""

    patients: tuple[Patient, ...]
    pieces: int
    compile_seconds: float
    explain_seconds: float


@contextmanager
def embedded_files() -> Iterator[tuple[Path, Path]]:
    """Give the paths of the embedded model and of its patients."""
    folder = files("suffice") / "data"
    with ExitStack() as stack:
        model, rows = (
            stack.enter_context(as_file(folder / name))
            for name in ("breast_cancer.safetensors", "breast_cancer_rows.csv")
        )
        yield model, rows


def explain_patients(model: Path, rows: Path) -> Tour:
    """Explain the first three rows of a table that has the columns `patient` and `diagnosis` beside the features."""
    began = time.perf_counter()
    explainer = Explainer(load_model(model))
    explainer.compile()
    compiled = time.perf_counter()
    table = read_table(rows)
    columns = {name: table.column(name) for name in ("patient", "diagnosis", *explainer.model.names)}
    patients = tuple(_explain_patient(explainer, {name: cells[k] for name, cells in columns.items()}) for k in range(3))
    pieces = sum(len(one.knots) + 1 for each in explainer.pieces.values() for one in each)
    return Tour(patients, pieces, compiled - began, time.perf_counter() - compiled)


def _explain_patient(explainer: Explainer, cells: Mapping[str, Any]) -> Patient:
    why = explainer.explain({name: cells[name] for name in explainer.model.names}, RADIUS, unit="std")
    change = why.broken_without(why.features[0]) if why.size else None
    return Patient(cells["patient"], cells["diagnosis"], why, change)


def show_tour(tour: Tour, console: Console) -> None:
    """Say in words what is proven of each patient."""
    total = len(tour.patients[0].why.model.features)
    intro = (
        f"A neural additive model tells benign from malignant breast tumours, using {total} measurements. Which of "
        "them guarantee its answer, even if all the others are off by half a standard deviation at once?"
    )
    outro = (
        "Proven in exact arithmetic for all real values within the radius, without any tolerance. "
        f"{total} shapes became {tour.pieces:,} exact pieces in {tour.compile_seconds:.1f} s; "
        f"three proofs and their counterexamples took {tour.explain_seconds:.2f} s."
    )
    put(console, Text(intro))
    for patient in tour.patients:
        console.print()
        _show_patient(patient, console)
    console.print()
    put(console, Text(outro, style="dim"))


def _show_patient(patient: Patient, console: Console) -> None:
    why, change = patient.why, patient.change
    verdict = "as diagnosed" if str(why.prediction) == patient.diagnosis else f"but diagnosed {patient.diagnosis}"
    name, answer = (f"Patient {patient.name}: ", "bold"), (str(why.prediction), "bold magenta")
    put(console, Text.assemble(name, answer, f", {verdict}"))
    put(console, Text.assemble(("Proven: ", "bold green"), _proof(why)), indent=2)
    _show_list(console, [(why.model.names[i], format_value(why.row[i])) for i in why.fixed])
    if change is not None:
        turn = f" could also change, the answer could become {change.prediction}:"
        put(console, Text.assemble(("But if ", "bold yellow"), (change.without, "cyan"), turn), indent=2)
        _show_list(console, [(name, f"{old} -> {new}") for name, old, new in change.moves])


def _proof(why: Explanation) -> str:
    total, freed = len(why.model.features), len(why.free)
    if not why.size:
        return f"no feature needs to be fixed; all {total} may move, and the answer stays."
    if not freed:
        return f"all {total} are needed:"
    return f"fixing {why.size} of {total} is enough, whatever {others(freed)}; no smaller set is enough:"


def _show_list(console: Console, lines: list[tuple[str, str]]) -> None:
    grid = grid_of("cyan", "")
    for name, text in lines[:_MOST_SHOWN]:
        grid.add_row(Text(name), Text(text))
    if len(lines) > _MOST_SHOWN:
        grid.add_row(f"and {len(lines) - _MOST_SHOWN} more")
    put(console, grid, indent=4)


def demo_command(as_json: AsJson = False) -> None:
    """Explain three patients of an embedded breast cancer model."""
    with embedded_files() as (model, rows):
        tour = explain_patients(model, rows)
    if not as_json:
        show_tour(tour, new_console())
        return
    patients = [
        {
            "patient": one.name,
            "diagnosis": one.diagnosis,
            **(one.why if one.change is None else Contested(one.why, one.change.without)).document(),
        }
        for one in tour.patients
    ]
    typer.echo(to_text({"question": tour.patients[0].why.case.question.document(), "patients": patients}))


def main() -> None:
    """Run the demo."""
    try:
        with embedded_files() as (model, rows):
            show_tour(explain_patients(model, rows), new_console())
    except SufficeError as error:
        show_error(error)
        sys.exit(1)


if __name__ == "__main__":
    main()

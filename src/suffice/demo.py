"""Three patients of the embedded breast cancer model, explained: `suffice demo`, or `python -m suffice.demo`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from suffice.domain import show
from suffice.errors import SufficeError
from suffice.explain import Explainer
from suffice.model_file import load_model
from suffice.present.facts import moves
from suffice.present.json import Change
from suffice.present.terminal import grid_of, new_console, put, show_error
from suffice.results import Explanation
from suffice.tables import read_table

RADIUS = "0.5"  # standard deviations
_MOST_SHOWN = 3


class Patient(NamedTuple):
    """A row of the embedded table and its explanation."""

    name: str
    diagnosis: str
    why: Explanation
    change: Change | None  # what the first of the kept features can do; None if none is kept


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
    compiled = time.perf_counter()
    table = read_table(rows)
    columns = {name: table.column(name) for name in ("patient", "diagnosis", *explainer.model.names)}
    patients = tuple(_explain_patient(explainer, {name: cells[k] for name, cells in columns.items()}) for k in range(3))
    pieces = sum(len(one.slopes) for each in explainer.pieces.values() for one in each)
    return Tour(patients, pieces, compiled - began, time.perf_counter() - compiled)


def _explain_patient(explainer: Explainer, cells: Mapping[str, Any]) -> Patient:
    why = explainer.explain({name: cells[name] for name in explainer.model.names}, RADIUS, unit="std")
    change = None
    if why.size:
        point = why.counterexample(without=why.features[0])
        change = Change(why.features[0], point, explainer.predict(point))
    return Patient(cells["patient"], cells["diagnosis"], why, change)


def show_tour(tour: Tour, console: Console) -> None:
    """Say in words what is proven of each patient."""
    total = len(tour.patients[0].why.model.features)
    intro = (
        f"A neural additive model tells benign from malignant breast tumours by {total} measurements. Which of them "
        "fix its answer, if all the others may be off by half a standard deviation at once?"
    )
    outro = (
        "Proven: for all real values in reach, in exact arithmetic, without any tolerance. "
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
    _show_list(console, [(why.model.names[i], show(why.row[i])) for i in why.kept])
    if change is not None:
        turn = f" move too, and it can turn {change.prediction}:"
        put(console, Text.assemble(("But let ", "bold yellow"), (change.without, "cyan"), turn), indent=2)
        _show_list(console, [(name, f"{old} -> {new}") for name, old, new in moves(why, change.without, change.point)])


def _proof(why: Explanation) -> str:
    total, freed = len(why.model.features), len(why.freed)
    if not why.size:
        return f"nothing need be fixed; all {total} may move, and the answer stays."
    if not freed:
        return f"all {total} are needed:"
    verb = "fixes" if why.size == 1 else "fix"
    return f"{why.size} of {total} {verb} it, whatever the other {freed} do; no smaller set does:"


def _show_list(console: Console, lines: list[tuple[str, str]]) -> None:
    grid = grid_of("cyan", "")
    for name, text in lines[:_MOST_SHOWN]:
        grid.add_row(Text(name), Text(text))
    if len(lines) > _MOST_SHOWN:
        grid.add_row(f"and {len(lines) - _MOST_SHOWN} more")
    put(console, grid, indent=4)


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

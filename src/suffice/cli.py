"""The command line: thin commands over the library, for people, and with `--json` for machines.

Exit codes: 0 answered, 1 the question cannot be answered (one sentence on stderr), 2 wrong usage.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

from suffice import __version__, cli_convert
from suffice.adapters.files import load_any as load_model
from suffice.claims import AtLeast, AtMost, Beats, Claim, Same, Within
from suffice.errors import DataError, ModelFileError, RowError, SufficeError
from suffice.explain import Explainer, Explanation
from suffice.model import AdditiveModel
from suffice.model_file import file_hash
from suffice.present.json import (
    Change,
    Json,
    answer_document,
    contrast_document,
    model_document,
    to_text,
    training_document,
)
from suffice.present.terminal import new_console, show_answer, show_error, show_model, show_training
from suffice.regions import Radius
from suffice.tables import FEW, DataTable, read_table, training_data

Answer = TypeVar("Answer")


class _Commands(TyperGroup):
    """Commands whose errors are one sentence."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except SufficeError as error:
            show_error(error)
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=_Commands,
    help="Proven minimal explanations of additive models.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


class Unit(StrEnum):
    """What a radius counts."""

    RAW = "raw"
    STD = "std"
    MODEL = "model"


class Task(StrEnum):
    """What there is to learn."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Basis(StrEnum):
    """Whether features have networks of their own."""

    SEPARATE = "separate"
    SHARED = "shared"


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, with exact numbers.")]
ModelPath = Annotated[Path, typer.Argument(help="A model file.", show_default=False)]
TablePath = Annotated[Path, typer.Argument(help="A file: .csv, .csv.gz or .parquet.", show_default=False)]


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):  # where ∞ cannot be shown, a question mark is
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app()


def _print_json(document: Json) -> None:
    typer.echo(to_text(document))


def _file(path: Path) -> Json:
    """Return what tells a model file from others."""
    return {"path": str(path), "bytes": path.stat().st_size, "sha256": file_hash(path)}


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"suffice {__version__}")
        raise typer.Exit


@app.callback()
def _suffice(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


# --- demo -------------------------------------------------------------------------------------------------------------


@app.command("demo")
def demo_command(as_json: AsJson = False) -> None:
    """Explain three patients of an embedded breast cancer model."""
    from suffice.demo import embedded_files, explain_patients, show_tour

    with embedded_files() as (model, rows):
        tour = explain_patients(model, rows)
    if as_json:
        patients = [
            {"patient": one.name, "diagnosis": one.diagnosis, **answer_document(one.why, one.change)}
            for one in tour.patients
        ]
        _print_json({"unit": "std", "patients": patients})
    else:
        show_tour(tour, new_console())


# --- fit --------------------------------------------------------------------------------------------------------------


@app.command("fit")
def fit_command(
    table: TablePath,
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.", show_default=False)
    ],
    task: Annotated[
        Task, typer.Option(help=f"auto: classification if the target is text, or {FEW} different integers at most.")
    ] = Task.AUTO,
    special_code: Annotated[
        list[float] | None,
        typer.Option(metavar="NUMBER", help="Number that is no quantity, such as -9 for no record; may be repeated."),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated.")
    ] = None,
    random_state: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed; the same gives the same model.")] = 0,
    epochs: Annotated[int, typer.Option(min=1, help="Most passes over the rows.")] = 60,
    hidden: Annotated[str, typer.Option(metavar="UNITS", help="Units of the hidden layers.")] = "64,64,32",
    basis: Annotated[Basis, typer.Option(help="A network for each feature, or one that all share.")] = Basis.SEPARATE,
    members: Annotated[int, typer.Option(min=1, help="Networks to average.")] = 1,
    explanation_radius: Annotated[
        float | None, typer.Option(min=0, help="Train for short explanations: radius in standard deviations.")
    ] = None,
    explanation_weight: Annotated[float, typer.Option(min=0, help="Train for short explanations: weight.")] = 0.0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train a neural additive model on a table, and save it as an exact one."""
    layers = _layers(hidden)
    data = read_table(table)
    training = training_data(data, target, drop or (), task.value)
    _check_writable(output, table)
    pandas, nam = _training_libraries()
    console = new_console()
    estimator = (nam.NAMClassifier if training.is_classification else nam.NAMRegressor)(
        layers,
        basis=basis.value,
        n_members=members,
        max_epochs=epochs,
        explanation_radius=explanation_radius,
        explanation_weight=explanation_weight,
        special_codes=special_code or None,
        random_state=random_state,
        verbose=console.is_terminal and not quiet and not as_json,
    )
    dtypes = dict.fromkeys(training.names, "category")
    estimator.fit(pandas.DataFrame(training.columns).astype(dtypes), training.target)
    model: AdditiveModel = estimator.to_additive()
    model.save(output)
    document = training_document(estimator, model, rows=len(data.rows), target=target) | {"model": _file(output)}
    if as_json:
        _print_json(document)
    elif not quiet:
        show_training(console, document, model)


def _layers(text: str) -> tuple[int, ...]:
    try:
        layers = tuple(int(units) for units in text.split(","))
    except ValueError:
        layers = ()
    if not layers or min(layers) < 1:
        raise typer.BadParameter(f"{text!r} is no list of units such as 64,64,32", param_hint="--hidden")
    return layers


def _training_libraries() -> tuple[Any, ModuleType]:
    try:
        import pandas

        from suffice import nam
    except ImportError as error:
        named = str(error) if "suffice[nam]" in str(error) else f"{error}; pip install 'suffice[nam]'"
        raise DataError(f"fit cannot run: {named}") from None
    return pandas, nam


def _check_writable(path: Path, table: Path) -> None:
    """Raise an error now rather than after the training."""
    if path.is_dir():
        raise ModelFileError(path, "cannot be written: it is a folder")
    if path.exists() and path.samefile(table):
        raise ModelFileError(path, "is the table itself; give the model another name")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise ModelFileError(path, f"cannot be written: {error.strerror}") from None


# --- explain ----------------------------------------------------------------------------------------------------------


Rows = Annotated[
    list[int], typer.Option("--row", help="Row to explain, counted from 0; may be repeated.", show_default=False)
]
Radii = Annotated[
    list[str],
    typer.Option(
        "--radius",
        metavar="NUMBER",
        help="How far a free feature may move: a number, or inf; NAME=NUMBER for one feature. May be repeated.",
        show_default=False,
    ),
]
UnitOption = Annotated[
    Unit,
    typer.Option(
        help="What the radius counts: the features' own units, their standard deviations (recommended), "
        "or the model's scaled units."
    ),
]
Held = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Feature that cannot change; may be repeated.")]
WithinOption = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="Claim: the score stays within this distance of the row's own.")
]
AtLeastOption = Annotated[str | None, typer.Option(metavar="NUMBER", help="Claim: the score stays at or above this.")]
AtMostOption = Annotated[str | None, typer.Option(metavar="NUMBER", help="Claim: the score stays at or below this.")]
BeatsOption = Annotated[
    str | None, typer.Option(metavar="CLASS", help="Claim: the predicted class stays ahead of this one.")
]


@app.command("explain")
def explain_command(
    model: ModelPath,
    table: TablePath,
    row: Rows,
    radius: Radii,
    unit: UnitOption = Unit.RAW,
    held: Held = None,
    within: WithinOption = None,
    at_least: AtLeastOption = None,
    at_most: AtMostOption = None,
    beats: BeatsOption = None,
    without: Annotated[
        str | None, typer.Option(metavar="NAME", help="Kept feature: show how its change can change the prediction.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find a smallest set of features that fixes a prediction, with proof."""
    additive = load_model(model)
    if without is not None:
        additive.index(without)
    claim = _claim(additive, within, at_least, at_most, beats)
    explainer, rows, ignored = _read_rows(additive, table, row)
    options: Json = {"unit": unit.value, "held": held or (), "claim": claim}
    radii = _radii(radius, additive.names)
    answers = []
    for k, cells in rows:
        why = _of_row(k, partial(explainer.explain, cells, radii, **options))
        answers.append((k, why, None if without is None else _find_change(explainer, why, without)))
    _tell_ignored(ignored)
    if as_json:
        shown = [{"row": k, **answer_document(why, change)} for k, why, change in answers]
        _print_json({"model": _file(model), "table": str(table), "unit": unit.value, "explanations": shown})
        return
    console = new_console()
    for place, (k, why, change) in enumerate(answers):
        if place:
            console.print()
        show_answer(console, f"Row {k}", why, change)


@app.command("contrast")
def contrast_command(
    model: ModelPath,
    table: TablePath,
    row: Rows,
    radius: Radii,
    unit: UnitOption = Unit.RAW,
    held: Held = None,
    within: WithinOption = None,
    at_least: AtLeastOption = None,
    at_most: AtMostOption = None,
    beats: BeatsOption = None,
    as_json: AsJson = False,
) -> None:
    """Find a smallest set of features whose change can change a prediction, with an input that shows it."""
    additive = load_model(model)
    claim = _claim(additive, within, at_least, at_most, beats)
    explainer, rows, ignored = _read_rows(additive, table, row)
    options: Json = {"unit": unit.value, "held": held or (), "claim": claim}
    radii = _radii(radius, additive.names)
    answers = [(k, _of_row(k, partial(explainer.contrast, cells, radii, **options))) for k, cells in rows]
    _tell_ignored(ignored)
    if as_json:
        shown = [{"row": k, **contrast_document(contrast)} for k, contrast in answers]
        _print_json({"model": _file(model), "table": str(table), "unit": unit.value, "contrasts": shown})
        return
    for k, contrast in answers:
        typer.echo(f"Row {k}\n{contrast}")


def _read_rows(
    model: AdditiveModel, path: Path, chosen: Sequence[int]
) -> tuple[Explainer, list[tuple[int, Json]], list[str]]:
    """Return the compiled model, the rows to ask about by feature name, and the columns that are no features."""
    data = read_table(path)
    _check_columns(data, model.names)
    rows = [(k, {name: cells[name] for name in model.names}) for k, cells in ((k, data.row(k)) for k in chosen)]
    return Explainer(model), rows, [name for name in data.columns if name not in model.names]


def _tell_ignored(names: Sequence[str]) -> None:
    if names:
        typer.echo(f"Ignored (no feature of the model): {_some(names)}", err=True)


def _of_row(k: int, ask: Callable[[], Answer]) -> Answer:
    try:
        return ask()
    except RowError as error:
        raise RowError(f"row {k}: {error}") from None


def _claim(
    model: AdditiveModel, within: str | None, at_least: str | None, at_most: str | None, beats: str | None
) -> Claim:
    """Return the claim that the options make; that the class stays, if none does."""
    other = next((name for name in model.classes if str(name) == beats), beats)
    made: list[Claim] = []
    for text, build in ((within, Within), (at_least, AtLeast), (at_most, AtMost)):
        made += [] if text is None else [build(text)]
    made += [] if beats is None else [Beats(other)]
    if len(made) > 1:
        raise typer.BadParameter("give one claim at a time", param_hint="--within, --at-least, --at-most, --beats")
    return made[0] if made else Same()


def _check_columns(data: DataTable, names: Sequence[str]) -> None:
    """Raise an error if a table lacks the column of a feature."""
    absent = [name for name in names if name not in data.columns]
    if absent:
        more = f" ({len(absent)} are missing in all)" if len(absent) > 1 else ""
        raise DataError(f"{data.path}: has no column {absent[0]!r}, a feature of the model{more}")


def _find_change(explainer: Explainer, why: Explanation, without: str) -> Change:
    """Return what changes the prediction once a kept feature is free too."""
    point = why.counterexample(without)
    return Change(without, point, explainer.predict(point))


def _radii(given: Sequence[str], names: Sequence[str]) -> Radius:
    """Return one radius for all features, or one for each."""
    read: dict[str, str] = {}
    for text in given:
        name, _, number = text.rpartition("=")
        if name in read:
            whose = f"of {name!r}" if name else "of all features"
            raise typer.BadParameter(f"the radius {whose} is given twice", param_hint="--radius")
        read[name] = number
    default = read.pop("", None)
    if default is None:
        return read
    return {**dict.fromkeys(names, default), **read} if read else default


def _some(names: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more columns"


# --- info -------------------------------------------------------------------------------------------------------------


@app.command("info")
def info_command(model: ModelPath, as_json: AsJson = False) -> None:
    """Describe a model file: its task, its features, the exact pieces of its shapes."""
    additive = load_model(model)
    pieces = Explainer(additive).pieces
    if as_json:
        _print_json({"model": _file(model), **model_document(additive, pieces)})
    else:
        show_model(new_console(), additive, pieces, _file(model))


cli_convert.register(app)


if __name__ == "__main__":
    main()

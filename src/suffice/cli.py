"""The command line: thin commands over the library, for people, and with `--json` for machines.

Exit codes: 0 answered, 1 the question cannot be answered (one sentence on stderr), 2 wrong usage, 3 some rows of a
batch failed.
"""

from __future__ import annotations

import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from suffice import __version__, cli_convert
from suffice.adapters.files import load_any as load_model
from suffice.asking import (
    AsJson,
    AtLeastOption,
    AtMostOption,
    BeatsOption,
    Held,
    ModelPath,
    ProbabilityOption,
    Radii,
    TablePath,
    Unit,
    UnitOption,
    WithinOption,
    file_facts,
    print_json,
    question_commands,
    read_claim,
    read_radius_options,
)
from suffice.batch.command import Engine, run_batch
from suffice.errors import DataError, ModelFileError, SufficeError
from suffice.explain import Explainer
from suffice.looking import report_command, serve_command
from suffice.model import AdditiveModel
from suffice.present.json import answer_document, model_document, training_document
from suffice.present.terminal import new_console, show_error, show_model, show_training
from suffice.tables import FEW, read_table, training_data


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


class Task(StrEnum):
    """What there is to learn."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Basis(StrEnum):
    """Whether features have networks of their own."""

    SEPARATE = "separate"
    SHARED = "shared"


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):  # where ∞ cannot be shown, a question mark is
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app()


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
        print_json({"unit": "std", "patients": patients})
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
    document = training_document(estimator, model, rows=len(data.rows), target=target) | {"model": file_facts(output)}
    if as_json:
        print_json(document)
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


# --- questions --------------------------------------------------------------------------------------------------------


for _name, _command in question_commands().items():
    app.command(_name)(_command)
app.command("report")(report_command)
app.command("serve")(serve_command)


# --- batch ------------------------------------------------------------------------------------------------------------


@app.command("batch")
def batch_command(
    model: ModelPath,
    table: TablePath,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="RESULTS", help="Parquet file to write.", show_default=False)
    ],
    radius: Radii,
    unit: UnitOption = Unit.RAW,
    held: Held = None,
    within: WithinOption = None,
    at_least: AtLeastOption = None,
    at_most: AtMostOption = None,
    beats: BeatsOption = None,
    probability: ProbabilityOption = None,
    keep: Annotated[
        list[str] | None, typer.Option("--id", metavar="COLUMN", help="Column to carry over; may be repeated.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads to use; all by default.")] = None,
    engine: Annotated[Engine, typer.Option(help="Where the work is done.")] = Engine.LOCAL,
    address: Annotated[str | None, typer.Option(help="Of a Ray cluster; one on this machine by default.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Explain every row of a file, larger than memory if need be; exit code 3 if some rows failed."""
    additive = load_model(model)
    claim = read_claim(additive, within, at_least, at_most, beats, probability)
    options = {
        "radius": read_radius_options(radius, additive.names),
        "unit": unit.value,
        "held": held or (),
        "claim": claim,
    }
    settings: dict[str, Any] = {"keep": keep or [], "threads": threads, "engine": engine, "address": address}
    run_batch(model, table, output, options, **settings, quiet=quiet, as_json=as_json)


# --- check, info ------------------------------------------------------------------------------------------------------


@app.command("check")
def check_command(
    model: ModelPath,
    certificate: Annotated[Path, typer.Argument(help="A certificate: see --certificate.", show_default=False)],
) -> None:
    """Check a certificate, without trusting the explainer: exit 0 proven, 1 a step fails, 2 unreadable."""
    from suffice_check.__main__ import main as check

    raise typer.Exit(check([str(model), str(certificate)]))


@app.command("info")
def info_command(model: ModelPath, as_json: AsJson = False) -> None:
    """Describe a model file: its task, its features, the exact pieces of its shapes."""
    additive = load_model(model)
    pieces = Explainer(additive).pieces
    if as_json:
        print_json({"model": file_facts(model), **model_document(additive, pieces)})
    else:
        show_model(new_console(), additive, pieces, file_facts(model))


cli_convert.register(app)


if __name__ == "__main__":
    main()

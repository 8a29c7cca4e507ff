"""The command line: thin commands over the library, for people, and with `--json` for machines.

Exit codes: 0 answered, 1 the question cannot be answered (one sentence on stderr), 2 wrong usage.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NamedTuple

import typer
from flint import fmpq
from rich.console import Console, RenderableType
from rich.filesize import decimal
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text
from typer.core import TyperGroup

from suffice import __version__
from suffice.domain import Domain, show
from suffice.errors import DataError, ModelFileError, RowError, SufficeError
from suffice.explain import Explainer, Explanation
from suffice.labels import Label, Missing, Value
from suffice.model import AdditiveModel
from suffice.model_file import file_hash, load_model
from suffice.rational import Number, Rational, nearest_float, rational
from suffice.regions import Radius
from suffice.shapes import Pieces, PiecewiseLinear, Readout, ReluNetwork, Shape, Steps, Table
from suffice.shapes.shape import Rescaled, Scaled, Sum
from suffice.tables import FEW, DataTable, read_table, training_data

Json = dict[str, Any]


class _Commands(TyperGroup):
    """Commands whose errors are one sentence."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except SufficeError as error:
            tell_error(error)
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


def tell_error(error: SufficeError) -> None:
    """Print an error on stderr."""
    typer.secho("Error: ", fg="red", bold=True, nl=False, err=True)
    typer.echo(str(error), err=True)


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
            {"patient": one.name, "diagnosis": one.diagnosis, **_answer_json(one.why, one.change)}
            for one in tour.patients
        ]
        _print_json({"unit": "std", "patients": patients})
    else:
        show_tour(tour, _console())


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
    random_state: Annotated[int, typer.Option(min=0, help="Seed; the same gives the same model.")] = 0,
    epochs: Annotated[int, typer.Option(min=1, help="Most passes over the rows.")] = 100,
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
    console = _console()
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
    report = {
        "rows": len(data.rows),
        "columns": list(model.names),
        "target": target,
        "task": model.task,
        "classes": list(model.classes),
        "epochs": int(estimator.n_iter_),
        "seconds": estimator.fit_seconds_,
        "validation_loss": estimator.validation_curve_[estimator.history_.best_epoch],
        "model": _file_json(output),
    }
    if as_json:
        _print_json(report)
    elif not quiet:
        _show_report(console, report, categories=sum(not domain.spans for domain in model.domains))


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


def _show_report(console: Console, report: Json, categories: int) -> None:
    count = f"{len(report['columns'])}" + (f", {categories} of them categories" if categories else "")
    facts = {
        "rows": f"{report['rows']:,}",
        "features": count,
        "target": f"{report['target']} ({report['task']})",
        "classes": ", ".join(str(name) for name in report["classes"]),
        "trained": f"{report['epochs']} epochs in {report['seconds']:.1f} s",
        "loss": f"{report['validation_loss']:.4g} on the validation rows",
        **_file_facts(report["model"]),
    }
    _show_facts(console, facts)


# --- explain ----------------------------------------------------------------------------------------------------------


class Change(NamedTuple):
    """An input of the region with another prediction, once a kept feature is free too."""

    without: str
    point: dict[str, Fraction | Label]
    prediction: Any


@app.command("explain")
def explain_command(
    model: ModelPath,
    table: TablePath,
    row: Annotated[
        list[int], typer.Option(help="Row to explain, counted from 0; may be repeated.", show_default=False)
    ],
    radius: Annotated[
        list[str],
        typer.Option(
            metavar="NUMBER",
            help="How far a free feature may move: a number, or inf; NAME=NUMBER for one feature. May be repeated.",
            show_default=False,
        ),
    ],
    unit: Annotated[
        Unit,
        typer.Option(
            help="What the radius counts: the features' own units, their standard deviations (recommended), "
            "or the model's scaled units."
        ),
    ] = Unit.RAW,
    held: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Feature that cannot change; may be repeated.")
    ] = None,
    without: Annotated[
        str | None, typer.Option(metavar="NAME", help="Kept feature: show how its change can change the prediction.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find a smallest set of features that fixes a prediction, with proof."""
    additive = load_model(model)
    data = read_table(table)
    check_columns(data, additive.names)
    radii = _radii(radius, additive.names)
    if without is not None:
        additive.index(without)
    rows = [(k, data.row(k)) for k in row]
    explainer = Explainer(additive)
    answers = []
    for k, cells in rows:
        try:
            why = explainer.explain(
                {name: cells[name] for name in additive.names}, radii, unit=unit.value, held=held or ()
            )
        except RowError as error:
            raise RowError(f"row {k}: {error}") from None
        answers.append((k, why, None if without is None else find_change(explainer, why, without)))
    ignored = [name for name in data.columns if name not in additive.names]
    if ignored:
        typer.echo(f"Ignored (no feature of the model): {_some(ignored)}", err=True)
    if as_json:
        shown = [{"row": k, **_answer_json(why, change)} for k, why, change in answers]
        _print_json({"model": _file_json(model), "table": str(table), "unit": unit.value, "explanations": shown})
        return
    console = _console()
    for place, (k, why, change) in enumerate(answers):
        if place:
            console.print()
        put(console, Text(f"Row {k}", style="bold"))
        _show_explanation(console, why)
        if change is not None:
            _show_change(console, why, change)


def check_columns(data: DataTable, names: Sequence[str]) -> None:
    """Raise an error if a table lacks the column of a feature."""
    absent = [name for name in names if name not in data.columns]
    if absent:
        more = f" ({len(absent)} are missing in all)" if len(absent) > 1 else ""
        raise DataError(f"{data.path}: has no column {absent[0]!r}, a feature of the model{more}")


def find_change(explainer: Explainer, why: Explanation, without: str) -> Change:
    """Return what changes the prediction once a kept feature is free too."""
    point = why.counterexample(without)
    return Change(without, point, explainer.predict(point))


def moves(why: Explanation, change: Change) -> list[tuple[str, str, str]]:
    """Return the features that a change moves: name, old and new value, the one it is about first."""
    names = why.model.names
    moved = [(name, old, _value(change.point[name])) for name, old in zip(names, why.row, strict=True)]
    shown = [(name, show(old), _in_full(new)) for name, old, new in moved if old != new]
    return sorted(shown, key=lambda move: move[0] != change.without)


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


def _show_explanation(console: Console, why: Explanation) -> None:
    """Print what `print(why)` says, with all kept features, in columns that fit the terminal."""
    sentences = [line for line in str(why).splitlines() if not line.startswith(" ")]
    for sentence in sentences:
        if sentence.startswith("Slack") and why.size:
            _show_kept(console, why)
        label, _, rest = sentence.partition(":")
        put(console, Text.assemble((f"{label}:", "bold green" if label == "Proven" else "bold"), rest))
    if not why.freed:  # then there is no slack to tell of
        _show_kept(console, why)


def _show_kept(console: Console, why: Explanation) -> None:
    grid = grid_of("cyan", "", "")
    for i in why.kept:
        effect = f"could lower the margin by {_amount(why.drops[why.model.names[i]])}"
        grid.add_row(Text(why.model.names[i]), Text(f"= {show(why.row[i])}"), effect)
    put(console, grid, indent=2)


def _show_change(console: Console, why: Explanation, change: Change) -> None:
    text = f" fixed it can become {change.prediction}, as here:"
    put(console, Text.assemble(("Without ", "bold"), (change.without, "cyan"), text))
    grid = grid_of("cyan", "", "")
    for name, old, new in moves(why, change):
        grid.add_row(Text(name), Text(old), Text(f"-> {new}"))
    put(console, grid, indent=2)


# --- info -------------------------------------------------------------------------------------------------------------


@app.command("info")
def info_command(model: ModelPath, as_json: AsJson = False) -> None:
    """Describe a model file: its task, its features, the exact pieces of its shapes."""
    additive = load_model(model)
    pieces = Explainer(additive).pieces
    if as_json:
        _print_json({"model": _file_json(model), **_model_json(additive, pieces)})
        return
    console = _console()
    facts = {
        "task": additive.task,
        "classes": _classes(additive),
        "intercept": ", ".join(_short(value) for value in additive.intercept),
        "features": str(len(additive.features)),
        **_file_facts(_file_json(model)),
    }
    _show_facts(console, facts)
    console.print()
    _show_features(console, additive, pieces)


def _classes(model: AdditiveModel) -> str:
    if model.task != "binary":
        return ", ".join(str(name) for name in model.classes)
    below, above = ("below 0", "from 0 up") if model.ties == "positive" else ("up to 0", "above 0")
    return f"{model.classes[0]} (score {below}), {model.classes[1]} ({above})"


def _show_features(console: Console, model: AdditiveModel, pieces: Mapping[str, tuple[Pieces, ...]]) -> None:
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for title in ("feature", "domain", "shape"):
        grid.add_column(title, overflow="fold", style="cyan" if title == "feature" else "")
    for title in ("pieces", "center", "scale"):
        grid.add_column(title, justify="right", no_wrap=True)
    for feature, domain, term in zip(model.features, model.domains, model.terms, strict=True):
        has_numbers = bool(domain.spans)
        count = sum(_count(one) for one in pieces[feature.name])
        grid.add_row(
            Text(feature.name),
            Text(textwrap.shorten(str(domain), 60, placeholder=" ...")),
            " + ".join(f"{n} x {kind}" if n > 1 else kind for kind, n in Counter(_kinds(term.shape)).items()),
            str(count) if has_numbers else "-",
            _short(feature.center) if has_numbers else "-",
            _short(feature.scale) if has_numbers else "-",
        )
    put(console, grid)


def _kinds(shape: Shape) -> Iterator[str]:
    """Yield what a shape is made of, in words."""
    match shape:
        case Sum():
            for part in shape.parts:
                yield from _kinds(part)
        case Scaled() | Rescaled():
            yield from _kinds(shape.shape)
        case Table():
            yield "table"
            if shape.otherwise is not None:
                yield from _kinds(shape.otherwise)
        case ReluNetwork():
            yield "-".join(["network", *(str(len(weight)) for weight in shape.weights[:-1])])
        case Readout():
            yield "shared network"
        case Steps():
            yield "steps"
        case PiecewiseLinear():
            yield "broken line"
        case _:
            yield type(shape).__name__


def _count(pieces: Pieces) -> int:
    return len(pieces.slopes)


# --- words for the terminal -------------------------------------------------------------------------------------------


def _console() -> Console:
    return Console(highlight=False, emoji=False)


def grid_of(*styles: str) -> Grid:
    """Return a grid to fill, with a column for each style."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for style in styles:
        grid.add_column(style=style, overflow="fold")
    return grid


def put(console: Console, what: RenderableType, indent: int = 0) -> None:
    """Print without the spaces that rich fills lines up with."""
    with console.capture() as captured:
        console.print(Padding(what, (0, 0, 0, indent)))
    for line in captured.get().splitlines():
        console.out(line.rstrip(), highlight=False)


def _show_facts(console: Console, facts: Mapping[str, str]) -> None:
    grid = grid_of("bold", "")
    for name, fact in facts.items():
        if fact:
            grid.add_row(name, Text(fact))
    put(console, grid)


def _file_facts(file: Json) -> dict[str, str]:
    return {"file": f"{file['path']}, {decimal(file['bytes'])}", "SHA-256": file["sha256"]}


def _amount(value: Fraction | float) -> str:
    return "any amount" if value == math.inf else show(rational(value))


def _short(value: Rational) -> str:
    return f"{nearest_float(value):.4g}"


def _in_full(value: Value) -> str:
    """Return a value with all digits of its float; one that is no float is marked as rounded."""
    if not isinstance(value, fmpq):
        return str(value)
    near = nearest_float(value)
    if not math.isfinite(near):
        return f"about {show(value)}"
    text = repr(near).removesuffix(".0")
    return text if fmpq(*near.as_integer_ratio()) == value else f"about {text}"


def _some(names: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more columns"


# --- documents for machines -------------------------------------------------------------------------------------------


def _print_json(document: Json) -> None:
    typer.echo(json.dumps(document, indent=2, allow_nan=False))


def _file_json(path: Path) -> Json:
    return {"path": str(path), "bytes": path.stat().st_size, "sha256": file_hash(path)}


def _answer_json(why: Explanation, change: Change | None) -> Json:
    names = why.model.names
    document = {
        "prediction": why.prediction,
        "status": why.status.value,
        "size": why.size,
        "features": list(why.features),
        "freed": list(why.freed),
        "margin": _number_json(why.margin),
        "slack": _number_json(why.slack),
        "values": {name: _value_json(value) for name, value in zip(names, why.row, strict=True)},
        "region": {name: _domain_json(part) for name, part in zip(names, why.region, strict=True)},
        "drops": {name: _number_json(drop) for name, drop in why.drops.items()},
        "witnesses": {name: None if at is None else _value_json(_value(at)) for name, at in why.witnesses.items()},
    }
    if change is not None:
        point = {name: _value_json(_value(value)) for name, value in change.point.items()}
        document["counterexample"] = {"without": change.without, "prediction": change.prediction, "point": point}
    return document


def _model_json(model: AdditiveModel, pieces: Mapping[str, tuple[Pieces, ...]]) -> Json:
    features = [
        {
            "name": feature.name,
            "domain": _domain_json(domain),
            "shape": list(_kinds(term.shape)),
            "pieces": [_count(one) for one in pieces[feature.name]],
            "center": _number_json(feature.center),
            "scale": _number_json(feature.scale),
            "deviation": None if feature.deviation is None else _number_json(feature.deviation),
        }
        for feature, domain, term in zip(model.features, model.domains, model.terms, strict=True)
    ]
    return {
        "task": model.task,
        "classes": list(model.classes),
        "ties": model.ties,
        "intercept": [_number_json(value) for value in model.intercept],
        "features": features,
    }


def _domain_json(domain: Domain) -> Json:
    spans = [
        {
            "low": None if span.low is None else _number_json(span.low),
            "high": None if span.high is None else _number_json(span.high),
            "is_integers": span.is_integers,
        }
        for span in domain.spans
    ]
    categories, codes = ([_value_json(value) for value in values] for values in (domain.categories_, domain.codes_))
    return {"spans": spans, "categories": categories, "codes": codes}


def _number_json(value: Number) -> Json:
    if value == math.inf:
        return {"exact": "inf", "float": None}
    exact = rational(value)
    near = nearest_float(exact)
    return {"exact": str(exact), "float": near if math.isfinite(near) else None}


def _value_json(value: Value) -> Json:
    if isinstance(value, fmpq):
        return _number_json(value)
    return {"missing": True} if isinstance(value, Missing) else {"label": value}


def _value(value: Fraction | Label) -> Value:
    return rational(value) if isinstance(value, Fraction) else value


if __name__ == "__main__":
    main()

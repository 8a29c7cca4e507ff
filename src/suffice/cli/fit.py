"""`suffice fit`: train an additive model on a table."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import numpy as np
import typer

from suffice.answers.documents import to_text
from suffice.cli.domains import DomainsFile, Integers, Orders, Ranges, with_stated
from suffice.cli.options import AsJson, Quiet, TablePath, file_facts
from suffice.cli.quality import held_back_scores
from suffice.cli.tables import table_at
from suffice.errors import DataError, ModelFileError
from suffice.present.models import training_document
from suffice.present.terminal import new_console, show_training
from suffice.question.documents import Json
from suffice.tables.quality import doubts
from suffice.tables.training import FEW, training_data

_NETWORKS = "Networks only (--estimator nam)"
_NETWORK_OPTIONS = {  # by the parameters that they set
    "random_state": "--random-state",
    "max_epochs": "--epochs",
    "hidden_layers": "--hidden",
    "basis": "--basis",
    "n_members": "--members",
    "corrections": "--corrections/--no-corrections",
}
_TRADE_OFF = (".csv", ".png", ".svg", ".pdf")


class Task(StrEnum):
    """What there is to learn."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Kind(StrEnum):
    """What the model is made of."""

    GAM = "gam"
    NAM = "nam"


class Basis(StrEnum):
    """Whether features have networks of their own."""

    SEPARATE = "separate"
    SHARED = "shared"


def fit_command(
    table: TablePath,
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.", show_default=False)
    ],
    estimator: Annotated[
        Kind, typer.Option(help="gam: broken lines and surfaces; nam: neural networks, which need PyTorch.")
    ] = Kind.GAM,
    task: Annotated[
        Task, typer.Option(help=f"auto: classification if the target is text, or at most {FEW} different integers.")
    ] = Task.AUTO,
    special_code: Annotated[
        list[float] | None,
        typer.Option(
            metavar="NUMBER", help="Code that is not a measurement, such as -9 for no record; may be repeated."
        ),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated.")
    ] = None,
    integers: Integers = None,
    ranges: Ranges = None,
    orders: Orders = None,
    category: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column of numbers that are names, such as codes; may be repeated."),
    ] = None,
    domains: DomainsFile = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|auto",
            help="How many terms over two columns to add; auto chooses.",
            show_default="auto; with networks 0",
        ),
    ] = None,
    feature_budget: Annotated[
        int | None, typer.Option(min=1, help="Use only so many columns: those that together predict best.")
    ] = None,
    monotone: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=up|down", help="Column whose shape never falls (up) or never rises (down); may be repeated."
        ),
    ] = None,
    calibrated: Annotated[
        bool,
        typer.Option("--calibrated", help="Calibrate the probabilities of classes where that helps: five more fits."),
    ] = False,
    explanation_radius: Annotated[
        float | None, typer.Option(min=0, help="Train for short explanations: radius in standard deviations.")
    ] = None,
    explanation_weight: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|auto",
            help="Train for short explanations: weight; auto tries several on parts of the table, which takes a while.",
            show_default="0",
        ),
    ] = None,
    give_up: Annotated[
        float | None,
        typer.Option(
            min=0, help="With --explanation-weight auto: how much of the score it may cost.", show_default="0.002"
        ),
    ] = None,
    trade_off: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --explanation-weight auto: what was tried, as a table (.csv) or a picture (.png, .svg, .pdf).",
        ),
    ] = None,
    random_state: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=2**32 - 1,
            help="Seed; the same seed gives the same model.",
            show_default="0",
            rich_help_panel=_NETWORKS,
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Maximum number of passes over the rows.", show_default="60", rich_help_panel=_NETWORKS
        ),
    ] = None,
    hidden: Annotated[
        str | None,
        typer.Option(
            metavar="UNITS", help="Units of the hidden layers.", show_default="64,32", rich_help_panel=_NETWORKS
        ),
    ] = None,
    basis: Annotated[
        Basis | None,
        typer.Option(
            help="A network for each feature, or one that all share.",
            show_default="separate",
            rich_help_panel=_NETWORKS,
        ),
    ] = None,
    members: Annotated[
        int | None,
        typer.Option(min=1, help="Number of networks in the ensemble.", show_default="1", rich_help_panel=_NETWORKS),
    ] = None,
    corrections: Annotated[
        bool | None,
        typer.Option(
            "--corrections/--no-corrections",
            help="Add broken lines for what is too sharp for a network.",
            show_default="corrections",
            rich_help_panel=_NETWORKS,
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train an additive model on a table, and save it as an exact model file."""
    networks = {
        "random_state": random_state,
        "max_epochs": epochs,
        "hidden_layers": None if hidden is None else _layers(hidden),
        "basis": None if basis is None else basis.value,
        "n_members": members,
        "corrections": corrections,
    }
    _check_networks(estimator, networks)
    directions, weight = _directions(monotone or ()), 0.0 if explanation_weight is None else _weight(explanation_weight)
    options: dict[str, Any] = {} if pairs is None else {"pairs": _number_of_pairs(pairs)}
    if explanation_radius is not None and explanation_weight is None:
        raise typer.BadParameter("does nothing without --explanation-weight", param_hint="--explanation-radius")
    if explanation_radius is None and weight != 0:
        raise typer.BadParameter(
            "needs --explanation-radius, in standard deviations", param_hint="--explanation-weight"
        )
    if give_up is not None and weight is not None:
        raise typer.BadParameter("nothing is tried without --explanation-weight auto", param_hint="--give-up")
    _check_finite("--explanation-radius", explanation_radius)
    _check_finite("--give-up", give_up)
    _check_finite("--special-code", *(special_code or ()))
    _check_trade_off(trade_off, weight, table, output)
    data = table_at(table)
    training = training_data(data, target, drop or (), task.value, category or ())
    if calibrated and not training.is_classification:
        raise DataError(f"--calibrated is for classes: a regression of {target!r} has no probabilities; leave it out")
    _check_writable(output, table)
    pandas, library = _training_libraries(estimator)
    console = new_console()
    if estimator is Kind.NAM:
        options |= {"random_state": 0, "verbose": console.is_terminal and not quiet and not as_json}
        options |= {name: value for name, value in networks.items() if value is not None}
    if training.is_classification:
        options["calibrated"] = calibrated
    model = getattr(library, f"{estimator.name}{'Classifier' if training.is_classification else 'Regressor'}")(
        feature_budget=feature_budget,
        monotone=directions or None,
        explanation_radius=explanation_radius,
        explanation_weight=weight or 0.0,
        special_codes=special_code or None,
        **options,
    )
    dtypes = dict.fromkeys(training.names, "category")
    frame = pandas.DataFrame(training.columns).astype(dtypes)
    choice = None
    if weight is None:
        given = {} if give_up is None else {"give_up": give_up}
        choice = library.choose_explanation_weight(model, frame, np.asarray(training.target), **given)
        model.set_params(explanation_weight=choice.weight)
        if trade_off is not None:
            _write_trade_off(choice, trade_off)
    model.fit(frame, training.target)
    exact = with_stated(model.to_additive(), integers, ranges, orders, domains, training.columns.__getitem__)
    exact.save(output)
    document = training_document(model, exact, rows=len(data.rows), target=target) | {"model": file_facts(output)}
    document["scores"] = [one._asdict() for one in held_back_scores(model, frame, training)]
    document["trade_off"] = None if choice is None else _trade_off_document(choice)
    document["doubts"] = doubts(training.columns, training.target, is_classification=training.is_classification)
    if as_json:
        typer.echo(to_text(document))
    elif not quiet:
        show_training(console, document, exact)


def _check_networks(kind: Kind, options: Mapping[str, Any]) -> None:
    """Raise an error if an option that only networks have was given for lines and surfaces."""
    for name, value in options.items():
        if kind is Kind.GAM and value is not None:
            raise typer.BadParameter(
                "only networks have it; leave it out, or add --estimator nam", param_hint=_NETWORK_OPTIONS[name]
            )


def _number_of_pairs(text: str) -> int | str:
    if text == "auto":
        return text
    if not text.isdecimal():
        raise typer.BadParameter(f"{text!r} is neither a number from 0 up nor auto", param_hint="--pairs")
    return int(text)


def _weight(text: str) -> float | None:
    """Return a weight; None to choose it."""
    if text == "auto":
        return None
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight < math.inf:
        raise typer.BadParameter(f"{text!r} is neither a number from 0 up nor auto", param_hint="--explanation-weight")
    return weight


def _check_finite(option: str, *numbers: float | None) -> None:
    """Raise an error that names the option, where the library's would name its parameter."""
    for number in numbers:
        if number is not None and not math.isfinite(number):
            raise typer.BadParameter(f"{number} is not a finite number", param_hint=option)


def _check_trade_off(path: Path | None, weight: float | None, *others: Path) -> None:
    """Raise an error now rather than after the training."""
    if path is None:
        return
    if weight is not None:
        raise typer.BadParameter("nothing is tried without --explanation-weight auto", param_hint="--trade-off")
    if path.suffix not in _TRADE_OFF:
        named = ", ".join(_TRADE_OFF)
        raise typer.BadParameter(f"the name of {str(path)!r} must end in one of {named}", param_hint="--trade-off")
    for other in others:
        if path.resolve() == other.resolve():
            raise typer.BadParameter(f"{str(path)!r} is another file of this command", param_hint="--trade-off")
    if path.suffix != ".csv":
        import_module("suffice.present.plots")  # which says what to install
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None


def _write_trade_off(choice: Any, path: Path) -> None:
    try:
        if path.suffix == ".csv":
            choice.to_frame().to_csv(path, index=False)
        else:
            choice.plot().figure.savefig(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None


def _trade_off_document(choice: Any) -> Json:
    tried = [{name: None if value != value else value for name, value in one._asdict().items()} for one in choice.tried]
    return {"explanation_weight": choice.weight, "scoring": choice.scoring, "tried": tried}


def _layers(text: str) -> tuple[int, ...]:
    try:
        layers = tuple(int(units) for units in text.split(","))
    except ValueError:
        layers = ()
    if not layers or min(layers) < 1:
        raise typer.BadParameter(f"{text!r} is not a list of units such as 64,64,32", param_hint="--hidden")
    return layers


def _directions(texts: Iterable[str]) -> dict[str, int]:
    found = {}
    for text in texts:
        name, _, way = text.rpartition("=")
        if not name or way not in ("up", "down"):
            raise typer.BadParameter(
                f"{text!r} is not a column and a direction such as income=up", param_hint="--monotone"
            )
        if name in found:
            raise typer.BadParameter(f"{name!r} is given twice", param_hint="--monotone")
        found[name] = 1 if way == "up" else -1
    return found


def _training_libraries(kind: Kind) -> tuple[Any, ModuleType]:
    """Return pandas, and the package that has the estimators."""
    try:
        import pandas

        library = import_module(f"suffice.{kind.value}")
    except ImportError as error:
        extra = f"suffice[{kind.value}]"
        named = str(error) if extra in str(error) else f"{error}; pip install '{extra}'"
        raise DataError(f"fit cannot run: {named}") from None
    return pandas, library


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

"""The commands that ask something about rows of a table: they share how a question is put.

A command takes `Asked`, what all of them have in common, and options of its own; `question_commands` gives each the
options of both.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from suffice.adapters.files import load_any as load_model
from suffice.claims import AtLeast, AtMost, Beats, Claim, ProbabilityAtLeast, Same, Within
from suffice.errors import DataError, ModelFileError, RowError
from suffice.explain import Explainer
from suffice.model import AdditiveModel
from suffice.model_file import file_hash
from suffice.present import json as documents
from suffice.present.json import Change, Json
from suffice.present.terminal import new_console, show_answer
from suffice.regions import Radius
from suffice.results import Contrast, Explanation
from suffice.tables import DataTable, read_table

Answer = TypeVar("Answer")


class Unit(StrEnum):
    """What a radius counts."""

    RAW = "raw"
    STD = "std"
    MODEL = "model"


class Norm(StrEnum):
    """Which ball the region is."""

    BOX = "inf"
    ONE = "1"
    TWO = "2"


class Arithmetic(StrEnum):
    """What the deployed model computes in."""

    EXACT = "exact"
    FLOAT32 = "float32"
    FLOAT64 = "float64"


class Minimal(StrEnum):
    """What no other set may undercut."""

    SIZE = "size"
    SUBSET = "subset"


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, with exact numbers.")]
ModelPath = Annotated[Path, typer.Argument(help="A model file.", show_default=False)]
TablePath = Annotated[Path, typer.Argument(help="A file: .csv, .csv.gz or .parquet.", show_default=False)]
Rows = Annotated[
    list[int], typer.Option("--row", help="Row to ask about, counted from 0; may be repeated.", show_default=False)
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
ProbabilityOption = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="Claim: the probability of the predicted class stays at or above this."),
]
Keep = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Feature that must be kept; may be repeated.")]
Free = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Feature that must be free; may be repeated.")]
Costs = Annotated[
    list[str] | None,
    typer.Option("--cost", metavar="NAME=NUMBER", help="What keeping a feature or group costs, 1 if not named."),
]
GroupsOption = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="NAME=A,B", help="Features tied together, kept all or none; may be repeated."),
]
Moving = Annotated[
    int | None, typer.Option(min=1, help="How many of the free features may differ from the row at once.")
]
CertificatePath = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the proof to this file, for suffice check; with several rows, one for each: NAME-ROW.json.",
        show_default=False,
    ),
]


MaxNodes = Annotated[int, typer.Option(min=0, help="Budget of the search, in steps.")]
MaxSeconds = Annotated[float, typer.Option(min=0, help="Budget of the search, in seconds.")]


@dataclass(frozen=True, slots=True)
class Asked:
    """A model, some rows of a table, and what all questions have in common."""

    path: Path
    table: Path
    model: AdditiveModel
    unit: Unit
    as_json: bool
    rows: tuple[tuple[int, Json], ...]
    options: Json
    ignored: tuple[str, ...]

    def answers(self, ask: Callable[[Explainer, Json], Answer]) -> list[tuple[int, Answer]]:
        """Return the answer for each row."""
        explainer = Explainer(self.model)
        found = [(k, _of_row(k, partial(ask, explainer, cells))) for k, cells in self.rows]
        if self.ignored:
            typer.echo(f"Ignored (no feature of the model): {_some(self.ignored)}", err=True)
        return found

    def save_certificates(self, path: Path | None, answers: Sequence[tuple[int, Explanation | Contrast]]) -> None:
        """Write the proof of each answer, if a path is given."""
        if path is None:
            return
        for k, answer in answers:
            own = path.with_name(f"{path.stem}-{k}{path.suffix}") if len(answers) > 1 else path
            try:
                answer.certificate(self.path).save(own)
            except ModelFileError:
                reason = "certificates are about suffice's own model files; write one with `suffice convert` first"
                raise ModelFileError(self.path, reason) from None

    def show(self, answers: Iterable[tuple[int, Answer]], title: str, document: Callable[[Answer], Json]) -> None:
        """Print answers, as text or as one document."""
        if self.as_json:
            self.show_document(title, [{"row": k, **document(answer)} for k, answer in answers])
            return
        for place, (k, answer) in enumerate(answers):
            typer.echo(f"{chr(10) if place else ''}Row {k}\n{answer}")

    def show_document(self, title: str, shown: list[Json]) -> None:
        """Print one document."""
        print_json({"model": file_facts(self.path), "table": str(self.table), "unit": self.unit.value, title: shown})


def read_asked(
    model: ModelPath,
    table: TablePath,
    row: Rows,
    unit: UnitOption = Unit.RAW,
    held: Held = None,
    within: WithinOption = None,
    at_least: AtLeastOption = None,
    at_most: AtMostOption = None,
    beats: BeatsOption = None,
    probability: ProbabilityOption = None,
    as_json: AsJson = False,
) -> Asked:
    """Return what all commands need: this function's options are theirs."""
    additive = load_model(model)
    claim = read_claim(additive, within, at_least, at_most, beats, probability)
    data = read_table(table)
    _check_columns(data, additive.names)
    rows = tuple((k, {name: cells[name] for name in additive.names}) for k, cells in ((k, data.row(k)) for k in row))
    ignored = tuple(name for name in data.columns if name not in additive.names)
    options: Json = {"unit": unit.value, "held": held or (), "claim": claim}
    return Asked(model, table, additive, unit, as_json, rows, options, ignored)


def print_json(document: Json) -> None:
    """Print a document on stdout."""
    typer.echo(documents.to_text(document))


def file_facts(path: Path) -> Json:
    """Return what tells a model file from others."""
    return {"path": str(path), "bytes": path.stat().st_size, "sha256": file_hash(path)}


# --- the commands -----------------------------------------------------------------------------------------------------


def explain_command(
    asked: Asked,
    radius: Radii,
    keep: Keep = None,
    free: Free = None,
    cost: Costs = None,
    group: GroupsOption = None,
    moving: Moving = None,
    norm: Annotated[Norm, typer.Option(help="Ball that the region is; for 1 and 2 the box around it.")] = Norm.BOX,
    semantics: Annotated[
        Arithmetic, typer.Option(help="Charge the rounding of a model deployed in floats against the margin.")
    ] = Arithmetic.EXACT,
    without: Annotated[
        str | None, typer.Option(metavar="NAME", help="Kept feature: show how its change can change the prediction.")
    ] = None,
    max_nodes: MaxNodes = 100_000,
    max_seconds: MaxSeconds = 60.0,
    certificate: CertificatePath = None,
) -> None:
    """Find a smallest set of features that fixes a prediction, with proof."""
    if without is not None:
        asked.model.index(without)
    options = asked.options | _preferences(keep, free, cost, group, moving)
    options |= {"norm": float(norm.value), "semantics": semantics.value}
    options |= {"max_nodes": max_nodes, "max_seconds": max_seconds}
    radii = read_radius_options(radius, asked.model.names)

    def ask(explainer: Explainer, cells: Json) -> tuple[Explanation, Change | None]:
        why = explainer.explain(cells, radii, **options)
        return why, None if without is None else _find_change(explainer, why, without)

    answers = asked.answers(ask)
    asked.save_certificates(certificate, [(k, why) for k, (why, _) in answers])
    if asked.as_json:
        shown = [{"row": k, **documents.answer_document(why, change)} for k, (why, change) in answers]
        asked.show_document("explanations", shown)
        return
    console = new_console()
    for place, (k, (why, change)) in enumerate(answers):
        if place:
            console.print()
        show_answer(console, f"Row {k}", why, change)


def contrast_command(asked: Asked, radius: Radii, moving: Moving = None, certificate: CertificatePath = None) -> None:
    """Find a smallest set of features whose change can change a prediction, with an input that shows it."""
    radii = read_radius_options(radius, asked.model.names)
    answers = asked.answers(lambda explainer, x: explainer.contrast(x, radii, at_most=moving, **asked.options))
    asked.save_certificates(certificate, answers)
    asked.show(answers, "contrasts", documents.contrast_document)


def counterfactual_command(asked: Asked, radius: Radii) -> None:
    """Find the nearest input with another prediction that changes as few features as can be."""
    radii = read_radius_options(radius, asked.model.names)
    answers = asked.answers(lambda explainer, x: explainer.counterfactual(x, radii, **asked.options))
    asked.show(answers, "counterfactuals", documents.counterfactual_document)


def relevance_command(
    asked: Asked,
    radius: Radii,
    moving: Moving = None,
    max_nodes: MaxNodes = 2_000,
    max_seconds: MaxSeconds = 60.0,
) -> None:
    """Tell which features are in every minimal explanation, in some, or in none."""
    radii = read_radius_options(radius, asked.model.names)
    options = asked.options | {"at_most": moving, "max_nodes": max_nodes, "max_seconds": max_seconds}
    answers = asked.answers(lambda explainer, x: explainer.relevance(x, radii, **options))
    asked.show(answers, "relevance", documents.relevance_document)


def explanations_command(
    asked: Asked,
    radius: Radii,
    minimal: Annotated[
        Minimal, typer.Option(help="All sets of the smallest size, or all of which no proper subset suffices.")
    ] = Minimal.SIZE,
    limit: Annotated[int, typer.Option(min=1, help="Most sets to list for a row.")] = 20,
    count: Annotated[bool, typer.Option("--count", help="Tell how many there are, instead of listing them.")] = False,
    keep: Keep = None,
    free: Free = None,
    cost: Costs = None,
    group: GroupsOption = None,
    moving: Moving = None,
    max_nodes: MaxNodes = 100_000,
    max_seconds: MaxSeconds = 60.0,
) -> None:
    """List all minimal explanations, or count them."""
    options = asked.options | _preferences(keep, free, cost, group, moving)
    options |= {"max_nodes": max_nodes, "max_seconds": max_seconds}
    radii = read_radius_options(radius, asked.model.names)

    def ask(explainer: Explainer, cells: Json) -> documents.Listing:
        found = explainer.explanations(cells, radii, minimal=minimal.value, **options)
        if count:
            return documents.Listing((), found.count(max_nodes=max_nodes), has_more=False)
        sets = tuple(islice(found, limit + 1))
        return documents.Listing(sets[:limit], None, has_more=len(sets) > limit)

    asked.show(asked.answers(ask), "explanations", documents.listing_document)


def radius_command(
    asked: Asked,
    feature: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Feature kept; may be repeated.")] = None,
) -> None:
    """Tell the largest radius for which some features suffice, exactly."""
    answers = asked.answers(lambda explainer, x: explainer.radius(x, feature or (), **asked.options))
    asked.show(answers, "radii", documents.limit_document)


def curve_command(
    asked: Asked,
    until: Annotated[str, typer.Option(metavar="NUMBER", help="Largest radius to look at.")] = "inf",
    max_nodes: MaxNodes = 100_000,
    max_seconds: MaxSeconds = 60.0,
) -> None:
    """Tell how the size of the smallest explanation grows with the radius, with exact breakpoints."""
    options = asked.options | {"max_nodes": max_nodes, "max_seconds": max_seconds}
    answers = asked.answers(lambda explainer, x: explainer.curve(x, until=until, **options))
    asked.show(answers, "curves", documents.curve_document)


def inflate_command(
    asked: Asked,
    radius: Radii,
    feature: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Feature kept, in order; default: those of explain.")
    ] = None,
) -> None:
    """Tell for each kept feature the widest range over which the prediction stays."""
    radii = read_radius_options(radius, asked.model.names)
    answers = asked.answers(lambda explainer, x: explainer.inflate(x, radii, features=feature, **asked.options))
    asked.show(answers, "inflated", documents.inflated_document)


def question_commands() -> dict[str, Callable[..., None]]:
    """Return the commands by name, each with the options that all share."""
    commands = (
        explain_command,
        contrast_command,
        counterfactual_command,
        relevance_command,
        explanations_command,
        radius_command,
        curve_command,
        inflate_command,
    )
    return {command.__name__.removesuffix("_command"): _with_common_options(command) for command in commands}


def _with_common_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command that reads the common options and hands the rest on."""
    shared = _parameters(read_asked)
    own = [parameter for parameter in _parameters(function) if parameter.name != "asked"]

    def command(**given: Any) -> None:
        function(read_asked(**{one.name: given.pop(one.name) for one in shared}), **given)

    parameters = sorted((*shared, *own), key=lambda one: one.default is not inspect.Parameter.empty)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__doc__ = function.__doc__
    return command


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    hints = get_type_hints(function, include_extras=True)
    found = inspect.signature(function).parameters.values()
    return [one.replace(annotation=hints[one.name], kind=inspect.Parameter.KEYWORD_ONLY) for one in found]


# --- reading options --------------------------------------------------------------------------------------------------


def _of_row(k: int, ask: Callable[[], Answer]) -> Answer:
    try:
        return ask()
    except RowError as error:
        raise RowError(f"row {k}: {error}") from None


def read_claim(
    model: AdditiveModel,
    within: str | None,
    at_least: str | None,
    at_most: str | None,
    beats: str | None,
    probability: str | None,
) -> Claim:
    """Return the claim that the options make; that the class stays, if none does."""
    other = next((name for name in model.classes if str(name) == beats), beats)
    made: list[Claim] = []
    for text, build in (
        (within, Within),
        (at_least, AtLeast),
        (at_most, AtMost),
        (probability, ProbabilityAtLeast),
    ):
        made += [] if text is None else [build(text)]
    made += [] if beats is None else [Beats(other)]
    if len(made) > 1:
        options = "--within, --at-least, --at-most, --beats, --probability"
        raise typer.BadParameter("give one claim at a time", param_hint=options)
    return made[0] if made else Same()


def _preferences(
    keep: list[str] | None, free: list[str] | None, cost: list[str] | None, group: list[str] | None, moving: int | None
) -> Json:
    """Return wishes as the library takes them."""
    costs = _all_named("--cost", cost)
    groups = {name: members.split(",") for name, members in _all_named("--group", group).items()}
    return {"keep": keep or (), "free": free or (), "cost": costs, "groups": groups, "at_most": moving}


def _all_named(option: str, texts: list[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in (_named(option, text) for text in texts or ()):
        if name in found:
            raise typer.BadParameter(f"{name!r} is given twice", param_hint=option)
        found[name] = value
    return found


def _named(option: str, text: str) -> tuple[str, str]:
    name, sign, value = text.rpartition("=") if option == "--cost" else text.partition("=")
    if not (name and sign and value):
        raise typer.BadParameter(f"{text!r} is not of the form NAME=...", param_hint=option)
    return name, value


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


def read_radius_options(given: Sequence[str], names: Sequence[str]) -> Radius:
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

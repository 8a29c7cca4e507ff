"""Options that commands share, each written once.

The options of a question are texts that become its written form (`Question.from_document`), so that the command line
reads nothing itself. A command gets those that its search honours.
"""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from suffice.errors import DataError
from suffice.model.additive import AdditiveModel
from suffice.model.fields import named_once
from suffice.model.reading import file_hash
from suffice.present.terminal import tell
from suffice.question.claims import CLAIMS
from suffice.question.documents import Json
from suffice.question.question import Question
from suffice.search.asking import Search


class Unit(StrEnum):
    """What a radius counts."""

    STD = "std"
    RAW = "raw"
    MODEL = "model"


class Categories(StrEnum):
    """What a category without an order may become."""

    FREE = "free"
    STEP = "step"


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


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, with exact numbers.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
ModelPath = Annotated[Path, typer.Argument(help="A model file.", show_default=False)]
TablePath = Annotated[
    Path,
    typer.Argument(
        help="A table: .csv, .tsv, .jsonl (or these with .gz), .parquet, .xlsx; - for standard input.",
        show_default=False,
    ),
]

CacheFolder = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        envvar="SUFFICE_CACHE",
        metavar="FOLDER",
        help="Keep compiled models in this folder, and take them from there the next time.",
        show_default=False,
    ),
]

_TEXTS = list[str] | None
_RADIUS = Annotated[
    _TEXTS,
    typer.Option(
        "--radius",
        metavar="NUMBER",
        help="How far a free feature may move: a number, or inf; NAME=NUMBER for one feature. May be repeated. "
        "Default: 0.5.",
    ),
]
_QUESTION = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A question in JSON, or what --json printed; other options replace its parts."),
]
# By the name of the option in `Options`: how the command line takes it.
_OPTIONS: Mapping[str, Any] = {
    "unit": Annotated[
        Unit | None,
        typer.Option(
            help="What the radius counts: standard deviations (the default), the features' own units, or the model's "
            "scaled units."
        ),
    ],
    "categories": Annotated[
        Categories | None,
        typer.Option(
            help="Whether a category without an order may become any other at any radius above 0 (the default), or is "
            "one step, a radius of 1, away from it."
        ),
    ],
    "immutable": Annotated[_TEXTS, typer.Option(metavar="NAME", help="Feature that cannot change; may be repeated.")],
    "fix": Annotated[_TEXTS, typer.Option(metavar="NAME", help="Feature that is always fixed; may be repeated.")],
    "free": Annotated[_TEXTS, typer.Option(metavar="NAME", help="Feature that is always free; may be repeated.")],
    "cost": Annotated[
        _TEXTS, typer.Option(metavar="NAME=NUMBER", help="What a feature or group costs; 1 unless named.")
    ],
    "groups": Annotated[
        _TEXTS,
        typer.Option("--group", metavar="NAME=A,B", help="Features tied together, all or none; may be repeated."),
    ],
    "max_changed": Annotated[
        int | None, typer.Option(min=1, help="How many features may differ from the row at once; all by default.")
    ],
    "norm": Annotated[
        Norm | None, typer.Option(help="Norm of the region; for 1 and 2 the box around the ball is searched.")
    ],
    "arithmetic": Annotated[
        Arithmetic | None, typer.Option(help="Subtract the rounding error of a model deployed in floats.")
    ],
    "max_nodes": Annotated[int | None, typer.Option(min=0, help="Budget of the search, in steps.")],
    "max_seconds": Annotated[float | None, typer.Option(min=0, help="Budget of the search, in seconds. Default: 60.")],
}
_CLAIMS: Mapping[str, Any] = {
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS" if claim.field_names() == ("other",) else "NUMBER", help=f"Claim: {claim.summary}."
        ),
    ]
    for kind, claim in CLAIMS.items()
    if claim.field_names()
}


def question_parameters(search: Search[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a command that asks a question, by what its search honours."""
    wanted = {"question": _QUESTION} | ({"radius": _RADIUS} if search.takes_radius else {})
    wanted |= {name: one for name, one in _OPTIONS.items() if name in search.honours} | dict(_CLAIMS)
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=one)
        for name, one in wanted.items()
    ]


def parameters_of(function: Callable[..., object]) -> list[inspect.Parameter]:
    """Return the parameters of a function as keywords, with their annotations worked out."""
    hints = get_type_hints(function, include_extras=True)
    found = inspect.signature(function).parameters.values()
    return [one.replace(annotation=hints[one.name], kind=inspect.Parameter.KEYWORD_ONLY) for one in found]


def with_question(
    search: Search[..., Any],
    function: Callable[..., None],
    own: Sequence[inspect.Parameter],
    doc: str | None,
) -> Callable[..., None]:
    """Return a command with options of its own and those of a search, which the function takes as `given`."""
    asked = question_parameters(search)

    def command(**values: Any) -> None:
        given = {one.name: values.pop(one.name) for one in asked}
        function(given=given, **values)

    ordered = sorted((*own, *asked), key=lambda one: one.default is not inspect.Parameter.empty)
    command.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in ordered}
    command.__doc__ = doc
    return command


def read_question(model: AdditiveModel, given: Mapping[str, Any]) -> Question:
    """Return the question that options ask: those of a file, if one is named, replaced by those given beside it."""
    path = given.get("question")
    document: Json = {} if path is None else _read_file(path)
    document |= {name: given[name] for name in _OPTIONS if given.get(name) is not None}
    if given.get("radius"):
        document["radius"] = _radius(given["radius"], model.names)
    if given.get("cost"):
        document["cost"] = _all_named("--cost", given["cost"])
    if given.get("groups"):
        document["groups"] = groups_of(given["groups"])
    claims = [{"kind": kind, CLAIMS[kind].field_names()[0]: given[kind]} for kind in _CLAIMS if given.get(kind)]
    if len(claims) > 1:
        hint = ", ".join(f"--{kind.replace('_', '-')}" for kind in _CLAIMS)
        raise typer.BadParameter("give one claim at a time", param_hint=hint)
    return Question.from_document(model, document | ({"claim": claims[0]} if claims else {}))


def _read_file(path: Path) -> Json:
    try:
        document = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=named_once)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: is not a question in JSON ({' '.join(str(error).split())[:120]})") from None
    if not isinstance(document, dict):
        raise DataError(f"{path}: is not a question in JSON; it must be an object")
    asked = document.get("question", document)  # what --json printed, or a certificate, states its question so
    if not isinstance(asked, dict):
        raise DataError(f"{path}: is not a question in JSON; its field 'question' must be an object")
    return asked


def _radius(given: Sequence[str], names: Sequence[str]) -> Any:
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


def groups_of(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return groups that are written as NAME=A,B."""
    return {name: members.split(",") for name, members in _all_named("--group", texts).items()}


def _all_named(option: str, texts: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.rpartition("=") if option == "--cost" else text.partition("=")
        if not (name and sign and value):
            raise typer.BadParameter(f"{text!r} is not of the form NAME=...", param_hint=option)
        if name in found:
            raise typer.BadParameter(f"{name!r} is given twice", param_hint=option)
        found[name] = value
    return found


@contextmanager
def warnings_told() -> Iterator[None]:
    """Tell the library's warnings as sentences, without the place in the code."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", UserWarning)
        yield
    for one in found:
        tell(str(one.message), err=True)


def file_facts(path: Path) -> Json:
    """Return what tells a model file from others."""
    return {"path": str(path), "bytes": path.stat().st_size, "sha256": file_hash(path)}


def check_is_other_file(output: Path, **read: Path | None) -> None:
    """Refuse to write over a file that the command reads; each is named by what it is."""
    for what, path in read.items():
        if path is not None and output.exists() and path.exists() and output.samefile(path):
            raise DataError(f"{output}: is the {what} itself; give another name")


def write_file(path: Path, text: str) -> None:
    """Write a text to a file."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None

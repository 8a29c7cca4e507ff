"""Plain scorecards: attributes of features and their points, as a JSON document or a CSV table of suffice's own.

In: lines such as "age from 25 to 40: 12 points, because ...". Out: an exact model, one step function or table a
feature. The page `docs/scorecard.md` has the format. A bin holds its lower end and not its upper one; bins must follow
one another without a gap, so that every number has its points.

A cut written as 0.1 is met by the decimal 0.1 of a CSV file and by the float 0.1 of a table in memory alike: both
belong to the bin above it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from suffice.adapters.cells import category_keys
from suffice.adapters.draft import UNSEEN, Draft, Options, name_features, with_domain
from suffice.errors import AdapterError, NumberError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain, Span, format_value
from suffice.model.fields import named_once
from suffice.numbers.exact import Rational, nearest_float, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Shape, Steps, Table

VERSION = 1
_FIELDS = ("feature", "from", "to", "values", "points", "reason")
_FACTS = ("scorecard", "base", "threshold", "classes", "attributes")
_MISSING, _OTHER = "(missing)", "(other)"  # words for cells that are empty, or hold no listed value


@dataclass(frozen=True, slots=True)
class Attribute:
    """One line of a scorecard: which values of a feature get which points, and why, in words for people."""

    feature: str
    low: Rational | None
    high: Rational | None
    values: tuple[str, ...]
    points: Rational
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Scorecard:
    """A scorecard as it is written down.

    Parameters
    ----------
    attributes : tuple of Attribute
    base : Rational
        Points that everyone starts with.
    threshold : Rational, optional
        Points from which on the second class is decided for; without it the points themselves are the answer.
    classes : tuple of str
        The class below the threshold, and the one from it on.
    """

    attributes: tuple[Attribute, ...]
    base: Rational
    threshold: Rational | None
    classes: tuple[Any, ...]


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a scorecard's document."""
    card = read(obj)
    if options.task == "binary" and card.threshold is None:
        raise AdapterError("the scorecard has no threshold, so its points decide nothing; add one, or leave task= out")
    is_decision = card.threshold is not None and options.task != "regression"
    by_name: dict[str, list[Attribute]] = {}
    for one in card.attributes:
        by_name.setdefault(one.feature, []).append(one)
    names = list(by_name)
    read_ = [_shape(name, some) for name, some in by_name.items()]
    features = name_features(names, len(names), options.features)
    named = [with_domain(feature, domain) for feature, (_, domain) in zip(features, read_, strict=True)]
    shapes = [shape for shape, _ in read_]
    if not is_decision:
        return Draft(AdditiveModel(shapes, card.base, "regression", named), "the scorecard")
    assert card.threshold is not None
    classes = options.classes or card.classes or None
    return Draft(
        AdditiveModel(shapes, card.base - card.threshold, "binary", named, classes, "positive", logit_offset=None),
        "the scorecard",
    )


# --- reading ----------------------------------------------------------------------------------------------------------


def read(document: Mapping[str, Any]) -> Scorecard:
    """Return a scorecard from its JSON document, with numbers as `parse_json` or `parse_csv` leave them."""
    if document.get("scorecard") != VERSION:
        raise AdapterError(f"the scorecard says version {document.get('scorecard')!r}; version {VERSION} is read here")
    for key in document:
        if key not in _FACTS:
            raise AdapterError(f"the scorecard has {key!r}; it can have {', '.join(_FACTS)}")
    lines = document.get("attributes")
    if not isinstance(lines, list) or not lines:
        raise AdapterError("the scorecard has no attributes; list them: {'feature': ..., 'from': ..., 'points': ...}")
    threshold = document.get("threshold")
    classes = document.get("classes") or ()
    if not isinstance(classes, list | tuple) or (classes and len(classes) != 2):
        raise AdapterError(
            f"the scorecard has the classes {classes!r}; list the one below the threshold, then the other"
        )
    return Scorecard(
        tuple(_attribute(line, k) for k, line in enumerate(lines)),
        _number(document.get("base", 0), "base"),
        None if threshold is None else _number(threshold, "threshold"),
        tuple(classes),
    )


def parse_json(text: str) -> Any:
    """Return a JSON document with its decimals as they are written, not as floats."""
    try:
        return json.loads(text, parse_float=str, object_pairs_hook=named_once)
    except ValueError as error:
        raise AdapterError(f"the scorecard cannot be read: {error}") from None


def parse_csv(text: str) -> dict[str, Any]:
    """Return the document of a scorecard written as a table.

    Lines whose feature is "(base)" or "(threshold)" give these in the column of points.
    """
    try:
        lines = list(csv.DictReader(io.StringIO(text), skipinitialspace=True))
    except csv.Error as error:
        raise AdapterError(f"the scorecard's table cannot be read: {error}") from None
    document: dict[str, Any] = {"scorecard": VERSION, "attributes": []}
    for k, line in enumerate(lines):
        cells = {key: value.strip() for key, value in line.items() if key is not None and (value or "").strip()}
        extra = [key for key in line if key not in _FIELDS]
        if extra:
            raise AdapterError(f"the scorecard's table has the column {extra[0]!r}; it can have {', '.join(_FIELDS)}")
        if cells.get("feature") in ("(base)", "(threshold)"):
            document[cells["feature"].strip("()")] = cells.get("points", "")
        elif cells:
            values = cells.get("values")
            more: dict[str, Any] = {} if values is None else {"values": [one.strip() for one in values.split("|")]}
            document["attributes"].append({**cells, **more, "line": k + 2})
    return document


def _attribute(line: Any, k: int) -> Attribute:
    where = f"attribute {k + 1}" if not isinstance(line, Mapping) or "line" not in line else f"line {line['line']}"
    if not isinstance(line, Mapping) or not isinstance(line.get("feature"), str) or not line["feature"]:
        raise AdapterError(f"{where} of the scorecard names no feature")
    for key in line:
        if key not in (*_FIELDS, "line"):
            raise AdapterError(f"{where} of the scorecard has {key!r}; it can have {', '.join(_FIELDS)}")
    values = line.get("values", [])
    values = [values] if isinstance(values, str) else values
    if not isinstance(values, list) or not all(isinstance(one, str | int | float) for one in values):
        raise AdapterError(f"{where} of the scorecard must list its values, got {values!r}")
    ends = [None if line.get(end) in (None, "") else _cut(line[end], f"{end} of {where}") for end in ("from", "to")]
    if values and any(end is not None for end in ends):
        raise AdapterError(f"{where} of the scorecard has values and a range; write two attributes")
    if "points" not in line:
        raise AdapterError(f"{where} of the scorecard has no points")
    low, high = ends
    if low is not None and high is not None and low >= high:
        raise AdapterError(f"{where} of the scorecard goes from {line['from']} to {line['to']}; the first must be less")
    texts = tuple(str(one) for one in values)
    return Attribute(
        line["feature"], low, high, texts, _number(line["points"], f"points of {where}"), str(line.get("reason", ""))
    )


def _number(value: Any, what: str) -> Rational:
    try:
        return rational(value)
    except NumberError as error:
        raise AdapterError(f"the scorecard's {what}: {error}") from None


def _cut(value: Any, what: str) -> Rational:
    exact = _number(repr(value) if isinstance(value, float) else value, what)
    return min(exact, rational(nearest_float(exact)))


# --- shapes -----------------------------------------------------------------------------------------------------------


def _shape(name: str, attributes: Sequence[Attribute]) -> tuple[Shape, Domain]:
    """Return the points of a feature, and the values that have any."""
    bins = sorted((one for one in attributes if not one.values), key=lambda one: (one.low is not None, one.low))
    listed: dict[str, Rational] = {}
    for one in attributes:
        for value in one.values:
            if value in listed:
                raise AdapterError(f"the scorecard gives points to {value!r} of {name!r} twice; once is enough")
            listed[value] = one.points
    missing, other = listed.pop(_MISSING, None), listed.pop(_OTHER, None)
    codes = [] if missing is None else [MISSING]
    if bins:
        if other is not None:
            raise AdapterError(f"{name!r} has ranges and {_OTHER}; give a range without an end instead")
        return _numbers(name, bins, listed, missing)
    keys = category_keys(list(listed))
    entries: dict[Any, Any] = {key: points for value, points in listed.items() for key in keys[value]}
    domain = Domain.categories(*entries) if entries else Domain.codes(MISSING)
    if other is not None:
        entries[UNSEEN] = other
        domain = domain | Domain.codes(UNSEEN)
    if codes:
        entries[MISSING] = missing
        domain = domain | Domain.codes(MISSING)
    return Table(entries), domain


def _numbers(
    name: str, bins: Sequence[Attribute], listed: Mapping[str, Rational], missing: Rational | None
) -> tuple[Shape, Domain]:
    for before, after in pairwise(bins):
        if before.high is None or after.low is None or before.high != after.low:
            end = "without an end" if before.high is None else f"to {format_value(before.high)}"
            start = "without a start" if after.low is None else f"from {format_value(after.low)}"
            raise AdapterError(f"the ranges of {name!r} overlap or leave a gap: one goes {end}, the next {start}")
    entries: dict[Any, Any] = {}
    for text, points in listed.items():  # single numbers with points of their own, such as a code
        entries[_number(text, f"value {text!r} of {name!r}, which has ranges")] = points
    if missing is not None:
        entries[MISSING] = missing
    steps = Steps([one.low for one in bins[1:]], [one.points for one in bins])  # type: ignore[misc]
    domain = Domain((Span(bins[0].low, bins[-1].high),))
    outside = [code for code in entries if code is not MISSING and not domain.holds(code)]
    domain = domain | Domain.codes(*outside) if outside else domain
    domain = domain | Domain.codes(MISSING) if missing is not None else domain
    return (Table(entries, otherwise=steps), domain) if entries else (steps, domain)

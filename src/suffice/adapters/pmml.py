"""PMML: Scorecard and RegressionModel, read from their XML.

An attribute of a characteristic holds where its predicate does; of several the first. What no attribute holds for has
no score in PMML, so it is no part of the domain, and a number for which there is none is refused.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from suffice.adapters.cells import category_keys
from suffice.adapters.draft import UNSEEN, Draft, Link, Options, name_features, with_domain
from suffice.adapters.parts import Part
from suffice.adapters.xml_tree import Element, read_xml
from suffice.errors import AdapterError, NumberError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain, Span, format_value
from suffice.numbers.exact import ZERO, Rational, nearest_float, rational
from suffice.numbers.values import MISSING, Missing
from suffice.shapes import Pieces, Table
from suffice.shapes.combining import combined

_MODELS = ("Scorecard", "RegressionModel")
_MOST_COMPARISONS = 20_000_000  # of values with predicates; a card of thousands of attributes needs fewer
_ITEMS = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')  # of an array: separated by spaces, quoted where they hold some


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a PMML document."""
    root = read_xml(obj)
    if root.name != "PMML":
        raise AdapterError(f"the XML holds a {root.name!r} document; PMML is read here")
    found = root.all(*_MODELS)
    others = [one.name for one in root.inside if one.name.endswith(("Model", "Network", "Scorecard"))]
    if len(found) != 1 or len(others) > 1:
        raise AdapterError(
            f"the PMML holds {', '.join(others) or 'no model'}; a document with one {' or '.join(_MODELS)} is read"
        )
    (model,) = found
    fields = _Fields(root, model)
    read = _scorecard if model.name == "Scorecard" else _regression
    return read(model, fields, options)


class _Fields:
    """What a document says of its columns: numbers, or the values of a category."""

    def __init__(self, root: Element, model: Element) -> None:
        dictionary = root.first("DataDictionary")
        if dictionary is None:
            raise AdapterError("the PMML has no DataDictionary, which says what its columns are; it is damaged")
        self.fields = {one.attributes["name"]: one for one in dictionary.all("DataField")}
        schema = model.first("MiningSchema")
        self._as_is: set[str] = set()  # columns of which values that are not listed are taken as they are
        for one in [] if schema is None else schema.all("MiningField"):
            told = one.attributes
            invalid = told.get("invalidValueTreatment", "returnInvalid")
            if invalid == "asIs":
                self._as_is.add(told.get("name", ""))
            elif invalid != "returnInvalid":
                raise AdapterError(
                    f"the PMML's column {told.get('name')!r} has invalidValueTreatment={invalid!r}, which is not read "
                    "here; do that to the table beforehand"
                )
            for key in ("missingValueReplacement", "outliers", "invalidValueReplacement"):
                if key in told and told[key] != "asIs":
                    raise AdapterError(
                        f"the PMML's column {told.get('name')!r} has {key}={told[key]!r}, which is not read here; do "
                        "that to the table beforehand"
                    )

    def is_number(self, name: str) -> bool:
        """Whether a column holds numbers; refused if it is not a column of the table."""
        if name not in self.fields:
            raise AdapterError(f"the PMML uses {name!r}, which is computed from other columns; compute it beforehand")
        return self.fields[name].attributes.get("optype") == "continuous"

    def numbers(self, name: str) -> Domain:
        """Return the numbers that are valid in a column: those in its intervals, all if it has none."""
        intervals = [] if name in self._as_is else self.fields[name].all("Interval")
        return Domain(tuple(_span(one, name) for one in intervals)) if intervals else Domain.reals()

    def is_listed(self, name: str) -> bool:
        """Whether the document lists all values of a category, so that any other has no score."""
        return name not in self._as_is and bool(self.values(name))

    def values(self, name: str) -> list[str]:
        """Return the values that the document lists for a category."""
        listed = self.fields[name].all("Value")
        return [one.attributes["value"] for one in listed if one.attributes.get("property", "valid") == "valid"]


def _span(interval: Element, name: str) -> Span:
    """Return an interval; PMML's numbers are doubles, so that an open end is the double next to it."""
    left, right = (interval.attributes.get(f"{side}Margin") for side in ("left", "right"))
    closure = interval.attributes.get("closure", "")
    low, high = (None if end is None else nearest_float(_number(end, f"interval of {name!r}")) for end in (left, right))
    if low is not None and closure.startswith("open"):
        low = math.nextafter(low, math.inf)
    if high is not None and closure.lower().endswith("open"):
        high = math.nextafter(high, -math.inf)
    return Span(None if low is None else rational(low), None if high is None else rational(high))


def _number(text: str | None, what: str) -> Rational:
    try:
        return rational(float("" if text is None else text))  # PMML's numbers are doubles
    except (NumberError, ValueError):
        raise AdapterError(f"the PMML's {what} is {text!r}, which is not a finite number") from None


# --- scorecards -------------------------------------------------------------------------------------------------------


def _scorecard(model: Element, fields: _Fields, options: Options) -> Draft:
    source = "the PMML Scorecard"
    start = _number(model.attributes.get("initialScore", "0"), "initialScore")
    holder = model.first("Characteristics")
    parts: dict[str, list[Part]] = {}
    for characteristic in [] if holder is None else holder.all("Characteristic"):
        attributes = characteristic.all("Attribute")
        names = sorted({name for one in attributes for name in _named(one)})
        if len(names) != 1:
            what = f"reads {' and '.join(names)}" if names else "reads no column"
            raise AdapterError(
                f"the characteristic {characteristic.attributes.get('name')!r} {what}; one column each is read here"
            )
        (name,) = names
        parts.setdefault(name, []).append(_characteristic(name, attributes, fields))
    if not parts:
        raise AdapterError(f"{source} has no characteristics; it is damaged")
    made = {name: _joined(name, some) for name, some in parts.items()}
    return Draft(_model(made, [start], "regression", None, options), source)


def _named(attribute: Element) -> set[str]:
    """Return the columns that the predicate of an attribute reads."""
    found: set[str] = set()
    todo = [attribute]
    while todo:
        one = todo.pop()
        found |= {one.attributes["field"]} if "field" in one.attributes else set()
        todo += one.inside
    return found


def _characteristic(name: str, attributes: Sequence[Element], fields: _Fields) -> Part:
    is_number = fields.is_number(name)
    rules = [(_predicate(one, name, is_number=is_number), _points(one)) for one in attributes]
    compared = _texts(attributes)

    def at(value: Any) -> Rational | None:
        return next((points for holds, points in rules if holds(value)), None)

    def check(count: int) -> None:
        size = sum(map(_size, attributes))
        if count * size > _MOST_COMPARISONS:
            raise AdapterError(f"{count} values of {name!r} meet {size} predicates, more than are read; join some")

    missing = at(MISSING)
    if not is_number:
        known = list(dict.fromkeys([*fields.values(name), *([] if fields.is_listed(name) else compared)]))
        check(len(known))
        keys = category_keys(known)
        entries: dict[Any, Any] = {
            key: points for text in known if (points := at(text)) is not None for key in keys[text]
        }
        domain = Domain.categories(*entries)
        other = None if fields.is_listed(name) else at(UNSEEN)
        for code, points in ((MISSING, missing), (UNSEEN, other)):
            if points is not None:
                entries[code] = points
                domain = domain | Domain.codes(code)
        return Part(Table(entries).compile(), domain)
    numbers = fields.numbers(name)
    ends = {end for span in numbers.spans for end in span[:2] if end is not None}
    knots = sorted({_number(text, f"value of {name!r}") for text in compared} | ends)
    places = _between(knots)
    check(2 * len(places))
    found = [at(place) if numbers.holds(place) else ZERO for place in (*places, *knots)]
    if any(points is None for points in found):
        where = next(place for place, points in zip((*places, *knots), found, strict=True) if points is None)
        raise AdapterError(f"no attribute of {name!r} holds at {format_value(where)}, so there is no score there")
    values = [points for points in found if points is not None]
    labels: dict[Any, Rational] = {} if missing is None else {MISSING: missing}
    pieces = Pieces.tidy(knots, [ZERO] * len(places), values[: len(places)], values[len(places) :], labels)
    return Part((pieces,), numbers | Domain.codes(MISSING) if labels else numbers)


def _between(knots: Sequence[Rational]) -> list[Rational]:
    if not knots:
        return [ZERO]
    inner = [(a + b) / 2 for a, b in pairwise(knots)]
    return [knots[0] - 1, *inner, knots[-1] + 1]


def _points(attribute: Element) -> Rational:
    if "partialScore" not in attribute.attributes:
        raise AdapterError("an attribute of the PMML Scorecard has no partialScore; computed scores are not read here")
    return _number(attribute.attributes["partialScore"], "partialScore")


def _texts(attributes: Sequence[Element]) -> list[str]:
    """Return all values that predicates compare with."""
    found: list[str] = []
    todo = deque(attributes)
    while todo:
        one = todo.popleft()
        if one.name == "SimplePredicate" and "value" in one.attributes:
            found.append(one.attributes["value"])
        if one.name == "SimpleSetPredicate":
            found += _array(one)
        todo += one.inside
    return found


def _size(element: Element) -> int:
    """Return how many elements there are in one, itself included."""
    return 1 + sum(map(_size, element.inside))


def _array(predicate: Element) -> list[str]:
    array = predicate.first("Array")
    if array is None:
        raise AdapterError("the PMML compares with a set that is not there; it is damaged")
    return [quoted.replace('\\"', '"') if quoted else plain for quoted, plain in _ITEMS.findall(array.text)]


_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "equal": lambda a, b: a == b,
    "notEqual": lambda a, b: a != b,
    "lessThan": lambda a, b: a < b,
    "lessOrEqual": lambda a, b: a <= b,
    "greaterThan": lambda a, b: a > b,
    "greaterOrEqual": lambda a, b: a >= b,
}


def _predicate(attribute: Element, name: str, *, is_number: bool) -> Callable[[Any], bool]:
    """Return whether an attribute holds for a value; with a missing one only what asks for that, or for nothing."""
    kinds = ("SimplePredicate", "CompoundPredicate", "SimpleSetPredicate", "True", "False")
    found = attribute.all(*kinds)
    if len(found) != 1:
        raise AdapterError(f"an attribute of {name!r} has {len(found)} predicates; it must have one")
    truth = _truth(found[0], lambda text: _number(text, f"value of {name!r}") if is_number else text, name)
    return lambda value: truth(value) is True


def _truth(predicate: Element, read: Callable[[str], Any], name: str) -> Callable[[Any], bool | None]:
    """Return a predicate in PMML's logic: true, false, or None for unknown; `read` makes values of its texts."""
    if predicate.name in ("True", "False"):
        return lambda value: predicate.name == "True"
    if predicate.name == "CompoundPredicate":
        parts = [_truth(one, read, name) for one in predicate.inside if one.name != "Extension"]
        how = predicate.attributes.get("booleanOperator")
        if how not in ("and", "or"):
            raise AdapterError(f"a predicate of {name!r} joins others by {how!r}; 'and' and 'or' are read")
        return lambda value: _join([one(value) for one in parts], is_and=how == "and")
    if predicate.name == "SimpleSetPredicate":
        is_in = predicate.attributes.get("booleanOperator") == "isIn"
        items = frozenset(map(read, _array(predicate)))
        return lambda value: None if isinstance(value, Missing) else (value in items) == is_in
    operator, text = predicate.attributes.get("operator", ""), predicate.attributes.get("value")
    if operator in ("isMissing", "isNotMissing"):
        return lambda value: isinstance(value, Missing) == (operator == "isMissing")
    if operator not in _COMPARE or text is None:
        raise AdapterError(f"a predicate of {name!r} has the operator {operator!r}; {', '.join(_COMPARE)} are read")
    compare, wanted = _COMPARE[operator], read(text)
    return lambda value: None if isinstance(value, Missing) else compare(value, wanted)


def _join(truths: Sequence[bool | None], *, is_and: bool) -> bool | None:
    decisive = not is_and
    if any(truth is decisive for truth in truths):
        return decisive
    return None if any(truth is None for truth in truths) else not decisive


# --- regressions ------------------------------------------------------------------------------------------------------


def _regression(model: Element, fields: _Fields, options: Options) -> Draft:
    source = "the PMML RegressionModel"
    kind = model.attributes.get("functionName")
    how = model.attributes.get("normalizationMethod", "none")
    tables = model.all("RegressionTable")
    scores = [_table(one, fields) for one in tables]
    names = list(dict.fromkeys(name for parts, _ in scores for name in parts))
    if kind == "regression" and len(tables) == 1 and how in ("none", "exp"):
        link: Link = "exp" if how == "exp" else "score"
        parts, start = scores[0]
        return Draft(
            _model({name: parts[name] for name in names}, [start], "regression", None, options), source, predicts=link
        )
    classes: list[Any] = [one.attributes.get("targetCategory") for one in tables]
    if kind != "classification" or how not in ("logit", "softmax") or len(tables) < 2:
        raise AdapterError(
            f"{source} has functionName={kind!r} and normalizationMethod={how!r}; regression with none or exp, and "
            "classification with logit or softmax, are read"
        )
    outputs = [[parts.get(name) for parts, _ in scores] for name in names]
    starts = [start for _, start in scores]
    if len(tables) == 2:  # of two the first is the one with a probability: the last class has what is left
        signs = [rational(1), rational(-1)] if how == "softmax" else [rational(1), ZERO]
        made = {name: _weighted(some, signs) for name, some in zip(names, outputs, strict=True)}
        start = sum((sign * one for sign, one in zip(signs, starts, strict=True)), ZERO)
        return Draft(_model(made, [start], "binary", classes[::-1], options), source, predicts="sigmoid")
    if how != "softmax":
        raise AdapterError(f"{source} has {len(tables)} classes and normalizationMethod={how!r}; softmax is read")
    stacked = {name: _stacked(some) for name, some in zip(names, outputs, strict=True)}
    return Draft(_model(stacked, starts, "multiclass", classes, options), source, predicts="softmax")


def _table(table: Element, fields: _Fields) -> tuple[dict[str, Part], Rational]:
    parts: dict[str, Part] = {}
    categories: dict[str, dict[str, Rational]] = {}
    for one in table.inside:
        told = one.attributes
        if one.name == "NumericPredictor":
            name = told["name"]
            fields.is_number(name)
            if told.get("exponent", "1") not in ("1", "1.0"):
                raise AdapterError(
                    f"the PMML takes {name!r} to the power {told['exponent']}, a smooth curve; use lines"
                )
            line = Pieces.affine(_number(told["coefficient"], f"coefficient of {name!r}"), ZERO)
            before = parts[name].pieces if name in parts else ()
            parts[name] = Part((combined([(rational(1), one) for one in (line, *before)]),), fields.numbers(name))
        elif one.name == "CategoricalPredictor":
            weight = _number(told["coefficient"], f"coefficient of {told['name']!r}")
            categories.setdefault(told["name"], {})[told["value"]] = weight
        elif one.name == "PredictorTerm":
            raise AdapterError("the PMML multiplies columns (PredictorTerm), which is not additive; leave that out")
    for name, weights in categories.items():
        fields.is_number(name)
        known = list(dict.fromkeys([*fields.values(name), *weights]))
        keys = category_keys(known)
        entries = {key: weights.get(text, ZERO) for text in known for key in keys[text]}
        parts[name] = Part(Table(entries).compile(), Domain.categories(*entries))  # type: ignore[arg-type]
    return parts, _number(table.attributes.get("intercept", "0"), "intercept")


def _weighted(parts: Sequence[Part | None], signs: Sequence[Rational]) -> Part:
    used = [(sign, part) for part, sign in zip(parts, signs, strict=True) if part is not None]
    return Part((combined([(sign, part.pieces[0]) for sign, part in used]),), used[0][1].domain)


def _stacked(parts: Sequence[Part | None]) -> Part:
    known = next(part for part in parts if part is not None)
    nothing = combined([(ZERO, known.pieces[0])])
    return Part(tuple(nothing if part is None else part.pieces[0] for part in parts), known.domain)


def _joined(name: str, parts: Sequence[Part]) -> Part:
    """Return the sum of several characteristics of one column, where all have a score."""
    if len({part.domain for part in parts}) != 1:
        raise AdapterError(f"several characteristics of {name!r} take different values; join them into one")
    return Part((combined([(rational(1), part.pieces[0]) for part in parts]),), parts[0].domain)


def _model(
    parts: Mapping[str, Part], start: Sequence[Rational], task: str, classes: list[Any] | None, options: Options
) -> AdditiveModel:
    features = name_features(list(parts), len(parts), options.features)
    named = [with_domain(feature, part.domain) for feature, part in zip(features, parts.values(), strict=True)]
    shapes = [part.shape for part in parts.values()]
    known = None if task == "regression" else options.classes or classes
    return AdditiveModel(shapes, start, task, named, known, "positive")

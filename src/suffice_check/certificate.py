"""A certificate as it is written: read, not believed."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from suffice_check.claims import Enclosure
from suffice_check.core import Witness
from suffice_check.joint import read_steps
from suffice_check.ordered import Number
from suffice_check.question import Question, read_question
from suffice_check.reading import (
    MISTAKES,
    Value,
    fields,
    items,
    number,
    one_of,
    ordered,
    parse,
    place,
    unreadable,
    value,
    whole,
)
from suffice_check.scenarios import read_scenario_tree, read_seen
from suffice_check.tree import Node, read_tree

VERSION = 3
Radius = Number | str  # "finite": every finite one; "inf": the whole domain


class Step(NamedTuple):
    """A stretch of radii: from which one on no cheaper set suffices, and up to which one these features do."""

    start: Radius
    end: Radius
    fixed: list[int]


class Range(NamedTuple):
    """Values of a feature: from `low` to `high` (None: without end), or those listed."""

    feature: int
    low: Number | None
    high: Number | None
    values: list[Value] | None


class Proof(NamedTuple):
    """Evidence that no cheaper set suffices."""

    witnesses: list[list[Witness]]
    tree: list[Node]


class Certificate(NamedTuple):
    """What a certificate says and what it offers as evidence."""

    model: str
    row: list[Value]
    question: Question
    enclosure: Enclosure | None
    charges: list[Fraction] | None
    kind: str
    result: dict[str, Any]
    evidence: dict[str, Any]


def read_certificate(content: bytes) -> Certificate:
    """Return the certificate of a file's content."""
    try:
        return _read(parse(content))
    except MISTAKES as error:
        raise unreadable("the certificate", error) from None


def _read(document: Any) -> Certificate:
    version = document.get("version") if isinstance(document, dict) else VERSION
    if type(version) is int and version in (1, 2):
        raise ValueError(f"version {version} of the format is no longer read; certify the answer anew with suffice")
    if type(version) is not int or version != VERSION:
        raise ValueError(f"this version of the format is not known; there is version {VERSION}")
    _, model, row, question, enclosure, charges, result, evidence = fields(
        document, "version", "model", "row", "question", "enclosure", "charges", "result", "evidence"
    )
    if not isinstance(model, str) or not re.fullmatch(r"[0-9a-f]{64}", model, re.ASCII):
        raise ValueError("a model is named by its SHA-256, 64 lower-case hexadecimal digits")
    if enclosure is not None:
        low, high = (number(end) for end in items(enclosure))
    said, offered = KINDS[result["kind"]]
    if isinstance(evidence, dict) and "bins" in evidence:  # about a model with terms over two features
        if result["kind"] not in JOINT:
            raise ValueError(f"a result of kind {result['kind']!r} has no evidence with bins")
        offered = JOINT[result["kind"]]
    return Certificate(
        model,
        [value(cell) for cell in items(row)],
        read_question(question),
        None if enclosure is None else (low, high),
        None if charges is None else [number(text) for text in items(charges)],
        result["kind"],
        _fields(result, {"kind": str, **said}),
        _fields(evidence, offered),
    )


def _fields(document: Any, readers: dict[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """Return the fields of an object, each as its reader reads it."""
    return {name: readers[name](content) for name, content in zip(readers, fields(document, *readers), strict=True)}


def _listed(read: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    return lambda document: [read(one) for one in items(document)]


def _or_null(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda document: None if document is None else read(document)


def _index(document: Any) -> int:
    return whole(document, 10**6)


def _bool(document: Any) -> bool:
    if type(document) is not bool:
        raise TypeError("expected true or false")
    return document


def _radius(document: Any) -> Radius:
    return document if document in ("finite", "inf") else ordered(document)


def _witness(document: Any) -> Witness:
    return [] if document is None else [place(document)]


def _step(document: Any) -> Step:
    return Step(*_fields(document, {"from": _radius, "holds_at": _radius, "fixed": _indices}).values())


def _range(document: Any) -> Range:
    if isinstance(document, dict) and "values" in document:
        feature, values = _fields(document, {"feature": _index, "values": _listed(value)}).values()
        return Range(feature, None, None, values)
    ends = {"feature": _index, "low": _or_null(ordered), "high": _or_null(ordered)}
    return Range(**_fields(document, ends), values=None)


def _proof(document: Any) -> Proof:
    return Proof(*_fields(document, _PROOF).values())


_indices = _listed(_index)
_input = _listed(place)
_trees = _listed(read_tree)
_PROOF = {"witnesses": _listed(_listed(_witness)), "tree": read_tree}

# For each kind of result its other fields, and the evidence it comes with.
KINDS: dict[str, tuple[dict[str, Callable[[Any], Any]], dict[str, Callable[[Any], Any]]]] = {
    "explanation": ({"fixed": _indices, "lower_bound": number}, _PROOF),
    "insufficient": ({"fixed": _indices}, {"input": _input}),
    "contrast": ({"changed": _indices, "lower_bound": number}, {"input": _input, "fewer": _trees}),
    "counterfactual": (
        {"changed": _indices, "lower_bound": number, "least": ordered},
        {"input": _input, "fewer": _trees, "nearer": _trees},
    ),
    "radius": ({"fixed": _indices, "holds_at": _radius, "fails_at": _or_null(_radius)}, {"input": _or_null(_input)}),
    "explanations": (
        {"minimal": lambda text: one_of(text, "size", "subset"), "sets": _listed(_indices), "is_complete": _bool},
        _PROOF,
    ),
    "relevance": (
        {"necessary": _indices, "relevant": _indices, "irrelevant": _indices},
        {"witnesses": _PROOF["witnesses"], "sets": _listed(_indices), "trees": _trees},
    ),
    "curve": ({"steps": _listed(_step)}, {"proofs": _listed(_proof)}),
    "inflation": ({"ranges": _listed(_range), "is_widest": _bool}, {"inputs": _listed(_input)}),
}

# The same for models with terms over two features.
_BINS = {"bins": _listed(_listed(ordered))}
_ENOUGH = _listed(read_steps)  # a proof by messages for each inequality
_SCENARIOS = {"scenarios": _listed(read_seen), "tree": read_scenario_tree}
JOINT: dict[str, dict[str, Callable[[Any], Any]]] = {
    "explanation": {**_BINS, "messages": _ENOUGH, **_SCENARIOS},
    "contrast": {"input": _input, **_BINS, "fewer": _ENOUGH},
    "counterfactual": {"input": _input, **_BINS, "fewer": _ENOUGH, "nearer": _ENOUGH},
    "radius": {"input": _or_null(_input), **_BINS, "messages": _ENOUGH},
    "explanations": {**_BINS, "messages": _listed(_ENOUGH), **_SCENARIOS},
}

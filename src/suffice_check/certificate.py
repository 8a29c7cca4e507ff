"""A certificate as it is written: read, not believed."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, NamedTuple

from suffice_check.claims import Enclosure
from suffice_check.drops import Witness
from suffice_check.question import Question, read_question
from suffice_check.reading import MISTAKES, POINT_LIMIT, Value, fields, items, number, parse, unreadable, value, whole
from suffice_check.tree import Node, read_node

_FIELDS = "version", "model", "row", "question", "enclosure", "charges", "result", "evidence"
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)


class Certificate(NamedTuple):
    """What a certificate says and what it offers as evidence; empty where its kind of result has none."""

    model: str
    row: list[Value]
    question: Question
    enclosure: Enclosure | None
    charges: list[Fraction] | None
    kind: str
    features: list[int]  # those fixed, or changed
    lower_bound: Fraction
    radius: Fraction | None
    is_attained: bool
    points: list[list[Fraction]]
    witnesses: list[list[Witness | None]]
    tree: list[Node]
    input: list[Value]
    beyond: list[Witness | None]


def read_certificate(content: bytes) -> Certificate:
    """Return the certificate of a file's content."""
    try:
        return _read(parse(content))
    except MISTAKES as error:
        raise unreadable("the certificate", error) from None


def _read(document: Any) -> Certificate:
    if isinstance(document, dict) and (type(document.get("version")) is not int or document["version"] != 2):
        raise ValueError("this version of the format is not known; there is version 2")
    _, model, row, question, enclosure, charges, result, evidence = fields(document, *_FIELDS)
    if not isinstance(model, str) or not _HASH.fullmatch(model):
        raise ValueError("a model is named by its SHA-256, 64 lower-case hexadecimal digits")
    if enclosure is not None:
        low, high = (number(end) for end in items(enclosure))
    return Certificate(
        model,
        [value(cell) for cell in items(row)],
        read_question(question),
        None if enclosure is None else (low, high),
        None if charges is None else [number(text) for text in items(charges)],
        *_read_result(result, evidence),
    )


# For each kind of result the field that names features, its other fields, and the evidence it comes with.
_KINDS = {
    "explanation": ("fixed", ["lower_bound"], ["points", "witnesses", "tree"]),
    "contrast": ("changed", ["lower_bound"], ["points", "input"]),
    "insufficient": ("fixed", [], ["input"]),
    "radius": ("fixed", ["radius", "is_attained"], ["points", "input", "beyond"]),
}


def _read_result(result: Any, evidence: Any) -> tuple[Any, ...]:
    """Return what is said and offered, in the order of the fields of `Certificate`."""
    chosen, said, offered = _KINDS[result["kind"]]
    kind, features, *_ = fields(result, "kind", chosen, *said)
    fields(evidence, *offered)
    bound, radius, is_attained = result.get("lower_bound", 0), result.get("radius"), result.get("is_attained", False)
    if type(is_attained) is not bool:
        raise TypeError("a radius is attained or not")
    return (
        kind,
        [whole(i, 10**6) for i in items(features)],
        number(bound) if kind == "explanation" else Fraction(whole(bound, 10**6)),
        None if radius is None else number(radius),
        is_attained,
        _read_points(evidence.get("points", [])),
        [[_read_witness(one) for one in items(part)] for part in items(evidence.get("witnesses", []))],
        [read_node(node) for node in items(evidence.get("tree", []))],
        [value(cell) for cell in items(evidence.get("input", []))],
        [_read_witness(one) for one in items(evidence.get("beyond", []))],
    )


def _read_points(document: Any) -> list[list[Fraction]]:
    if sum(len(items(one)) for one in items(document)) > POINT_LIMIT:
        raise ValueError(f"there are more than {POINT_LIMIT} points")
    return [[number(point) for point in one] for one in document]


def _read_witness(document: Any) -> Witness | None:
    if document is None:
        return None
    if isinstance(document, dict) and "side" in document:
        at, side, *to = fields(document, "number", "side", *(["to"] if "to" in document else []))
        if type(side) is not int or side not in (-1, 1):
            raise ValueError("a side is -1 or 1")
        return Witness(number(at), side, *map(number, to))
    return Witness(value(document), 0)

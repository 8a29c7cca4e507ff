"""A certificate as it is written: read, not believed. How its evidence is written: `alone.py`, or `together.py`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from suffice_check.claims import Enclosure
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

VERSION = 3
Radius = Number | str  # "finite": every finite one; "inf": the whole domain
Reader = Callable[[Any], Any]


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


class Certificate(NamedTuple):
    """What a certificate says, and what it offers as evidence, which is still to be read."""

    model: str
    row: list[Value]
    question: Question
    enclosure: Enclosure | None
    charges: list[Fraction] | None
    kind: str
    result: dict[str, Any]
    evidence: Any


def read_certificate(content: bytes) -> Certificate:
    """Return the certificate of a file's content."""
    try:
        return _read(parse(content))
    except MISTAKES as error:
        raise unreadable("the certificate", error) from None


def read_evidence(certificate: Certificate, forms: Mapping[str, Mapping[str, Reader]]) -> dict[str, Any]:
    """Return the evidence of a certificate, which has a form for each kind of result."""
    try:
        if certificate.kind not in forms:
            raise ValueError(f"a result of kind {certificate.kind!r} has no evidence for a model like this")
        return read_fields(certificate.evidence, forms[certificate.kind])
    except MISTAKES as error:
        raise unreadable("the certificate", error) from None


def _read(document: Any) -> Certificate:
    version = document.get("version") if isinstance(document, dict) else VERSION
    if type(version) is int and version in (1, 2):
        anew = "ask again and write it anew, with answer.certificate().save(FILE), or --certificate FILE of the command"
        raise ValueError(f"version {version} of the format is no longer read; {anew}")
    if type(version) is not int or version != VERSION:
        raise ValueError(f"this version of the format is not known; there is version {VERSION}")
    _, model, row, question, enclosure, charges, result, evidence = fields(
        document, "version", "model", "row", "question", "enclosure", "charges", "result", "evidence"
    )
    if not isinstance(model, str) or not re.fullmatch(r"[0-9a-f]{64}", model, re.ASCII):
        raise ValueError("a model is named by its SHA-256, 64 lower-case hexadecimal digits")
    if enclosure is not None:
        low, high = (number(end) for end in items(enclosure))
    kind = one_of(result["kind"], *RESULTS)
    said = read_fields(result, {"kind": str, **RESULTS[kind]})
    del said["kind"]
    return Certificate(
        model,
        [value(cell) for cell in items(row)],
        read_question(question),
        None if enclosure is None else (low, high),
        None if charges is None else [number(text) for text in items(charges)],
        kind,
        said,
        evidence,
    )


# --- parts of it ------------------------------------------------------------------------------------------------------


def read_fields(document: Any, readers: Mapping[str, Reader]) -> dict[str, Any]:
    """Return the fields of an object, each as its reader reads it."""
    return {name: readers[name](content) for name, content in zip(readers, fields(document, *readers), strict=True)}


def listed(read: Reader) -> Callable[[Any], list[Any]]:
    """Return a reader of lists."""
    return lambda document: [read(one) for one in items(document)]


def nullable(read: Reader) -> Reader:
    """Return a reader of what may be null."""
    return lambda document: None if document is None else read(document)


def index(document: Any) -> int:
    """Return the place of something in a list."""
    return whole(document, 10**6)


def _bool(document: Any) -> bool:
    if type(document) is not bool:
        raise TypeError("expected true or false")
    return document


def _radius(document: Any) -> Radius:
    return document if document in ("finite", "inf") else ordered(document)


def _step(document: Any) -> Step:
    return Step(*read_fields(document, {"from": _radius, "holds_at": _radius, "fixed": _indices}).values())


def _range(document: Any) -> Range:
    if isinstance(document, dict) and "values" in document:
        feature, values = read_fields(document, {"feature": index, "values": listed(value)}).values()
        return Range(feature, None, None, values)
    ends = {"feature": index, "low": nullable(ordered), "high": nullable(ordered)}
    return Range(**read_fields(document, ends), values=None)


places = listed(place)
_indices = listed(index)

# For each kind of result its other fields.
RESULTS: dict[str, dict[str, Reader]] = {
    "explanation": {"fixed": _indices, "lower_bound": number},
    "insufficient": {"fixed": _indices},
    "contrast": {"changed": _indices, "lower_bound": number},
    "counterfactual": {"changed": _indices, "lower_bound": number, "least": ordered},
    "radius": {"fixed": _indices, "holds_at": _radius, "fails_at": nullable(_radius)},
    "explanations": {
        "minimal": lambda text: one_of(text, "size", "subset"),
        "sets": listed(_indices),
        "is_complete": _bool,
    },
    "relevance": {"necessary": _indices, "relevant": _indices, "irrelevant": _indices},
    "curve": {"steps": listed(_step)},
    "inflation": {"ranges": listed(_range), "is_widest": _bool},
}

"""Bytes in, plain values out: files of bounded size, JSON without surprises, exact numbers."""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any, NoReturn

from suffice_check.ordered import Number

MISSING = None  # the value of a cell that holds nothing
Value = Number | str | None

MODEL_LIMIT = 2**30
CERTIFICATE_LIMIT = 2**24
_NUMBER = re.compile(r"(-?[0-9]{1,4000})(?:/([0-9]{1,4000}))?", re.ASCII)
MISTAKES = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, AttributeError)


class UnreadableError(Exception):
    """A file is not what it should be; nothing has been checked."""


class RejectedError(Exception):
    """A step of the proof fails, or the file says something that is not so; `step` names it."""

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(f"{step}: {reason}")
        self.step = step


def printable(text: object) -> str:
    """Return text with all that is not printed as it stands escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))


def read_bytes(path: str | os.PathLike[str], limit: int) -> bytes:
    """Return a file's content; no more than `limit` bytes are ever read."""
    name = printable(path)
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableError(f"{name}: not a file")
        with open(path, "rb") as file:
            content = file.read(status.st_size + 1) if status.st_size <= limit else b""
    except (OSError, ValueError) as error:
        raise UnreadableError(f"{name}: {printable(getattr(error, 'strerror', None) or error)}") from None
    if status.st_size > limit:
        raise UnreadableError(f"{name}: larger than {limit} bytes")
    if len(content) != status.st_size:
        raise UnreadableError(f"{name}: its size changes while it is read")
    return content


def parse(content: bytes) -> Any:
    """Return a JSON document; fields given twice, NaN and infinity are refused."""
    return json.loads(
        content.decode("utf-8"),
        object_pairs_hook=_no_duplicates,
        parse_constant=_refuse,
        parse_float=_finite,  # only a class may be one
        parse_int=_integer,
    )


def fields(document: Any, *names: str) -> list[Any]:
    """Return the fields of an object: all of these, no others."""
    if not isinstance(document, dict):
        raise TypeError(f"expected an object with the fields {', '.join(names)}")
    for name in names:
        if name not in document:
            raise ValueError(f"the field {name!r} is missing")
    for name in document:
        if name not in names:
            raise ValueError(f"unknown field {name!r}")
    return [document[name] for name in names]


def only_field(document: Any) -> tuple[str, Any]:
    """Return name and content of an object's one field."""
    if not isinstance(document, dict) or len(document) != 1:
        raise TypeError("expected an object with one field")
    ((name, content),) = document.items()
    return name, content


def items(document: Any) -> list[Any]:
    """Return a list, after checking that it is one."""
    if not isinstance(document, list):
        raise TypeError("expected a list")
    return document


def texts(document: Any) -> list[str]:
    """Return a list of texts, such as names of features."""
    if not all(isinstance(text, str) for text in items(document)):
        raise TypeError("expected a list of names")
    return list(document)


def one_of(text: Any, *known: str) -> str:
    """Return a text that is one of those known."""
    if not isinstance(text, str) or text not in known:
        raise ValueError(f"{str(text)[:40]!r} is none of {', '.join(known)}")
    return text


def number(text: Any) -> Fraction:
    """Return the number that "p" or "p/q" spells."""
    match = _NUMBER.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f'{str(text)[:40]!r} is not a number written as "p/q"')
    return Fraction(int(match[1]), int(match[2] or 1))


def ordered(text: Any) -> Number:
    """Return the number that "p/q", "p/q+e" or "p/q-e" spells, e being ε."""
    edge = {"+e": 1, "-e": -1}.get(text[-2:], 0) if isinstance(text, str) else 0
    return Number(number(text[:-2] if edge else text), edge)


def whole(document: Any, below: int, start: int = 0) -> int:
    """Return an integer from a start up and below a limit."""
    if type(document) is not int or not start <= document < below:
        raise ValueError(f"{str(document)[:40]} is not an integer from {start} up and in bounds")
    return document


def place(document: Any) -> Value:
    """Return a value of a feature (a number, a label, or missing), or a number infinitely close to one."""
    kind, content = only_field(document)
    if kind == "number":
        return ordered(content)
    if kind == "label" and isinstance(content, str):
        return content
    if kind == "missing" and content is True:
        return MISSING
    raise ValueError(f"{kind!r} is not a kind of value")


def value(document: Any) -> Value:
    """Return a value of a feature."""
    found = place(document)
    if isinstance(found, Number) and found.edge:
        raise ValueError("a value of a row is a number, not one beside it")
    return found


def has_repeats(listed: Iterable[Any]) -> bool:
    """Whether a value is listed twice; numbers are compared in order, for they can be made to share one hash."""
    every = list(listed)
    numbers = sorted(one for one in every if isinstance(one, (Number, int, float)))
    labels = [one for one in every if not isinstance(one, (Number, int, float))]
    return len(set(labels)) != len(labels) or any(a == b for a, b in pairwise(numbers))


def unreadable(what: str, error: Exception) -> UnreadableError:
    """Return the error that says in one line, whatever is in the file, why it cannot be read."""
    text = f"no {error} there" if isinstance(error, KeyError) else str(error) or type(error).__name__
    return UnreadableError(f"{what}: {printable(' '.join(text.split()))[:200]}")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has the same field twice")
    return found


def _refuse(text: str) -> NoReturn:
    raise ValueError(f'{text[:40]} is not allowed; numbers are written as "p/q"')


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        _refuse(text)
    return float(text)


def _integer(text: str) -> int:
    if len(text) > 4000:
        raise ValueError(f"an integer of {len(text)} digits is not allowed")
    return int(text)

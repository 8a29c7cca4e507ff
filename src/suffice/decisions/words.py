"""Words that findings about models and tables share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from suffice.answers.words import counted, spoken
from suffice.core.scores import predict
from suffice.errors import ClaimError
from suffice.layout.facts import Fact
from suffice.model.additive import AdditiveModel
from suffice.model.compiled import Compiled
from suffice.numbers.enclosure import middle
from suffice.numbers.exact import brief, nearest_float, to_fraction
from suffice.numbers.values import Value
from suffice.question.claim import NO_CLASS
from suffice.question.documents import Json, read_class

_MOST_LISTED = 10


def class_index(model: AdditiveModel, outcome: Any, what: str) -> int:
    """Return the index of a class that a user names; of a regression, which has none, nothing may be named."""
    if not model.classes:
        if outcome is not None:
            raise ClaimError(f"{what} names the class {brief(outcome)}, but a regression has none")
        return NO_CLASS
    found = read_class(model, outcome)
    if outcome is None or found not in model.classes:
        known = ", ".join(str(name) for name in model.classes[:8])
        raise ClaimError(f"{what} must name a class of the model ({known}), got {brief(outcome)}")
    return model.classes.index(found)


def decision_at(compiled: Compiled, point: Sequence[Value]) -> str:
    """Return what the model says of an input, in words."""
    told, scores = predict(compiled, point), [middle(score) for score in compiled.scores(point)]
    if not compiled.model.classes:
        return f"the prediction is {spoken(to_fraction(scores[0]))}"
    score = f" (score {nearest_float(scores[0]):.6g})" if len(scores) == 1 else ""
    return f"the prediction is {told}{score}"


def table_facts(rows: int, found: Sequence[int], failed: Mapping[int, str] | None, where: str, what: str) -> list[Fact]:
    """Return what is so of the rows of a table, if there is one."""
    if failed is None:
        return []
    shown = ", ".join(map(str, found[:_MOST_LISTED])) + (", ..." if len(found) > _MOST_LISTED else "")
    facts = [Fact("Rows", f"{counted(rows, 'row')} {where}; {what} for {len(found)}{f': {shown}' if found else ''}.")]
    return [*facts, *failed_facts(failed)]


def failed_facts(failed: Mapping[int, str]) -> list[Fact]:
    """Return which rows could not be judged, if any."""
    if not failed:
        return []
    first = min(failed)
    return [Fact("Left out", f"{counted(len(failed), 'row')}; row {first}: {failed[first]}")]


def rows_document(rows: int, found: Sequence[int], failed: Mapping[int, str] | None) -> Json:
    """Return the same as JSON."""
    if failed is None:
        return {}
    return {"rows": rows, "violations": list(found), "failed": {str(k): text for k, text in failed.items()}}

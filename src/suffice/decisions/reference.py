"""What a row is compared with: the best values, a typical row of the other decision, or a profile.

In: a compiled model and how users name a reference. Out: one exact value for each feature, and words for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from flint import fmpq

from suffice.core.drops import enclose_drops
from suffice.decisions.rows import Portfolio, each_value
from suffice.errors import ProfileError
from suffice.model.compiled import Compiled
from suffice.model.domain import Domain
from suffice.numbers.values import MISSING, Value
from suffice.question.box import some_value
from suffice.question.row import Row, read_row
from suffice.shapes.curves import Curves

_BITS = 128  # how closely smooth shapes are enclosed
_CLOSE = fmpq(1, 2**64)  # what a score may still be lowered by beside a value that counts as best


class Reference(NamedTuple):
    """Values to compare with, and what they are called."""

    row: Row
    words: str


def read_reference(compiled: Compiled, given: Any, winner: int, portfolio: Portfolio | None) -> Reference:
    """Return what a row of a class is compared with.

    Parameters
    ----------
    given : "typical", "best", or a row
        The typical row of the table with the other decision; the value of each feature that speaks most against the
        row's decision; or a profile.
    winner : int
        The class of the row, by index.
    portfolio : Portfolio, optional
        The rows that "typical" looks at.
    """
    if not isinstance(given, str):
        return Reference(read_row(compiled.model, given), "the profile")
    model = compiled.model
    if given not in ("typical", "best"):
        raise ProfileError(f"the reference is 'typical', 'best' or a row to compare with, got {given!r}")
    if model.task != "binary":
        raise ProfileError(f"{given!r} needs a model of two classes; give a row to compare with")
    other = model.classes[1 - winner]
    if given == "best":
        return Reference(_best(compiled, winner), f"the values that speak most for {other}")
    if portfolio is None:
        raise ProfileError("'typical' needs a table of rows, to see who else was decided how")
    return Reference(_typical(portfolio, 1 - winner), f"the typical row decided {other}")


def _best(compiled: Compiled, winner: int) -> Row:
    """Return the value of each feature that lowers the score of a class most, or within `_CLOSE` of it."""
    if compiled.model.pairs:
        raise ProfileError("'best' needs features that act each for itself; give a row to compare with")
    found: list[Value] = []
    for name, domain, function in zip(
        compiled.model.names, compiled.model.domains, compiled.oriented((1 if winner else -1,)), strict=True
    ):
        at = some_value(domain)
        drops = enclose_drops([function], [function.value(at, _BITS)], (at,), (domain,), _BITS)
        (worst,), (ceiling,), (floor,) = drops.worst, drops.ceilings, drops.floors
        infimum = worst.infimum
        # A curve that turns at no rational number has values as close to its best as one likes, and takes none.
        is_beside = isinstance(function, Curves) and infimum.is_approached and not infimum.side
        if ceiling.is_infinite or (infimum.is_approached and not is_beside):
            raise ProfileError(f"{name!r} has no best value, only ever better ones; give a row to compare with")
        if ceiling.value - floor.value > _CLOSE:
            raise ProfileError(f"the best value of {name!r} is not known closely enough; give a row to compare with")
        found.append(worst.value_at_most(infimum.value + _CLOSE if is_beside else infimum.value))
    return tuple(found)


def _typical(portfolio: Portfolio, other: int) -> Row:
    """Return the middle number, or the most frequent label, of each feature among the rows of a class."""
    chosen = (portfolio.predicts(other) & portfolio.readable()).nonzero()[0].tolist()
    if not chosen:
        name = portfolio.compiled.model.classes[other]
        raise ProfileError(f"no row of the table is decided {name}, so that there is no typical one")
    found, unread = [], cast("Value", MISSING)  # rows that cannot be read are not chosen
    for domain, column in zip(portfolio.compiled.model.domains, portfolio.source.columns, strict=True):
        values = each_value(column, domain, lambda value: value, otherwise=unread)
        found.append(_middle(domain, [values[k] for k in chosen]))
    return tuple(found)


def _middle(domain: Domain, values: Sequence[Value]) -> Value:
    labels = {*domain.categories_, *domain.codes_}
    numbers = sorted(value for value in values if isinstance(value, fmpq) and value not in labels)
    if 2 * len(numbers) >= len(values):
        return numbers[(len(numbers) - 1) // 2]
    counts = Counter(value for value in values if value in labels)
    order = [*domain.categories_, *domain.codes_]
    return max(counts, key=lambda value: (counts[value], -order.index(value)))

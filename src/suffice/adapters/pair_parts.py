"""What a model makes of two of its columns together, in the columns that the user has.

A column may come to the model as it is. Behind a transformer only tables of steps are read: a cut is put where the
column's own float arithmetic crosses it, and a category takes the place of what an encoder makes of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from flint import fmpq

from suffice.adapters.column import Column, Columns, Finite, Numeric, Raw, as_number, single
from suffice.adapters.draft import UNSEEN
from suffice.adapters.floats import first_at_least
from suffice.adapters.parts import Part, float_above, float_from
from suffice.errors import AdapterError
from suffice.model.domain import Domain
from suffice.model.term import Term
from suffice.numbers.exact import nearest_float, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Bins, PairSteps
from suffice.shapes.axis import Axis, united


def pairs_behind(
    pairs: Iterable[Term], columns: Columns, sources: Sequence[int], parts: Sequence[Part], names: Sequence[str]
) -> list[Term]:
    """Return a model's terms over two columns in the columns that the user has.

    Parameters
    ----------
    pairs : iterable of Term
        By the places of the columns that come to the model.
    columns : Columns
        These columns, each with its source.
    sources, parts : which of the user's columns are features, and what the model makes of each alone
    names : of the user's columns
    """
    arriving, place = single(columns, "model"), {source: k for k, source in enumerate(sources)}
    found = []
    for term in pairs:
        mine = [arriving[k] for k in term.features]
        if mine[0].source == mine[1].source:
            raise AdapterError(
                f"the model joins two columns that were made of {names[mine[0].source]!r} alone; give it that column "
                "as it is"
            )
        places = tuple(place[column.source] for column in mine)
        shape = term.shape
        if not all(map(_is_itself, mine)):
            domains = [parts[k].domain for k in places]
            shape = _behind(term, mine, domains, [names[column.source] for column in mine])
        found.append(Term(places, shape))
    return found


def _is_itself(column: Column) -> bool:
    if isinstance(column, Raw):
        return not column.fills
    return isinstance(column, Numeric) and column.is_plain and not column.points and column.missing is not None


def _behind(term: Term, columns: Sequence[Column], domains: Sequence[Domain], names: Sequence[str]) -> PairSteps:
    pieces = term.shape.compile()
    if not all(one.is_constant_in_cells for one in pieces):
        changed = next(name for column, name in zip(columns, names, strict=True) if not _is_itself(column))
        raise AdapterError(
            f"the model joins {names[0]!r} and {names[1]!r} in slopes, after a step that changes {changed!r}; leave "
            "that step out, or fit the model without terms over two columns"
        )
    axes = united([one.axes[0] for one in pieces]), united([one.axes[1] for one in pieces])
    (rows, first), (others, second) = (_side(*each) for each in zip(axes, columns, domains, names, strict=True))
    grids = [one.on(axes).constants[np.ix_(first, second)] for one in pieces]
    return PairSteps(rows, others, np.stack(grids, axis=2))


def _side(axis: Axis, column: Column, domain: Domain, name: str) -> tuple[Bins, list[int]]:
    """Return the bins of one of the user's columns, and for each the cell of the model's that it comes to."""
    if isinstance(column, Finite):
        keys: list[Any] = [*domain.categories_, *domain.codes_]
        cells = [nearest_float(key) if isinstance(key, fmpq) else key for key in keys]
        return Bins(keys=keys), [_cell(axis, column.values.get(cell, column.rest), name) for cell in cells]
    number = as_number(column, "model")
    if number.floats is None or number.points:
        raise AdapterError(
            f"the model joins {name!r} with another column, after a step that does not keep its order; leave that step "
            "out, or fit the model without terms over two columns"
        )
    keys = [] if number.missing is None or MISSING not in domain.codes_ else [MISSING]
    missing = [_cell(axis, number.missing, name) for _ in keys]
    if number.is_plain:
        closed: Any = ["right" if cut.side else "left" for cut in axis.cuts]
        return Bins([cut.place for cut in axis.cuts], keys, closed), [*range(axis.numbers), *missing]
    targets = np.array([float_above(place) if side else float_from(place) for place, side in axis.cuts])
    cuts = first_at_least(number.floats, targets) if len(targets) else []
    # Of cuts at the same place, what lies between them is nowhere taken: the last one counts.
    kept = [k for k, (cut, following) in enumerate(pairwise([*cuts, None])) if cut != following]
    return Bins([cuts[k] for k in kept], keys, "left"), [0, *(k + 1 for k in kept), *missing]


def _cell(axis: Axis, value: Any, name: str) -> int:
    """Return the cell of a number that a transformer makes, of NaN that of missing or unseen cells."""
    if value is None:
        raise AdapterError(f"the model joins {name!r} with another column, but refuses some of its values")
    if not np.isnan(value):
        return axis.cell_of(rational(float(value)))
    label: Any = next((label for label in (MISSING, UNSEEN) if label in axis.labels), None)
    if label is None:
        raise AdapterError(f"the model joins {name!r} with another column, but takes no missing cells there")
    return axis.cell_of(label)

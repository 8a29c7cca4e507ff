"""Features of boosted trees that are categories: what trees make of each, by the code that a package has for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.adapters.draft import UNSEEN, Cell
from suffice.adapters.trees import Placed, Side, Split, total
from suffice.errors import AdapterError
from suffice.model.domain import Domain
from suffice.numbers.values import MISSING
from suffice.shapes import Bins, Shape, Table


def pandas_categories(rows: Any, name: str | None, place: int) -> list[Any] | None:
    """Return the categories that a column of a pandas table lists, None if it lists none."""
    if not (hasattr(rows, "columns") and hasattr(rows, "iloc")) or place >= len(rows.columns):
        return None
    column = rows[name] if name in rows.columns else rows.iloc[:, place]
    return list(column.cat.categories) if hasattr(column, "cat") else None


@dataclass(frozen=True, slots=True)
class Categories:
    """The categories of a feature.

    Parameters
    ----------
    names : sequence
        As the user's table has them.
    codes : sequence of int
        What splits call them.
    unseen : float, optional
        The code that stands for every other category; None where the package refuses those.
    takes_missing : bool
        Whether a cell may be missing.
    """

    names: Sequence[Any]
    codes: Sequence[int]
    unseen: float | None = None
    takes_missing: bool = True

    @property
    def keys(self) -> list[str | float]:
        """What the categories are called here."""
        return [name if isinstance(name, str) else float(name) for name in self.names]

    @property
    def domain(self) -> Domain:
        """What the feature can be."""
        domain, others = Domain.categories(*self.keys), [cell for cell, _ in self._others]
        return domain | Domain.codes(*others) if others else domain

    @property
    def _others(self) -> list[tuple[Any, float]]:
        missing: list[tuple[Any, float]] = [(MISSING, np.nan)] if self.takes_missing else []
        return missing if self.unseen is None else [*missing, (UNSEEN, self.unseen)]

    def shape(self, trees: Sequence[Placed], outputs: int, goes_left: Callable[[Split, float], bool]) -> Shape:
        """Return what trees over this feature alone add up to."""
        cells = [*zip(self.keys, map(float, self.codes), strict=True), *self._others]
        if len({key for key, _ in cells}) < len(cells):
            raise AdapterError(f"two categories are the same in {list(self.names)[:6]}; give them names of their own")
        entries: dict[Any, Any] = {
            key: total(trees, outputs, lambda split, code=code: goes_left(split, code))  # type: ignore[misc]
            for key, code in cells
        }
        return Table(entries)

    def side(self) -> Side:
        """Return what trees over two features tell apart of it."""
        others = self._others
        keys = Bins(keys=[*self.keys, *(cell for cell, _ in others)])
        return Side(keys, [*map(float, self.codes), *(code for _, code in others)])

    def original(self, cell: Cell, unseen: Any) -> Any:
        """Return how the user's table has a cell; None where it is missing."""
        known: dict[Any, Any] = dict(zip(self.keys, self.names, strict=True))
        return None if cell is MISSING else unseen if cell == UNSEEN else known.get(cell, cell)

"""What a reader of a scikit-learn model returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from suffice.adapters.column import Columns
from suffice.adapters.parts import Part
from suffice.numbers.exact import Rational


@dataclass(frozen=True, slots=True)
class Bare:
    """A model's parts and intercept.

    Parameters
    ----------
    columns : Columns, optional
        What the model makes of its columns first; `parts` are about these then.
    score : function, optional
        The package's own scores for a table, where they are not its decision function or its prediction.
    """

    parts: Sequence[Part]
    intercept: Sequence[Rational]
    ties: Literal["positive", "negative"] = "negative"
    columns: Columns | None = None
    score: Callable[[Any, Any], NDArray[Any]] | None = None


def home_of(obj: Any) -> str:
    """Return the module of scikit-learn that a class comes from, or one that it derives from."""
    modules = (kind.__module__ for kind in type(obj).__mro__)
    return next((module for module in modules if module.startswith("sklearn.")), "")

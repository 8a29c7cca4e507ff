"""What all additive models to train share: reading tables, checks, the choice of columns, fitting, scoring."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import compress
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    check_array,
    check_is_fitted,
    validate_data,
)

from suffice.errors import CellTypeError, DataError, SufficeError
from suffice.gam.choosing import choose_columns, constant_scores
from suffice.gam.columns import Categorical, Cells, as_table, learn_columns, ranks_of, reach_of, read_orders, read_table
from suffice.gam.convert import Parts, assemble
from suffice.gam.hats import Floats, Places
from suffice.gam.parameters import check_parameters
from suffice.gam.solving import Curve, Data, Wishes
from suffice.gam.terms import Terms
from suffice.gam.wanted import is_flat, read_directions, read_pairs
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain
from suffice.numbers.exact import nearest_float, rational

_HEAVIEST = 1e9  # explanation weight; all is flat long before, and more would overflow


class BaseAdditive(BaseEstimator):  # type: ignore[misc]
    """An additive model for some task: what it is made of, its kind says in `_train`, `_sums` and `_parts`."""

    pairs: int | str | Sequence[tuple[str, str]]
    feature_budget: int | None
    monotone: Mapping[str, int] | None
    special_codes: Mapping[str, Sequence[float]] | Sequence[float] | None
    explanation_radius: float | None
    explanation_weight: float
    scale_: float  # what takes sums of terms to scores
    center_: float | Floats

    # --- what each kind of model does in its own way ----------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise an error that names the first parameter that cannot be used, before anything is read."""
        check_parameters(self)

    def _train(self, numbers: Floats, slots: Places, target: NDArray[Any], weights: Floats) -> float:
        """Learn the terms and `pairs_` from encoded rows, of mean weight 1; return their width (`explanation_width_`).

        The width is NaN without an `explanation_radius`.
        """
        raise NotImplementedError

    def _sums(self, numbers: Floats, slots: Places) -> Floats:
        """Return the sum of all terms and the intercept in encoded rows (rows, outputs)."""
        raise NotImplementedError

    def _parts(self) -> Parts:
        """Return the exact terms and the intercept."""
        raise NotImplementedError

    # --- what the two tasks do in their own way (`tasks`) -----------------------------------------------------------

    @property
    def _outputs(self) -> int:
        """How many scores a row has."""
        raise NotImplementedError

    def _read_target(self, y: Any) -> NDArray[Any]:
        """Return the target of each row as numbers."""
        raise NotImplementedError

    def _scale_target(self, target: NDArray[Any], weights: Floats) -> NDArray[Any]:
        """Return the target that terms are fitted to; set `scale_` and `center_`, which take their sums to scores."""
        raise NotImplementedError

    def _curve(self) -> Curve:
        """Return the loss."""
        raise NotImplementedError

    def _row_weights(self, target: NDArray[Any], weights: Floats) -> Floats:
        return weights

    def _calibrate(self, X: Any, target: NDArray[Any], counts: Floats) -> float:  # noqa: N803
        """Calibrate the scores where that is asked for; return what they are multiplied by."""
        return 1.0

    # --- fitting ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803
        """Fit the model to a table and a target.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Numbers, categories, text and truth values; missing cells are allowed.
        y : array of shape (rows,)
            The target.
        sample_weight : array of shape (rows,), optional
            Weight of each row, beside the others: twice as much for all changes nothing.
        """
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        self.__dict__.pop("explanation_width_", None)  # the last to be set: until then, nothing is fitted
        self._check_parameters()
        columns = self._read_table(X, is_new=True)
        target = self._read_target(y)
        if len(target) != len(columns[0]):
            raise DataError(f"X has {len(columns[0])} rows and y has {len(target)}: inconsistent numbers of samples")
        try:
            weights = _check_sample_weight(sample_weight, target, dtype=np.float64, ensure_non_negative=True)
        except (OverflowError, TypeError, ValueError) as error:
            raise DataError(f"sample_weight: {error}") from None
        counts = weights / (weights.max() or 1.0)
        weights = self._row_weights(target, counts)
        if not weights.sum() > 0:
            raise DataError("no row has a weight above zero; at least one must count")
        target = self._scale_target(target, weights)
        self.table_columns_ = learn_columns(
            self._names, columns, weights, self.special_codes, read_orders(self._names, X)
        )
        self._use(np.ones(len(columns), dtype=bool))
        self._directions()  # what cannot be is refused now, not after the training
        self._wanted_pairs()
        numbers, slots = self._encode(columns)
        weights = weights / weights.mean()
        if (budget := self.feature_budget) is not None and budget < len(columns):
            self._use(self._few_columns(int(budget), numbers, slots, target, weights))
            numbers, slots = self._encode(columns)
        width = self._train(numbers, slots, target, weights)
        self.explanation_width_ = width * self._calibrate(X, target, counts)
        return self

    def by_weight(self, X: Any, y: Any) -> Callable[[float], Self]:  # noqa: N803
        """Return a function that fits copies of the model to a table with any explanation weight."""
        return lambda weight: clone(self).set_params(explanation_weight=weight).fit(X, y)

    def _use(self, is_used: NDArray[np.bool_]) -> None:
        """Let the model be of some columns of the table; the others keep a shape of 0."""
        self.is_used_, self.columns_ = is_used, tuple(compress(self.table_columns_, is_used))
        self.features_ = tuple(column.name for column in self.columns_)

    def _few_columns(
        self, budget: int, numbers: Floats, slots: Places, target: NDArray[Any], weights: Floats
    ) -> NDArray[np.bool_]:
        """Return which columns are used, where only so many may be."""
        wanted = self._wanted_pairs()
        named = sorted({k for pair in wanted for k in pair}) if isinstance(wanted, list) else []
        if len(named) > budget:
            raise DataError(
                f"pairs names {len(named)} columns and feature_budget allows {budget}; raise the budget or name fewer"
            )
        targets = target.astype(np.float64)
        scores = constant_scores(self._curve(), targets, weights, self._outputs)
        data, counts = Data(numbers, slots, targets, weights, scores), [column.slots for column in self.columns_]
        chosen = choose_columns(data, self._curve(), counts, budget, named)
        return np.isin(np.arange(len(counts)), chosen)

    def _wanted_pairs(self) -> int | list[tuple[int, int]] | None:
        """Return how many pairs are wanted, or which of the columns used by their places; None to choose how many."""
        return read_pairs(self.pairs, self.columns_, self.monotone or {})

    def _directions(self) -> dict[int, int]:
        """Return those of the columns used that shall be monotone by their places, with 1 or -1 for each."""
        places, classes = np.cumsum(self.is_used_) - 1, len(getattr(self, "classes_", ()))
        directions = read_directions(self.monotone, self.table_columns_, classes)
        return {int(places[k]): way for k, way in directions.items() if self.is_used_[k]}

    def _wishes(self) -> Wishes:
        """Return what lines and surfaces are asked for beside a small loss."""
        blocks = {
            k: np.arange(len(column.categories))
            for k, column in enumerate(self.columns_)
            if isinstance(column, Categorical) and column.categories
        }
        radius = self.explanation_radius or 0.0
        radii = [reach_of(column, radius) for column in self.columns_]
        ranks = {k: by for k in blocks if (by := ranks_of(self.columns_[k], radius)) is not None}
        return Wishes(self._directions(), radii, min(self.explanation_weight, _HEAVIEST), blocks, ranks)

    def _pairable(self) -> list[int]:
        """Return the columns that may be in a pair."""
        held = self._directions()
        return [k for k, column in enumerate(self.columns_) if k not in held and not is_flat(column)]

    def _pair_names(self, terms: Terms) -> tuple[tuple[str, str], ...]:
        """Return the columns that have a surface together."""
        return tuple((self.features_[i], self.features_[j]) for i, j in (grid.columns for grid in terms.grids))

    # --- reading ------------------------------------------------------------------------------------------------------

    def _read_table(self, X: Any, *, is_new: bool) -> list[Cells]:  # noqa: N803
        """Return the columns of a table, after scikit-learn's checks of its form."""
        try:
            if not (hasattr(X, "iloc") and hasattr(X, "columns")):  # no pandas DataFrame
                X = check_array(as_table(X), dtype=None, ensure_all_finite=False, estimator=self)  # noqa: N806
            elif not X.columns.is_unique:
                name = X.columns[X.columns.duplicated()][0]
                raise DataError(f"the table has two columns named {name!r}; rename one of them")
            validate_data(self, X, skip_check_array=True, reset=is_new)
        except SufficeError:
            raise
        except ValueError as error:  # in scikit-learn's own words, which its tools look for
            raise DataError(str(error)) from None
        except TypeError as error:
            raise CellTypeError(str(error)) from None
        columns = read_table(X)
        if not columns or not len(columns[0]):
            raise DataError(
                f"the table has shape {X.shape}; it needs at least one row and one column (minimum of 1 is required)"
            )
        return columns

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(str(name) for name in _check_feature_names_in(self))

    def _encode(self, columns: list[Cells]) -> tuple[Floats, Places]:
        """Return standardised numbers and places of slots (rows, columns used), from the columns of a table."""
        numbers, slots, offset = [], [], 0
        for column, cells, is_used in zip(self.table_columns_, columns, self.is_used_, strict=True):
            values, places = column.encode(cells)  # of columns that are not used, too: what is new is refused anywhere
            if not is_used:
                continue
            numbers.append(values)
            slots.append(np.where(places < 0, -1, places + offset))
            offset += column.slots
        return np.stack(numbers, 1), np.stack(slots, 1)

    def _read_cells(self, cells: Sequence[Any]) -> list[Cells]:
        """Return one row, given cell by cell as the exact model reads it, as a table of one row."""
        row = []
        for column, cell in zip(self.table_columns_, cells, strict=True):
            value = (
                nearest_float(rational(cell)) if isinstance(cell, Fraction) else cell if isinstance(cell, str) else None
            )
            row.append(np.array([value], dtype=object if isinstance(column, Categorical) else np.float64))
        return row

    # --- using --------------------------------------------------------------------------------------------------------

    def to_additive(self, domains: Mapping[str, Domain] | Literal["model"] | None = None) -> AdditiveModel:
        """Return the exact additive model that the fitted estimator is.

        Parameters
        ----------
        domains : mapping of column name to Domain, or "model", optional
            Values a column can take, where what the training rows showed says too little or too much. Of columns not
            named it is learned: whole numbers where all are whole, and the range observed with some slack
            (`docs/domains.md`). "model" learns nothing: a number can be any number.
        """
        check_is_fitted(self)
        return assemble(self, self._parts(), domains)

    def _score(self, columns: list[Cells]) -> Floats:
        """Return scores (rows, outputs) in float64 arithmetic."""
        return self._sums(*self._encode(columns)) * self.scale_ + self.center_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "explanation_width_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.non_deterministic = False
        return tags

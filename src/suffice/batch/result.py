"""Answers for many rows, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suffice.answers.explanation import Explanation
from suffice.batch.lookup import Floats
from suffice.errors import ClaimError, DataError, PreferenceError, RowError
from suffice.model.compiled import Compiled
from suffice.question.question import Question
from suffice.search.explain import explain

if TYPE_CHECKING:
    from suffice.batch.answering import Answers
    from suffice.batch.cells import Source
    from suffice.batch.open_rows import Told

Whole = NDArray[np.int32]
Mask = NDArray[np.bool_]

STATUSES = ("proven", "bounded", "failed")
ENCODED = ("status", "path", "features")  # columns of words, which repeat
BOUNDED, FAILED = STATUSES.index("bounded"), STATUSES.index("failed")


@dataclass(frozen=True, eq=False, repr=False)
class BatchResult:
    """What `Explainer.explain_batch` found: arrays with one entry for each row, and summaries of them.

    `result[k]` is the full `Explanation` of a row, found again in exact arithmetic.

    Examples
    --------
    >>> import numpy as np, suffice
    >>> model = suffice.AdditiveModel([suffice.Steps([18], [-1, 2]), suffice.Steps([0.5], [0, 0.5])])
    >>> result = suffice.Explainer(model).explain_batch(np.array([[30.0, 0.5], [17.5, 0.0]]), radius=1, unit="raw")
    >>> result
    <BatchResult: 2 rows, 0 failed, 0 by exact arithmetic>
    >>> result.predictions.tolist(), result.sizes.tolist(), result.features_of(1)
    ([1, 0], [0, 1], ('x0',))
    >>> result.times_fixed, result.size_counts, result.exact_rows.tolist()
    ({'x0': 1, 'x1': 0}, {0: 1, 1: 1}, [])
    """

    compiled: Compiled
    question: Question
    source: Source
    answers: Answers
    status_codes: NDArray[np.int8]  # index into `STATUSES`
    was_exact: Mask  # whether the row was left to exact arithmetic because error bounds could not settle it
    lower_bounds_: dict[int, int] = field(default_factory=dict)  # where they are not the size itself
    messages_: dict[int, str | None] = field(default_factory=dict)  # why a row failed; None where it is yet to be told

    @cached_property
    def messages(self) -> dict[int, str]:
        """Why rows failed; where error bounds had settled that they do, the reason is worked out when it is read."""
        told = {row: self._reason(row) if text is None else text for row, text in self.messages_.items()}
        return dict(sorted(told.items()))

    def _reason(self, row: int) -> str:
        try:
            explain(self.compiled, self.question, self.source.row(row))
        except (PreferenceError, ClaimError) as error:
            return str(error)
        raise DataError(f"row {row} could not be explained, and now it can: the table was changed in the meantime")

    def set(self, row: int, told: Told) -> None:
        """Enter the answer to a row, except for what is fixed."""
        found = self.answers
        found.sizes[row] = len(told.fixed)
        found.margins[row], found.margin_errors[row] = told.margin, told.margin_error
        self.status_codes[row] = STATUSES.index(told.status)
        if told.bound != len(told.fixed) and self._counts:
            self.lower_bounds_[row] = told.bound
        if self.compiled.model.task == "regression":
            found.scores[row], found.score_errors[row] = told.prediction, told.prediction_error
        else:
            found.classes[row] = self.compiled.model.classes.index(told.prediction)

    @property
    def _counts(self) -> bool:
        """Whether the least number of features is sought, not the least cost."""
        choices = self.question.choices
        return choices.is_counting and not choices.has_groups

    def fail(self, row: int, message: str | None = None) -> None:
        """Enter that a row cannot be answered, and why, if that is known."""
        self.messages_[row], self.status_codes[row] = message, FAILED
        self.answers.classes[row] = self.answers.sizes[row] = -1
        for column in (
            self.answers.scores,
            self.answers.score_errors,
            self.answers.margins,
            self.answers.margin_errors,
        ):
            column[row] = np.nan

    # --- columns ------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.status_codes)

    @cached_property
    def predictions(self) -> NDArray[Any]:
        """The class predicted, None where the row failed; of a regression the score as a float, NaN where it failed."""
        classes = self.compiled.model.classes
        if not classes:
            return self.answers.scores
        names = np.empty(len(classes) + 1, dtype=object)
        names[:-1] = classes
        return names[self.answers.classes]

    @property
    def prediction_errors(self) -> Floats:
        """A proven bound on the error of each prediction of a regression; 0 for classes, which are exact."""
        is_regression = not self.compiled.model.classes
        return self.answers.score_errors if is_regression else np.zeros(len(self))

    @property
    def sizes(self) -> Whole:
        """How many features each row fixes; -1 where the row failed."""
        return self.answers.sizes

    @cached_property
    def lower_bounds(self) -> Whole:
        """No allowed set of a row has fewer features: the size itself where that is proven smallest.

        0 where features differ in cost or are grouped: then the least cost is sought, not the least number.
        """
        bounds = self.sizes.copy() if self._counts else np.minimum(self.sizes, 0)
        for row, bound in self.lower_bounds_.items():
            bounds[row] = bound
        return bounds

    @property
    def margins(self) -> Floats:
        """By how much the claim holds at each row, for its tightest part."""
        return self.answers.margins

    @property
    def margin_errors(self) -> Floats:
        """A proven bound on the error of each margin, which is exact in an `Explanation` and a float here."""
        return self.answers.margin_errors

    @property
    def statuses(self) -> NDArray[np.str_]:
        """What is known of each row: proven, bounded or failed."""
        return np.array(STATUSES)[self.status_codes]

    # --- what is fixed ------------------------------------------------------------------------------------------------

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where the fixed features of each row begin in `fixed`; one entry more than rows."""
        return np.concatenate([[0], np.cumsum(np.maximum(self.sizes, 0), dtype=np.int64)])

    @property
    def fixed(self) -> Whole:
        """The fixed features of all rows end to end, each row's with the largest drop first."""
        return self.answers.fixed

    def fixed_of(self, row: int) -> tuple[int, ...]:
        """Return the fixed features of a row, largest drop first."""
        k = range(len(self))[row]
        return tuple(self.fixed[self.offsets[k] : self.offsets[k + 1]].tolist())

    def features_of(self, row: int) -> tuple[str, ...]:
        """Return the names of the fixed features of a row, largest drop first."""
        names = self.compiled.model.names
        return tuple(names[i] for i in self.fixed_of(row))

    @cached_property
    def fixed_mask(self) -> Mask:
        """Whether each feature (second index) is fixed in each row."""
        mask = np.zeros((len(self), len(self.compiled.model.features)), dtype=bool)
        mask[self._row_of_fixed, self.fixed] = True
        return mask

    @cached_property
    def order(self) -> Whole:
        """The fixed features of each row, largest drop first, filled up with -1."""
        order = np.full((len(self), len(self.compiled.model.features)), -1, np.int32)
        order[self._row_of_fixed, np.arange(len(self.fixed)) - self.offsets[self._row_of_fixed]] = self.fixed
        return order

    @property
    def _row_of_fixed(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self)), np.maximum(self.sizes, 0))

    def __getitem__(self, row: int) -> Explanation:
        """Return the full explanation of a row; `RowError` if the row failed."""
        k = range(len(self))[row]
        if self.status_codes[k] == FAILED:
            raise RowError(f"row {k}: {self.messages[k]}")
        return explain(self.compiled, self.question, self.source.row(k))

    def __iter__(self) -> Iterator[Explanation]:
        return (self[k] for k in range(len(self)))

    # --- summaries ----------------------------------------------------------------------------------------------------

    @property
    def size_counts(self) -> dict[int, int]:
        """How many rows have an explanation of each size."""
        sizes, counts = np.unique(self.sizes[self.status_codes != FAILED], return_counts=True)
        return dict(zip(sizes.tolist(), counts.tolist(), strict=True))

    @property
    def times_fixed(self) -> dict[str, int]:
        """How many rows fix each feature."""
        names = self.compiled.model.names
        return dict(zip(names, np.bincount(self.fixed, minlength=len(names)).tolist(), strict=True))

    @property
    def rows_without_freedom(self) -> NDArray[np.int64]:
        """Rows whose explanation fixes every feature: none can be freed."""
        return np.flatnonzero(self.sizes == len(self.compiled.model.features))

    @property
    def exact_rows(self) -> NDArray[np.int64]:
        """Rows that needed exact arithmetic."""
        return np.flatnonzero(self.was_exact)

    @property
    def failed_rows(self) -> NDArray[np.int64]:
        """Rows that could not be explained; `messages` says why."""
        return np.flatnonzero(self.status_codes == FAILED)

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with the columns of `to_arrow`; whole numbers stay whole where rows failed."""
        import pandas as pd

        whole = {_arrow().int32(): pd.Int32Dtype(), _arrow().int64(): pd.Int64Dtype()}
        return self.to_arrow().to_pandas(types_mapper=whole.get)

    def to_arrow(self, *, encoded: bool = False) -> Any:
        """Return an Arrow table with a column for each of the arrays, and the names of the features fixed as lists.

        Its columns: prediction, prediction_error (of a regression alone), size, lower_bound, margin, margin_error,
        status, path ("bounds" or "exact": what settled the row), features, message (why a row failed). Encoded, words
        that repeat (`ENCODED`) are numbers beside a dictionary, which takes less to keep and to write.
        """
        pa = _arrow()
        failed = self.status_codes == FAILED

        def words(names: Sequence[str], numbers: Any) -> Any:
            each = pa.array(names, pa.string())
            return pa.DictionaryArray.from_arrays(numbers, each) if encoded else each.take(pa.array(numbers))

        messages = np.full(len(self), None, dtype=object)
        for row, message in self.messages.items():
            messages[row] = message
        columns = {
            **self._prediction_columns(pa, failed),
            "size": pa.array(self.sizes, mask=failed),
            "lower_bound": pa.array(self.lower_bounds, mask=failed),
            "margin": pa.array(self.margins, mask=failed),
            "margin_error": pa.array(self.margin_errors, mask=failed),
            "status": words(STATUSES, self.status_codes),
            "path": words(("bounds", "exact"), self.was_exact.astype(np.int8)),
            "features": pa.ListArray.from_arrays(
                pa.array(self.offsets, pa.int32()), words(self.compiled.model.names, self.fixed)
            ),
            "message": pa.array(messages, pa.string()),
        }
        return pa.table(columns)

    def _prediction_columns(self, pa: Any, failed: Mask) -> dict[str, Any]:
        classes = self.compiled.model.classes
        if not classes:
            errors = pa.array(self.prediction_errors, mask=failed)
            return {"prediction": pa.array(self.predictions, mask=failed), "prediction_error": errors}
        is_one_kind = len({type(name) for name in classes}) == 1
        names = pa.array(list(classes) if is_one_kind else [str(name) for name in classes])
        return {"prediction": names.take(pa.array(self.answers.classes, mask=failed))}

    def __repr__(self) -> str:
        failed, exact = len(self.failed_rows), int((self.was_exact & (self.status_codes != FAILED)).sum())
        return f"<BatchResult: {len(self)} rows, {failed} failed, {exact} by exact arithmetic>"


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise DataError(f"Arrow tables need pyarrow ({error}): pip install 'suffice[batch]'") from None
    return pyarrow

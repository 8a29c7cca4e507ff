"""Answers for many rows, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suffice.errors import DataError, RowError

if TYPE_CHECKING:
    from suffice.batch.cells import Source
    from suffice.explain import Explainer, Explanation

Floats = NDArray[np.float64]
Whole = NDArray[np.int32]
Mask = NDArray[np.bool_]

STATUSES = ("proven", "bounded", "failed")
FAILED = STATUSES.index("failed")


@dataclass(frozen=True, eq=False)
class BatchResult:
    """What `Explainer.explain_batch` found, one entry of each array for each row.

    Attributes
    ----------
    predictions, prediction_errors : array, array of float
        The class predicted (None where the row failed); of a regression the score as a float, and a proven bound on
        its error.
    sizes : array of int
        How many features are kept; -1 where the row failed.
    lower_bounds : array of int
        No sufficient set has fewer features; the size itself where it is proven.
    margins, margin_errors : arrays of float
        By how much the claim holds at the row (for its tightest part), and a proven bound on the float's error.
    status_codes : array of int
        Index into `STATUSES`.
    was_exact : array of bool
        Whether the row was settled by exact arithmetic because error bounds left something open.
    messages : mapping of row to str
        Why a row failed.
    """

    explainer: Explainer
    question: Mapping[str, Any]
    source: Source
    predictions: NDArray[Any]
    prediction_errors: Floats
    sizes: Whole
    lower_bounds: Whole
    margins: Floats
    margin_errors: Floats
    status_codes: NDArray[np.int8]
    was_exact: Mask
    kept: Whole = field(repr=False)  # the kept features of all rows, end to end
    messages: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, row: int) -> Explanation:
        """Return the full explanation of a row, found again in exact arithmetic; `RowError` if the row failed."""
        k = range(len(self))[row]
        if k in self.messages:
            raise RowError(f"row {k}: {self.messages[k]}")
        return self.explainer.explain(self.source.row(k), **self.question)

    def __iter__(self) -> Iterator[Explanation]:
        return (self[k] for k in range(len(self)))

    @property
    def statuses(self) -> NDArray[np.str_]:
        """The status of each row as text: proven, bounded or failed."""
        return np.array(STATUSES)[self.status_codes]

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where the kept features of each row begin in `kept`; one entry more than rows."""
        return np.concatenate([[0], np.cumsum(np.maximum(self.sizes, 0), dtype=np.int64)])

    def kept_of(self, row: int) -> tuple[int, ...]:
        """Return the kept features of a row, largest drop first."""
        k = range(len(self))[row]
        return tuple(self.kept[self.offsets[k] : self.offsets[k + 1]].tolist())

    def features_of(self, row: int) -> tuple[str, ...]:
        """Return the names of the kept features of a row, largest drop first."""
        names = self.explainer.model.names
        return tuple(names[i] for i in self.kept_of(row))

    @cached_property
    def kept_mask(self) -> Mask:
        """Whether each feature (second index) is kept in each row."""
        mask = np.zeros((len(self), len(self.explainer.model.features)), dtype=bool)
        mask[self._row_of_kept, self.kept] = True
        return mask

    @cached_property
    def order(self) -> Whole:
        """The kept features of each row, largest drop first, filled up with -1."""
        order = np.full((len(self), len(self.explainer.model.features)), -1, np.int32)
        order[self._row_of_kept, np.arange(len(self.kept)) - self.offsets[self._row_of_kept]] = self.kept
        return order

    @property
    def _row_of_kept(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self)), np.maximum(self.sizes, 0))

    # --- summaries ----------------------------------------------------------------------------------------------------

    @property
    def size_counts(self) -> dict[int, int]:
        """How many rows have an explanation of each size."""
        sizes, counts = np.unique(self.sizes[self.status_codes != FAILED], return_counts=True)
        return dict(zip(sizes.tolist(), counts.tolist(), strict=True))

    @property
    def times_kept(self) -> dict[str, int]:
        """How many rows keep each feature."""
        names = self.explainer.model.names
        return dict(zip(names, np.bincount(self.kept, minlength=len(names)).tolist(), strict=True))

    @property
    def rows_without_freedom(self) -> NDArray[np.int64]:
        """Rows whose explanation keeps every feature: none can be freed."""
        return np.flatnonzero(self.sizes == len(self.explainer.model.features))

    @property
    def exact_rows(self) -> NDArray[np.int64]:
        """Rows that needed exact arithmetic."""
        return np.flatnonzero(self.was_exact)

    @property
    def failed_rows(self) -> NDArray[np.int64]:
        """Rows that could not be explained; `messages` says why."""
        return np.flatnonzero(self.status_codes == FAILED)

    def to_arrow(self) -> Any:
        """Return an Arrow table: prediction, size, lower_bound, margin, margin_error, status, path, kept, message."""
        try:
            import pyarrow as pa
        except ImportError as error:
            raise DataError(f"Arrow tables need pyarrow ({error}): pip install 'suffice[batch]'") from None
        failed = self.status_codes == FAILED
        names = pa.array(self.explainer.model.names, pa.string())
        kept = pa.ListArray.from_arrays(
            pa.array(self.offsets, pa.int32()), names.take(pa.array(self.kept))
        )
        messages = np.full(len(self), None, dtype=object)
        for row, message in self.messages.items():
            messages[row] = message
        return pa.table(
            {
                "prediction": pa.array(self.predictions.tolist(), _type_of(self.explainer.model.classes)),
                "size": pa.array(self.sizes, mask=failed),
                "lower_bound": pa.array(self.lower_bounds, mask=failed),
                "margin": pa.array(self.margins, mask=failed),
                "margin_error": pa.array(self.margin_errors, mask=failed),
                "status": pa.array(STATUSES, pa.string()).take(pa.array(self.status_codes)),
                "path": pa.array(("bounds", "exact"), pa.string()).take(pa.array(self.was_exact.astype(np.int8))),
                "kept": kept,
                "message": pa.array(messages, pa.string()),
            }
        )

    def __repr__(self) -> str:
        failed, exact = len(self.failed_rows), int(self.was_exact.sum())
        return f"<BatchResult: {len(self)} rows, {failed} failed, {exact} by exact arithmetic>"


def _type_of(classes: tuple[Any, ...]) -> Any:
    """Return the Arrow type of predictions: that of the classes, text if they are of several kinds."""
    import pyarrow as pa

    if not classes:
        return pa.float64()
    return pa.infer_type(list(classes)) if len({type(name) for name in classes}) == 1 else pa.string()

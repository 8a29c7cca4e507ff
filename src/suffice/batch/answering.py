"""What every plan for many rows offers, and the columns that it answers with."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.batch import kernel
from suffice.batch.lookup import WIDER, Floats
from suffice.model.additive import AdditiveModel
from suffice.question.claim import NO_CLASS

Mask = NDArray[np.bool_]
Whole = NDArray[np.int32]


NO_BOUNDS: Whole = np.zeros(0, np.int32)


class Answers(NamedTuple):
    """Columns of answers; a size of `kernel.OPEN` or `kernel.REFUSED` says that nothing else of the row counts."""

    classes: Whole  # index of the predicted class; -1 for a regression
    scores: Floats  # of a regression: the prediction; NaN where there is more than one score
    score_errors: Floats
    sizes: Whole
    margins: Floats
    margin_errors: Floats
    fixed: Whole  # the fixed features of all rows that are not open, end to end
    least: Whole = NO_BOUNDS  # no set of fewer features is enough; none where that is the size of every row


class Plan(Protocol):
    """What answers many rows of one question."""

    def answer(self, cells: Floats, vague: Mask) -> Answers:
        """Answer rows of cells, of shape (features, rows); `vague` is of the same shape, or empty."""

    def single(self, cells: Floats) -> Single | None:
        """Answer one row of cells, of shape (features, 1): what it fixes, and its class; None if it is not proven."""


Single = tuple[tuple[int, ...], int]
NO_MARKS: Mask = np.zeros((0, 0), np.bool_)


class ManyRows:
    """A plan that answers a single row as it answers many."""

    def answer(self, cells: Floats, vague: Mask) -> Answers:
        """Answer rows of cells."""
        raise NotImplementedError

    def single(self, cells: Floats) -> Single | None:
        """Answer one row of cells."""
        found = self.answer(cells, NO_MARKS)
        if found.sizes[0] < 0 or (len(found.least) and found.least[0] < found.sizes[0]):
            return None
        return tuple(found.fixed.tolist()), int(found.classes[0])


class LeaveOpen(ManyRows):
    """Leaves every row open."""

    def answer(self, cells: Floats, vague: Mask) -> Answers:
        """Return answers of which each is open."""
        empty = np.full(cells.shape[1], np.nan)
        none = np.full(cells.shape[1], kernel.OPEN, np.int32)
        return Answers(none, empty, empty, none, empty, empty, np.zeros(0, np.int32))


def predicted_classes(model: AdditiveModel, scores: Floats, errors: Floats) -> tuple[NDArray[np.int64], Mask]:
    """Return the class of each row (-1 where there is none, or it is open), and whether errors leave no doubt of it."""
    is_finite = np.isfinite(scores + errors)
    if model.task == "regression":
        return np.full(len(scores), NO_CLASS), is_finite[:, 0]
    if model.task == "binary":
        is_one, is_other = scores[:, 0] > errors[:, 0], scores[:, 0] < -errors[:, 0]
        is_sure = (is_one | is_other) & is_finite[:, 0]
        return np.where(is_sure, is_one, -1), is_sure
    each, winners = np.arange(len(scores)), np.argmax(scores, axis=1)
    ahead = scores[each, winners][:, None] - scores
    is_ahead = ahead > (errors[each, winners][:, None] + errors) * WIDER
    is_ahead[each, winners] = True
    is_sure = (is_ahead & is_finite).all(axis=1)
    return np.where(is_sure, winners, -1), is_sure

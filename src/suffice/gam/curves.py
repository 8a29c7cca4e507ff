"""Losses as functions of the scores, with their first and second derivatives, for Newton's method."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logsumexp

from suffice.gam.hats import Floats


def squared_curve(scores: Floats, targets: Floats) -> tuple[Floats, Floats, Floats]:
    """Return squared errors, as a regression is trained by."""
    error = scores - targets[:, None]
    return error[:, 0] ** 2, 2 * error, np.full_like(scores, 2.0)


def logistic_curve(scores: Floats, targets: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the cross-entropy of two classes; targets are 0 and 1."""
    chance = expit(scores)
    loss = np.logaddexp(0, scores[:, 0]) - targets * scores[:, 0]
    return loss, chance - targets[:, None], chance * (1 - chance)


def softmax_curve(scores: Floats, targets: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the cross-entropy of several classes; targets are their places."""
    total = logsumexp(scores, axis=1, keepdims=True)
    chance, rows, places = np.exp(scores - total), np.arange(len(scores)), targets.astype(np.int64)
    slope = chance.copy()
    slope[rows, places] -= 1
    return total[:, 0] - scores[rows, places], slope, chance * (1 - chance)

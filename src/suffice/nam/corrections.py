"""Corrections of the shapes, once the networks are trained: broken lines, fitted to what the networks left over.

A network is smooth, and weak on columns where a single value says much (a capital gain of 7,688). A line with a knot
at every value that many rows share is not. All lines are fitted together by penalised Newton steps; how strong the
penalty is, for all and for each column, is chosen on the validation rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.gam.hats import Floats, Hats, Places
from suffice.gam.monotone import monotone_line
from suffice.gam.solving import FEW_JUDGES, Curve, Data, Fit, Lines, Pulls, Wishes, best_penalty
from suffice.gam.terms import Terms

_PENALTIES = (3000.0, 300.0, 30.0, 3.0)
_UNTRIED = 300.0  # where no rows are held back to choose by


def correct(
    data: Data, held: Places, curve: Curve, own: Sequence[Floats], hats: Sequence[Hats], wishes: Wishes
) -> Terms | None:
    """Return corrections, or None if the validation rows are not better off with them.

    Parameters
    ----------
    data : Data
        All rows, with the networks' scores; of monotone columns, with what `own` says between its knots.
    held : array of int
        The validation rows. Where they are few, only monotone columns get a line.
    own : sequence of arrays (size, outputs)
        What the networks themselves say at each knot and slot.
    """
    lines = Lines(hats, np.concatenate(own))
    pulls = Pulls(lines, data, wishes)
    everything, start = Fit(lines, data, curve, pulls), np.zeros_like(lines.below)
    if len(held) < FEW_JUDGES:
        if not wishes.monotone:
            return None
        return _finished(lines, everything.solve(_UNTRIED, np.ones(len(hats)), start), data, wishes)
    kept = np.setdiff1d(np.arange(len(data.targets)), held)
    fit, judge = Fit(lines, data.take(kept), curve, pulls), Fit(lines, data.take(held), curve, pulls)
    best = best_penalty(fit, judge, np.ones(len(hats)), start, _PENALTIES)
    for _ in range(2):  # columns that need a correction may have more of it
        sizes = fit.deviations(best.values)
        strength = np.clip(np.mean(sizes**2) / np.maximum(sizes, 1e-9) ** 2, 0.01, 100.0)
        again = best_penalty(fit, judge, strength, best.values, (best.penalty,))
        if again.loss >= best.loss:
            break
        best = again
    if not (wishes.monotone or judge.is_better(best.values, start)):
        return None
    return _finished(lines, everything.solve(best.penalty, best.strength, best.values), data, wishes)


def _finished(lines: Lines, values: Floats, data: Data, wishes: Wishes) -> Terms:
    """Return lines rounded to float32, those of monotone columns without any step in the wrong direction."""
    kept = []
    for k, one in enumerate(lines.hats):
        place = slice(lines.starts[k], lines.starts[k + 1])
        line = values[place] + lines.below[place] if k in wishes.monotone else np.array(values[place])
        if k in wishes.monotone:
            line = monotone_line(line, one, data.numbers[:, k], data.slots[:, k], data.weights, wishes.monotone[k])
        kept.append(line.astype(np.float32).astype(np.float64))
    return Terms(lines.hats, tuple(kept), tuple(k in wishes.monotone for k in range(len(kept))))

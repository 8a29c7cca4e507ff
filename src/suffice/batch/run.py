"""Explaining many rows: the kernel first, exact arithmetic for what it leaves open.

In: an `Explainer`, a table, a question. Out: a `BatchResult`, every row of it as `Explainer.explain` would answer it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from suffice.batch import kernel
from suffice.batch.cells import Source, read_source
from suffice.batch.plan import Answers, LeaveOpen, Plan, end_to_end, make_plan
from suffice.batch.result import BatchResult
from suffice.claims import Claim, inequalities_at
from suffice.errors import ClaimError, DataError, PreferenceError, RowError
from suffice.explain import SAME, Explainer
from suffice.limits import check_limits
from suffice.preferences import Groups, read_choices
from suffice.rational import ZERO, Number
from suffice.regions import Radius, Unit, read_radii
from suffice.rounding import Semantics

_CELLS_AT_ONCE = 1 << 15  # of a chunk: its drops, errors and keys stay in the cache
_LEAST_ROWS = 1024  # of a chunk, so that a feature's table is worth loading


@dataclass(frozen=True, slots=True)
class BatchQuestion:
    """A question compiled for many rows; `answer` may be called any number of times.

    Parameters
    ----------
    explainer : Explainer
        The compiled model.
    options : dict
        What `Explainer.explain` takes beside the row.
    """

    explainer: Explainer
    options: dict[str, Any]
    plan: Plan

    @classmethod
    def of(
        cls,
        explainer: Explainer,
        radius: Radius,
        *,
        unit: Unit = "raw",
        held: Iterable[str] = (),
        claim: Claim = SAME,
        keep: Iterable[str] = (),
        free: Iterable[str] = (),
        cost: Mapping[str, Number] | None = None,
        groups: Groups = (),
        at_most: int | None = None,
        norm: float = math.inf,
        semantics: Semantics = "exact",
        max_nodes: int = 100_000,
        max_seconds: float = 60.0,
    ) -> BatchQuestion:
        """Compile a question; what is wrong with it for every row is said here, before any work."""
        held, keep, free, groups = lasting(held), lasting(keep), lasting(free), _lasting_groups(groups)
        radii = read_radii(explainer.model, radius, unit=unit, held=held)
        _check_claim(explainer, claim)
        wishes: dict[str, Any] = {"keep": keep, "free": free, "cost": cost, "groups": groups}
        choices = read_choices(explainer.model, **wishes)
        limits: dict[str, Any] = {"at_most": at_most, "norm": norm, "semantics": semantics}
        check_limits(**limits, max_nodes=max_nodes, max_seconds=max_seconds)
        asked = {"radius": radius, "unit": unit, "held": held, "claim": claim, **wishes, **limits}
        is_plain = choices.is_plain and limits == {"at_most": None, "norm": math.inf, "semantics": "exact"}
        plan = make_plan(explainer, radii, claim) if is_plain else LeaveOpen()
        return cls(explainer, {**asked, "max_nodes": max_nodes, "max_seconds": max_seconds}, plan)

    def answer(self, table: Any, *, threads: int | None = None) -> BatchResult:
        """Answer every row of a table."""
        source = read_source(self.explainer.model, table)
        size = max(_LEAST_ROWS, _CELLS_AT_ONCE // len(source.columns))
        starts = range(0, source.rows, size)
        work = partial(_answer_chunk, self.plan, source, size)
        if _threads(threads) == 1 or len(starts) < 2:
            chunks = [work(start) for start in starts]
        else:
            with ThreadPoolExecutor(_threads(threads)) as pool:
                chunks = list(pool.map(work, starts))
        return self._complete(source, _join(chunks) if chunks else work(0))

    def _complete(self, source: Source, found: Answers) -> BatchResult:
        """Answer what was left open, the way of one row."""
        was_exact = found.sizes == kernel.OPEN
        open_rows = np.flatnonzero(was_exact)
        result = BatchResult(self.explainer, self.options, source, found, np.zeros(len(was_exact), np.int8), was_exact)
        if not len(open_rows):
            return result
        kept: list[int] = []
        for row in open_rows.tolist():
            try:
                why = self.explainer.explain(source.row(row), **self.options)
            except (RowError, ClaimError, PreferenceError) as error:
                result.fail(row, str(error))
            else:
                result.set(row, why)
                kept += why.kept
        settled = np.flatnonzero(~was_exact)
        groups = [
            (settled, found.sizes[settled], found.kept),
            (open_rows, found.sizes[open_rows], np.array(kept, np.int32)),
        ]
        return replace(result, answers=found._replace(kept=end_to_end(found.sizes, groups)))


def _answer_chunk(plan: Plan, source: Source, size: int, start: int) -> Answers:
    return plan.answer(*source.cells(start, min(start + size, source.rows)))


def _join(chunks: Sequence[Answers]) -> Answers:
    return Answers(*(np.concatenate(columns) for columns in zip(*chunks, strict=True)))


def _threads(wanted: int | None) -> int:
    if wanted is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if type(wanted) is not int or wanted < 1:
        raise DataError(f"threads must be a whole number from 1 up, got {wanted!r}")
    return wanted


def lasting(names: Any) -> Any:
    """Return names that can be read more than once; text is left as it is, to be refused as no list of names."""
    return tuple(names) if isinstance(names, Iterable) and not isinstance(names, (str, bytes)) else names


def _lasting_groups(groups: Any) -> Any:
    if isinstance(groups, Mapping):
        return {name: lasting(features) for name, features in groups.items()}
    given = lasting(groups)
    return tuple(map(lasting, given)) if isinstance(given, tuple) else given


def _check_claim(explainer: Explainer, claim: Claim) -> None:
    """Raise what a claim has against the model itself, rather than against one row."""
    model = explainer.model
    if not isinstance(claim, Claim):
        inequalities_at(claim, model, (ZERO,))
    for winner in range(max(1, len(model.classes))):
        # Scores that make each class the winner once: a claim that fits the model fits at least one of them.
        signs = [ZERO + (1 if j == winner else 0) for j in range(len(model.intercept))]
        scores = signs if model.task == "multiclass" else [ZERO + (1 if winner else -1)]
        try:
            claim.inequalities(model, scores)
            return
        except ClaimError as error:
            refused = error
    raise refused

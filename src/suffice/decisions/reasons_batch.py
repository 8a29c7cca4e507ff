"""The reasons of all rows of a table with one decision.

In: the rows, a reference. Out: a `ReasonsTable`: for each row the features that `reasons` finds for it. Without groups
and pair terms the fewest factors are those that fall furthest, so that floats with error bounds settle a row wherever
they tell each factor needed from the next, and the sum from the margin; the others are answered exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.answers.answer import Status
from suffice.answers.words import counted
from suffice.batch import kernel
from suffice.batch.chords import Chord
from suffice.batch.lookup import WIDER, flatten
from suffice.batch.tabulate import FeatureChords, tabulate
from suffice.decisions.reasons import reasons
from suffice.decisions.reference import Reference
from suffice.decisions.rows import Portfolio
from suffice.decisions.shares import Share
from suffice.decisions.words import failed_facts
from suffice.errors import BudgetError
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.layout.told import Told
from suffice.model.additive import AdditiveModel
from suffice.model.compiled import Compiled
from suffice.numbers.exact import ZERO, nearest_float
from suffice.question.claims import Same
from suffice.question.documents import Json, class_document
from suffice.question.preferences import Choices
from suffice.question.question import Question
from suffice.question.row import Row as Values

_EPS = float(np.finfo(np.float64).eps)
_OPEN = -1


@dataclass(frozen=True)
class ReasonsTable(Told):
    """The principal reasons of all rows with one decision.

    Parameters
    ----------
    model : AdditiveModel
    outcome : a class of the model
        The decision.
    reference : Reference
        What the rows are compared with.
    rows : array of int
        The rows with the decision, by their place in the table.
    fixed : tuple of tuples of int
        For each of them the features that would have changed it, the strongest first; none if it would have stayed.
    exact : int
        How many rows were answered by exact arithmetic.
    choices : Choices
        Which features count as one factor.
    unsettled : frozenset of int
        Rows, by their place in the table, for which fewer factors, or some, may do: their time was up,
        or smooth shapes leave a tie open.
    failed : mapping of int to str
        Rows of the table that the model cannot read, and why.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> shapes = [Steps([18], [-1, 2]), Steps([3], [1, -4])]
    >>> model = AdditiveModel(shapes, 0, features=["age", "late"], classes=["no", "yes"])
    >>> table = np.array([[17, 5], [30, 4], [30, 0]])
    >>> found = Explainer(model).reasons_batch(table, "no", {"age": 30, "late": 0})
    >>> found.rows.tolist(), found.features_of(0), found.sizes.tolist()
    ([0, 1], ('late',), [1, 1])
    """

    model: AdditiveModel
    outcome: Any
    reference: Reference
    rows: NDArray[np.int64]
    fixed: tuple[tuple[int, ...], ...]
    exact: int
    choices: Choices
    unsettled: frozenset[int]
    failed: Mapping[int, str]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many factors are enough for each row; 0 where being as in the reference would not have changed it."""
        item = {i: k for k, features in enumerate(self.choices.items) for i in features}
        return np.array([len({item[i] for i in one}) for one in self.fixed], dtype=np.int64)

    def features_of(self, k: int) -> tuple[str, ...]:
        """Return the names of the reasons of a row, by its place among `rows`."""
        return tuple(self.model.names[i] for i in self.fixed[k])

    def facts(self) -> Facts:
        """Return how many factors are enough for how many rows, and which are named most."""
        settled = [size for k, size in zip(self.rows, self.sizes.tolist(), strict=True) if k not in self.unsettled]
        count, sizes = len(settled), Counter(settled)
        told = (
            f"the fewest factors that would have changed the decision of {counted(count, 'row')} decided {self.outcome}"
        )
        rows = [Row((_factors(size), str(Share(number, count)))) for size, number in sorted(sizes.items()) if size]
        never = [Row(("none would have", str(Share(sizes[0], count))))] if sizes[0] else []
        named = Counter(self.model.names[i] for one in self.fixed for i in one)
        most = ", ".join(f"{name} {number:,}" for name, number in named.most_common(8))
        facts: list[Fact | Grid] = [
            Fact("Compared with", self.reference.words),
            Fact("Proven", f"{told}."),
        ]
        facts += [Grid(("factors", "rows"), (*rows, *never))] if count else []
        facts += [Fact("Named most", f"{most}.")] if most else []
        if self.unsettled:
            told = f"{counted(len(self.unsettled), 'row')}, left out of the shares; fewer factors may do"
            facts.append(Fact("Not settled", f"{told}."))
        return (*facts, *failed_facts(self.failed))

    def document(self) -> Json:
        """Return the reasons of every row as JSON."""
        each = zip(self.rows.tolist(), range(len(self.rows)), strict=True)
        return {
            "decision": class_document(self.outcome),
            "reference": self.reference.words,
            "exact": self.exact,
            "unsettled": sorted(self.unsettled),
            "failed": {str(k): text for k, text in self.failed.items()},
            "reasons": [{"row": row, "reasons": list(self.features_of(k))} for row, k in each],
        }


def reasons_batch(portfolio: Portfolio, question: Question, reference: Reference, winner: int) -> ReasonsTable:
    """Return the reasons of all rows of a class."""
    model = portfolio.compiled.model
    rows = np.flatnonzero(portfolio.predicts(winner) & portfolio.readable())
    sizes, order = _by_floats(portfolio, question, reference, winner, rows)
    fixed, unsettled = [], set[int]()
    for place, k in enumerate(rows.tolist()):
        if sizes[place] == _OPEN:
            changed, is_settled = _alone(portfolio.compiled, question, portfolio.row(k), reference)
            fixed.append(changed)
            unsettled |= set() if is_settled else {k}
        else:
            fixed.append(tuple(order[place, : sizes[place]].tolist()))
    exact = int((sizes == _OPEN).sum())
    given = rows, tuple(fixed), exact, question.choices, frozenset(unsettled), portfolio.failed
    return ReasonsTable(model, model.classes[winner], reference, *given)


def _alone(compiled: Compiled, question: Question, row: Values, reference: Reference) -> tuple[tuple[int, ...], bool]:
    """Return the features that `reasons` finds for a row, and whether no fewer are proven to do."""
    try:
        found = reasons(compiled, question, row, reference, 1)
    except BudgetError:  # a tie that numbers which are only enclosed do not decide
        return (), False
    return found.found.contrast.changed, found.status is Status.PROVEN


def _by_floats(
    portfolio: Portfolio, question: Question, reference: Reference, winner: int, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many factors are enough for each row, `_OPEN` where floats do not tell, and the factors in order."""
    compiled, count = portfolio.compiled, len(portfolio.compiled.model.features)
    sizes, order = np.full(len(rows), _OPEN), np.zeros((len(rows), count), dtype=np.int64)
    is_known = isinstance(question.claim, Same) and compiled.model.task == "binary"
    if not is_known or compiled.is_curved or compiled.model.pairs or question.choices.has_groups or not len(rows):
        return sizes, order
    drops, doubts = _drops(portfolio, question, reference, winner, rows)
    answers = portfolio.decided.answers
    margins, errors = np.abs(answers.scores[rows]), answers.score_errors[rows]
    order = np.argsort(-drops, axis=1, kind="stable")
    falls, off = np.take_along_axis(drops, order, 1), np.take_along_axis(doubts, order, 1)
    sums = np.cumsum(falls, axis=1)
    unsure = (np.cumsum(off, axis=1) + errors[:, None] + 2 * (count + 4) * _EPS * (sums + margins[:, None])) * WIDER
    with np.errstate(invalid="ignore"):
        surely, surely_not = sums - margins[:, None] > unsure, margins[:, None] - sums > unsure
        first = surely.argmax(axis=1)  # the first count that is surely enough; the one before must surely not be
        each = np.arange(len(rows))
        is_enough = surely[each, first] & ((first == 0) | surely_not[each, np.maximum(first - 1, 0)])
        # The factors are those of the search, in its order, only if each is ahead of the next, needed or not.
        is_ahead = falls[:, :-1] - falls[:, 1:] > (doubts.max(axis=1)[:, None] * 2) * WIDER
        is_ordered = (is_ahead | (np.arange(count - 1) > first[:, None])).all(axis=1)
        # What floats do not know of one feature may be more than they know of all others.
        is_known_whole = np.isfinite(drops + doubts).all(axis=1) & ~portfolio.decided.was_exact[rows]
        settled = is_enough & is_ordered & is_known_whole
        never = surely_not[:, -1] & is_known_whole
    sizes[settled], sizes[never] = first[settled] + 1, 0
    return sizes, order


def _drops(
    portfolio: Portfolio, question: Question, reference: Reference, winner: int, rows: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how far each row's margin falls if a feature is as in the reference, 0 where it rises, and the errors."""
    compiled, domains = portfolio.compiled, portfolio.compiled.model.domains
    cells, vague = portfolio.source.cells(0, len(portfolio))
    shape = len(rows), len(domains)
    drops, doubts = np.zeros(shape), np.zeros(shape)
    for i, function in enumerate(compiled.lines((1 if winner else -1,))):
        if i in question.immutable:
            continue
        table = flatten(tabulate([FeatureChords(domains[i], ZERO, [Chord.exact(function)])], terms=1))
        marks = np.ascontiguousarray(vague[i : i + 1, rows]) if len(vague) else vague
        (values,), (errors,) = kernel.add_up(table, 1, np.ascontiguousarray(cells[i : i + 1, rows]), marks)
        there = nearest_float(function(reference.row[i]))
        fall = values - there
        # Cutting off what is below 0 brings two numbers no further apart.
        drops[:, i] = np.where(np.isnan(fall), np.nan, np.maximum(fall, 0.0))
        doubts[:, i] = (errors + 4 * _EPS * (np.abs(values) + abs(there))) * WIDER
    return drops, doubts


def _factors(size: int) -> str:
    return counted(size, "factor")

"""All minimal explanations of a decision."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from suffice.answers.answer import Answer, Status
from suffice.answers.words import allowed, headline, tie
from suffice.certificate.certify import certify_sets
from suffice.certificate.document import Certificate
from suffice.core.case import Case
from suffice.errors import BudgetEnded, BudgetError, CertificateError, OptionError, Undecided
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.numbers.exact import brief
from suffice.question.budget import Budget
from suffice.question.documents import Json
from suffice.question.preferences import cost_of
from suffice.solvers.enumeration import (
    Count,
    Items,
    count_between,
    count_minimal,
    count_smallest,
    minimal_sets,
    most_sets,
    smallest_sets,
)
from suffice.solvers.problem import Problem
from suffice.solvers.proofs import Cover

_SHOWN = 20
_COUNTED = 100_000  # nodes of a count, if nothing else is said
_MOST_CERTIFIED = 10_000  # sets of one certificate


class Explanations:
    """All minimal explanations of a decision, found one at a time as you iterate.

    Iterating yields tuples of feature names, each set once, in a fixed order, and can be repeated.

    Parameters
    ----------
    case : Case
        The question and the row.
    problem : Problem
        Which sets may be freed.
    cover : Cover, optional
        A smallest set: all of its size are meant. Without it, all sets of which no proper subset suffices.
    bound : Cover, optional
        A smallest set of those that are not ruled out; costs less than `cover` only where a tie leaves that open.
    closer : callable, optional
        Returns the same with numbers that are not rational enclosed more closely.
    caveat : str, optional
        What a tie leaves open. Then all sets that are known to be enough are looked at, and no others.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> explainer = Explainer(AdditiveModel([Steps([18], [-1, 2]), Steps([0.5], [0, 1])], features=["age", "risk"]))
    >>> every = explainer.explanations({"age": 20, "risk": 0}, radius=5, unit="raw")
    >>> list(every), every.count()
    ([('age',)], Count(low=1, high=1))
    """

    def __init__(
        self,
        case: Case,
        problem: Problem,
        cover: Cover | None,
        bound: Cover | None = None,
        closer: Callable[[], Explanations] | None = None,
        caveat: str | None = None,
    ) -> None:
        self.case, self.problem, self.cover, self.bound = case, problem, cover, bound
        self._closer, self.caveat = closer, caveat

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        told: set[tuple[str, ...]] = set()
        try:
            for named in self._sets():
                told.add(named)
                yield named
        except Undecided:
            yield from (named for named in self.more_closely() if named not in told)

    def _sets(self) -> Iterator[tuple[str, ...]]:
        names, features = self.case.model.names, self.problem.choices.features
        found = minimal_sets(self.problem) if self.cover is None else smallest_sets(self.problem, self.cover)
        for items in _in_time(found):
            yield tuple(names[i] for i in sorted(features(items)))

    def more_closely(self) -> Explanations:
        """Return the same with numbers that are not rational enclosed more closely, or with what a tie leaves of it.

        Raises
        ------
        BudgetError
            If a number of the claim is enclosed as closely as can be.
        """
        try:
            self.case.settle(False)
        except Undecided:
            assert self._closer is not None
            return self._closer()
        if not self.case.compiled.is_enclosed:
            raise BudgetError("a sum of drops is too close to the threshold; change the threshold slightly")
        return self.bounded()

    def bounded(self) -> Explanations:
        """Return what is proven where a tie leaves open whether some sets are enough: those that are for certain."""
        choices = self.problem.choices
        if self.cover is None or self.bound is None:
            what = "whether other sets are enough, or proper subsets of these,"
        elif self.bound.cost < self.cover.cost:
            least, most = (cost_of(one.cost, choices.unit) for one in (self.bound, self.cover))
            cost = "cost" if self.case.question.given & {"cost", "groups"} else "size"
            what = f"whether a set of a {cost} below {most} is enough, down to {least},"
        else:
            what = "whether more sets of this size are enough"
        caveat = f"{what} is {tie(self.case)}"
        return Explanations(self.case, Problem(self.case.inner, choices), self.cover, self.bound, caveat=caveat)

    @property
    def is_smallest(self) -> bool:
        """Whether no set below the size of those listed is enough; of subsets, whether no proper one is."""
        if self.cover is None or self.bound is None:
            return not self.caveat
        return self.bound.cost == self.cover.cost

    def count(self, *, max_nodes: int = _COUNTED) -> Count:
        """Return proven bounds on how many there are; they are equal unless the budget runs out, or at a tie.

        Parameters
        ----------
        max_nodes : int
            Budget of the count.

        Returns
        -------
        Count

        Raises
        ------
        BudgetError
            If `max_nodes` is not a whole number from 0 up.
        """
        Budget(max_nodes)
        return self._count(max_nodes)[1]

    def _count(self, max_nodes: int) -> tuple[Explanations, Count]:
        """Return bounds, and what they were counted of: the same, with numbers enclosed as closely as that took."""
        try:
            return self, self._counted(max_nodes)
        except Undecided:
            return self.more_closely()._count(max_nodes)

    def _counted(self, max_nodes: int) -> Count:
        if self.cover is None:
            count = count_between if self.caveat else count_minimal
            return count(Problem(self.case.constraints, self.problem.choices), max_nodes=max_nodes)
        if not self.caveat:
            return count_smallest(self.problem, self.cover, max_nodes=max_nodes)
        if self.bound is None or not self.is_smallest:
            return Count(1, most_sets(self.problem))
        # What is enough is so by the outer constraints, and what is by the inner ones is enough; all of one cost.
        possible = Problem(self.case.outer, self.problem.choices)
        known = count_smallest(self.problem, self.cover, max_nodes=max_nodes)
        return Count(known.low, count_smallest(possible, self.bound, max_nodes=max_nodes).high)

    def listing(self, limit: int = _SHOWN) -> Listing:
        """Return the first sets, as an answer that can be shown."""
        if type(limit) is not int or limit < 1:
            raise OptionError(f"limit must be a whole number from 1 up, got {brief(limit)}")
        try:
            sets = tuple(islice(self._sets(), limit + 1))
        except Undecided:
            return self.more_closely().listing(limit)
        return Listing(self, sets[:limit], None, has_more=len(sets) > limit)

    def counted(self, max_nodes: int | None = None) -> Listing:
        """Return how many there are, within the question's own budget of nodes or another, as an answer to show."""
        nodes = self.case.question.budget.max_nodes if max_nodes is None else max_nodes
        max_nodes = _COUNTED if nodes is None else nodes
        Budget(max_nodes)
        every, number = self._count(max_nodes)
        return Listing(every, (), number, has_more=False)

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof of all of them, which are all listed; `listing(limit).certificate()` is that of some."""
        return self.listing(_MOST_CERTIFIED).certificate(model_file)


@dataclass(frozen=True, repr=False)
class Listing(Answer):
    """Some of all minimal explanations, or how many there are."""

    every: Explanations
    sets: tuple[tuple[str, ...], ...]
    number: Count | None
    has_more: bool

    @property
    def case(self) -> Case:  # type: ignore[override]
        """The question and the row."""
        return self.every.case

    @property
    def status(self) -> Status:
        """Whether the sets are proven to be minimal, or their number is known."""
        is_known = self.number.is_exact if self.number is not None else not self.every.caveat
        return Status.PROVEN if is_known else Status.BOUNDED

    @property
    def is_by_size(self) -> bool:
        """Whether all of the smallest size are meant, or all of which no proper subset suffices."""
        return self.every.cover is not None

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof that each set is minimal, and that there are no others if these are all.

        Raises
        ------
        CertificateError
            If the sets are only counted: a certificate names them. If a tie leaves open whether they are minimal, or
            all: `sufficiency` certifies that each is enough.
        """
        if self.number is not None:
            raise CertificateError("a number of sets has no certificate; list the sets, and their list is certified")
        if self.every.caveat:
            raise CertificateError(
                f"that these sets are all has no certificate, for {self.every.caveat}; `sufficiency` certifies each"
            )
        index = self.model.index
        sets = [[index(name) for name in names] for names in self.sets]
        every = self.every
        return certify_sets(self.case, every.problem, every.cover, sets, not self.has_more, model_file)

    def facts(self) -> Facts:
        """Return the sets, or their number."""
        facts = headline(self.case)
        if self.number is not None:
            low, high = self.number
            kind = f"{'smallest' if self.is_by_size else 'subset-minimal'} set"
            among = allowed(self.case.question)
            told = f"there is 1 {kind}{among}" if low == high == 1 else f"there are {low} {kind}s{among}"
            if low < high:
                why = self.every.caveat or "the count ran out of its budget"
                told = f"there are {low} to {high} {kind}s{among} ({why})"
            return (*facts, Fact("Proven", f"{told}."))
        rows = [Row((", ".join(names) or "(no feature)",)) for names in self.sets]
        more = [Row(("... and more",))] if self.has_more else []
        what = "and none smaller" if self.is_by_size else "and no proper subset"
        least = f", {what}{allowed(self.case.question)} is" if self.every.is_smallest else ""
        proven = Fact("Proven", f"each of these sets is enough{least}.")
        note = [Fact("Note", f"{self.every.caveat}.")] if self.every.caveat else []
        return (*facts, proven, Grid(("features",), (*rows, *more)), *note)

    def _document(self) -> Json:
        if self.number is not None:
            told: Json = {"low": self.number.low, "high": self.number.high}
        else:
            told = {"sets": [list(names) for names in self.sets], "has_more": self.has_more}
        return told | {"status": self.status.value, "caveat": self.every.caveat}


def _in_time(sets: Iterator[Items]) -> Iterator[Items]:
    """Pass sets on until the budget ends, which is an error."""
    try:
        yield from sets
    except BudgetEnded:
        raise BudgetError(
            "what some features can do together was not found within the budget; raise max_seconds"
        ) from None

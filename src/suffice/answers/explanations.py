"""All minimal explanations of a decision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from suffice.answers.answer import Answer
from suffice.answers.words import headline
from suffice.core.case import Case
from suffice.errors import OptionError
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.numbers.exact import brief
from suffice.question.budget import Budget
from suffice.question.documents import Json
from suffice.solvers.enumeration import Count

_SHOWN = 20


class Explanations:
    """All minimal explanations of a decision, found one at a time as you iterate.

    Iterating yields tuples of feature names, each set once, in a fixed order, and can be repeated.

    Parameters
    ----------
    case : Case
        The question and the row.
    sets : callable
        Begins a new walk through the sets.
    number : callable
        Counts them within a number of nodes.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> explainer = Explainer(AdditiveModel([Steps([18], [-1, 2]), Steps([0.5], [0, 1])], features=["age", "risk"]))
    >>> every = explainer.explanations({"age": 20, "risk": 0}, radius=5, unit="raw")
    >>> list(every), every.count()
    ([('age',)], Count(low=1, high=1))
    """

    def __init__(
        self, case: Case, sets: Callable[[], Iterator[tuple[str, ...]]], number: Callable[[int], Count]
    ) -> None:
        self.case = case
        self._sets, self._number = sets, number

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return self._sets()

    def count(self, *, max_nodes: int = 100_000) -> Count:
        """Return proven bounds on how many there are; they are equal unless the budget runs out.

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
        return self._number(max_nodes)

    def listing(self, limit: int = _SHOWN) -> Listing:
        """Return the first sets, as an answer that can be shown."""
        if type(limit) is not int or limit < 1:
            raise OptionError(f"limit must be a whole number from 1 up, got {brief(limit)}")
        sets = tuple(islice(self, limit + 1))
        return Listing(self.case, sets[:limit], None, has_more=len(sets) > limit)

    def counted(self, max_nodes: int = 100_000) -> Listing:
        """Return how many there are, as an answer that can be shown."""
        return Listing(self.case, (), self.count(max_nodes=max_nodes), has_more=False)


@dataclass(frozen=True)
class Listing(Answer):
    """Some of all minimal explanations, or how many there are."""

    case: Case
    sets: tuple[tuple[str, ...], ...]
    number: Count | None
    has_more: bool

    def facts(self) -> Facts:
        """Return the sets, or their number."""
        facts = headline(self.case)
        if self.number is not None:
            low, high = self.number
            told = "there is 1 minimal set" if low == high == 1 else f"there are {low} minimal sets"
            if low < high:
                told = f"there are {low} to {high} minimal sets (the count ran out of its budget)"
            return (*facts, Fact("Proven", f"{told}."))
        rows = [Row((", ".join(names) or "(no feature)",)) for names in self.sets]
        more = [Row(("... and more",))] if self.has_more else []
        among = "" if self.case.question.choices.is_plain else " that the preferences allow"
        return (*facts, Fact("Proven", f"each of these sets is enough, and no proper subset{among} is."),
                Grid(("features",), (*rows, *more)))  # fmt: skip

    def _document(self) -> Json:
        if self.number is not None:
            return {"low": self.number.low, "high": self.number.high}
        return {"sets": [list(names) for names in self.sets], "has_more": self.has_more}

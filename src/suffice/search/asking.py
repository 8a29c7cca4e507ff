"""A search: a function from the case of a row to an answer, and the options of a question that it honours.

Every question the library answers is one `Search` in a file of its own. An option that a search does not honour is
refused here, in one place, with the reason that the search gives.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from suffice.core.case import Case, decide
from suffice.errors import BudgetEnded, BudgetError, OptionError, PieceBudgetError
from suffice.model.compiled import Compiled
from suffice.question.question import BUDGETS, OPTIONS, Question

P = ParamSpec("P")
A = TypeVar("A")

ALWAYS = frozenset({"unit", "categories", "claim", "immutable"})
PREFERENCES = frozenset({"fix", "free", "cost", "groups"})
BUDGET = frozenset(BUDGETS)

# Reasons that several searches share.
BOX_ONLY = "balls are answered by the box around them, which can only prove that a set suffices"
SET_IS_GIVEN = "you name the set, so there is nothing to choose"
NO_NODES = "one set is asked about, so that there are no nodes to count"
ROUNDED_MINIMA = "rounding error is only bounded, so what is minimal for the deployed model is not known"


def refuse(options: Collection[str], reason: str) -> dict[str, str]:
    """Return one reason for several options."""
    return dict.fromkeys(options, reason)


class Search(Generic[P, A]):
    """A question that can be asked.

    Parameters
    ----------
    name : str
        What it is called, in Python, on the command line and over HTTP.
    run : callable
        The search itself: from a case, and arguments of its own, to an answer.
    honours : frozenset of str
        The options of `Options` that it honours.
    refuses : mapping of str to str
        For every other option the reason why it means nothing here.
    takes_radius : bool
        Whether the radius is part of what is asked; if not, it is what is looked for.
    takes_set : bool
        Whether the first argument of its own names the features that are fixed, which then stay as they are in the row.
    """

    def __init__(
        self,
        name: str,
        run: Callable[Concatenate[Case, P], A],
        honours: frozenset[str],
        refuses: Mapping[str, str],
        *,
        takes_radius: bool = True,
        takes_set: bool = False,
    ) -> None:
        assert honours.isdisjoint(refuses), f"{name} honours and refuses an option"
        assert honours.union(refuses) == set(OPTIONS), f"{name} says nothing of an option"
        self.name, self.run, self.honours, self.refuses = name, run, honours, refuses
        self.takes_radius, self.takes_set = takes_radius, takes_set
        self.__doc__ = run.__doc__

    def __call__(self, compiled: Compiled, question: Question, x: Any, *args: P.args, **kwargs: P.kwargs) -> A:
        """Answer a question about a row."""
        self.check(question)
        try:
            return self._asked(compiled, question, x, *args, **kwargs)
        except PieceBudgetError:  # even over the region a network has too many pieces
            if compiled.bounded is None:
                raise
            return self._asked(compiled.bounded, question, x, *args, **kwargs)

    def _asked(self, compiled: Compiled, question: Question, x: Any, *args: P.args, **kwargs: P.kwargs) -> A:
        if question.arithmetic != "exact":
            compiled.refuse_smooth(f"arithmetic={question.arithmetic!r}")
        asked = question if self.takes_radius else question.with_unit_radius(compiled.model)
        fixed: Any = args[0] if self.takes_set else ()
        return self.of(Case.of(compiled, asked, x, fixed=fixed), *args, **kwargs)

    def of(self, case: Case, *args: P.args, **kwargs: P.kwargs) -> A:
        """Answer a question about a case that is already made."""
        try:
            return decide(case, lambda one: self.run(one, *args, **kwargs))
        except BudgetEnded:
            raise BudgetError(
                "what some features can do together was not found within the budget; raise max_seconds"
            ) from None

    def check(self, question: Question) -> None:
        """Raise `OptionError` if an option is given that the search does not honour."""
        for name in sorted(question.given - self.honours):
            raise OptionError(f"{self.name!r} does not take the option {name!r}: {self.refuses[name]}")


def search(
    name: str,
    *,
    honours: Collection[str],
    refuses: Mapping[str, str] | None = None,
    takes_radius: bool = True,
    takes_set: bool = False,
) -> Callable[[Callable[Concatenate[Case, P], A]], Search[P, A]]:
    """Make a search of a function that takes a case, and perhaps arguments of its own."""

    def made(run: Callable[Concatenate[Case, P], A]) -> Search[P, A]:
        options = frozenset(honours), refuses or {}
        return Search(name, run, *options, takes_radius=takes_radius, takes_set=takes_set)

    return made

"""What could be done about a decision: the cheapest changes that the actions allow, or that there are none.

In: a planner, and a row or the rows of a table. Out: a `Recourse`, or a `RecourseTable`.
"""

from __future__ import annotations

import os
import statistics
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from suffice.answers.answer import Status
from suffice.answers.documents import number_document, value_document
from suffice.answers.words import approximately, counted
from suffice.certificate.document import Certificate
from suffice.core.case import Case
from suffice.decisions.actions import Relation
from suffice.decisions.planner import Plan, Planner, Plans, changed
from suffice.decisions.rows import Portfolio
from suffice.decisions.shares import Share
from suffice.decisions.words import decision_at, failed_facts
from suffice.errors import BudgetError, CertificateError
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.layout.told import Told
from suffice.model.domain import in_full
from suffice.numbers.enclosure import Enclosure
from suffice.numbers.exact import to_fraction
from suffice.numbers.values import Label, to_user
from suffice.question.box import listed
from suffice.question.claim import NO_CLASS
from suffice.question.claims import SAME, AtLeast, AtMost, Same
from suffice.question.documents import Json
from suffice.question.question import Question
from suffice.question.row import Row as Values
from suffice.search.explain import explain
from suffice.search.sufficiency import sufficiency


@dataclass(frozen=True)
class Recourse(Told):
    """The cheapest changes that lead to a decision, and others; or that there are none.

    Parameters
    ----------
    planner : Planner
        The model, the actions, and what is to be reached.
    row : tuple of values
    plans : Plans
        What was found, from the cheapest on.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> shapes = [Steps([20, 40], [-2, 0, 2]), Steps([3], [1, -1])]
    >>> explainer = Explainer(AdditiveModel(shapes, -1, features=["income", "late"], classes=["no", "yes"]))
    >>> actions = {"income": {"direction": "up", "step": 1, "most": 30, "cost": {"each": 1}},
    ...            "late": {"direction": "down", "step": 1, "low": 0, "cost": {"fixed": 4}}}
    >>> found = explainer.recourse({"income": 30, "late": 5}, actions)
    >>> found.changes, found.cost, found.status
    ({'late': Fraction(2, 1)}, Fraction(4, 1), Status.PROVEN)
    """

    planner: Planner
    row: Values
    plans: Plans

    @property
    def is_possible(self) -> bool:
        """Whether the actions allow what is asked; if not, that is proven."""
        return bool(self.plans.listed)

    @property
    def status(self) -> Status:
        """Whether nothing cheaper is proven to do."""
        return Status.PROVEN if self.plans.is_proven else Status.BOUNDED

    @property
    def cost(self) -> Fraction | None:
        """What the cheapest changes cost; None if there are none."""
        return to_fraction(self.plans.listed[0].cost) if self.is_possible else None

    @property
    def lower_bound(self) -> Fraction | None:
        """What no changes that do so cost less than; None if there are none."""
        return to_fraction(self.plans.listed[0].bound) if self.is_possible else None

    @property
    def changes(self) -> dict[str, Fraction | Label]:
        """What the features become in the cheapest changes, by name; empty if none are needed or there are none."""
        return self._changes(self.plans.listed[0]) if self.is_possible else {}

    @property
    def alternatives(self) -> tuple[dict[str, Fraction | Label], ...]:
        """Other changes, in the order of their cost; none of them changes all the features that one before changes."""
        return tuple(self._changes(plan) for plan in self.plans.listed[1:])

    def _changes(self, plan: Plan) -> dict[str, Fraction | Label]:
        names = self.planner.compiled.model.names
        return {names[change.feature]: to_user(change.value) for change in plan.changes}

    def point(self, number: int = 0) -> Values:
        """Return the row after the cheapest changes, or after those of an alternative, counted from 1."""
        return changed(self.row, self.plans.listed[number].changes)

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof of what the model decides after the cheapest changes; or that no change leads there.

        Raises
        ------
        CertificateError
            If there are no changes, and the aim is a score, or relations rule some out. That nothing cheaper does has
            no certificate: costs there are those of features, whatever they become.
        """
        compiled, model = self.planner.compiled, self.planner.compiled.model
        if self.is_possible:
            (score, *others), claim = compiled.scores(self.point()), self.planner.target.claim
            if others or isinstance(claim, Same):
                claim = SAME
            elif not isinstance(score, Enclosure):  # else what was to be reached is all that can be said
                claim = AtLeast(score) if self.planner.inequality.factors[0] > 0 else AtMost(score)
            return explain(compiled, Question.read(model, 0, unit="raw", claim=claim), self.point()).certificate(
                model_file
            )
        if not isinstance(self.planner.target.claim, Same):
            raise CertificateError("that no change reaches a score has no certificate; ask about a class")
        able = self.planner.actions
        values = [
            (x, *(one.value for one in (able[i].options(x) if i in able else ()))) for i, x in enumerate(self.row)
        ]
        region = tuple(listed(domain, some) for domain, some in zip(model.domains, values, strict=True))
        case = Case.of(compiled, Question.read(model, "inf", unit="raw"), self.row, region=region)
        found = sufficiency.of(case, ())
        if not found:
            raise CertificateError(
                "it is a relation between columns that rules changes out, of which certificates do not speak"
            )
        return found.certificate(model_file)

    # --- in words -----------------------------------------------------------------------------------------------------

    @cached_property
    def _aim(self) -> str:
        planner = self.planner
        model, claim, winner = planner.compiled.model, planner.target.claim, planner.target.winner
        if isinstance(claim, Same):
            return f"the prediction is {model.classes[winner]}"
        return claim.sentence(model, None if winner == NO_CLASS else model.classes[winner])

    def facts(self) -> Facts:
        """Return the changes and what they cost."""
        told: list[Fact | Grid] = [Fact("Now", f"{decision_at(self.planner.compiled, self.row)}.")]
        if not self.is_possible:
            told.append(Fact("Proven", f"with no changes that the actions allow {self._aim}."))
            return (*told, *self._relations())
        first = self.plans.listed[0]
        if not first.changes:
            return (*told, Fact("Proven", f"{self._aim} without any change."))
        known = "no others that do cost less"
        if self.lower_bound != self.cost:
            known = f"others that do may cost less, but not less than {_cost(self.lower_bound)} (its time was up)"
        told.append(Fact("Proven", f"with these changes {self._aim}; they cost {_cost(self.cost)}, and {known}."))
        told.append(self._grid(first))
        for plan in self.plans.listed[1:]:
            told += [Fact("Or", f"for {_cost(to_fraction(plan.cost))}:"), self._grid(plan)]
        if len(self.plans.listed) > 1 or self.plans.is_complete:
            more = "there is no other" if self.plans.is_complete else "each is the next cheapest"
            proven = more if self.plans.is_proven else "whether these are the cheapest is not known"
            told.append(Fact("Others", f"none changes all the features that one before it changes; {proven}."))
        return (*told, *self._relations())

    def _grid(self, plan: Plan) -> Grid:
        names = self.planner.compiled.model.names
        return Grid(
            ("feature", "change", "cost"),
            tuple(
                Row((names[i], f"{in_full(self.row[i])} -> {in_full(value)}", f"cost {_cost(to_fraction(cost))}"))
                for i, value, cost in plan.changes
            ),
        )

    def _relations(self) -> list[Fact]:
        broken = self.planner.broken(self.row)
        kept = [self._told(one) for one in self.planner.relations if one not in broken]
        facts = [Fact("Kept", f"{', '.join(kept)}.")] if kept else []
        if broken:
            facts.append(
                Fact("Not asked", f"{', '.join(map(self._told, broken))}: it does not hold in the row itself.")
            )
        return facts

    def _told(self, relation: Relation) -> str:
        names = self.planner.compiled.model.names
        return f"{names[relation.left]} {relation.sign} {names[relation.right]}"

    def document(self) -> Json:
        """Return the changes as JSON."""
        names = self.planner.compiled.model.names
        return {
            "kind": "recourse",
            "aim": self._aim,
            "row": {name: value_document(to_user(value)) for name, value in zip(names, self.row, strict=True)},
            "is_possible": self.is_possible,
            "status": self.status.value,
            "is_complete": self.plans.is_complete,
            "lower_bound": None if self.lower_bound is None else number_document(self.lower_bound),
            "plans": [
                {
                    "cost": number_document(to_fraction(plan.cost)),
                    "changes": {
                        names[i]: {"to": value_document(to_user(value)), "cost": number_document(to_fraction(cost))}
                        for i, value, cost in plan.changes
                    },
                }
                for plan in self.plans.listed
            ],
            "relations": [self._told(one) for one in self.planner.relations],
            "broken_in_the_row": [self._told(one) for one in self.planner.broken(self.row)],
        }


def _cost(cost: Fraction | None) -> str:
    return approximately(cost or Fraction(0))


def recourse(planner: Planner, row: Values, alternatives: int, max_seconds: float) -> Recourse:
    """Return the cheapest changes of a row, and so many others."""
    return Recourse(planner, row, planner.plans(row, alternatives + 1, time.monotonic() + max_seconds))


@dataclass(frozen=True)
class RecourseTable(Told):
    """The cheapest changes of all rows of a table that are decided otherwise.

    Parameters
    ----------
    planner : Planner
    portfolio : Portfolio
    rows : array of int
        The rows that are decided otherwise, by their place in the table.
    plans : tuple of Plan or None
        For each of them the cheapest changes; None where there are none.
    ties : mapping of int to str
        Rows that may be decided otherwise or not after some changes, for scores are only enclosed there, and why.
    """

    planner: Planner
    portfolio: Portfolio
    rows: NDArray[np.int64]
    plans: tuple[Plan | None, ...]
    ties: Mapping[int, str]

    @property
    def costs(self) -> tuple[Fraction | None, ...]:
        """What the cheapest changes of each row cost."""
        return tuple(None if plan is None else to_fraction(plan.cost) for plan in self.plans)

    @property
    def unsettled(self) -> tuple[int, ...]:
        """Rows, by their place in the table, for which something may be cheaper: their time was up."""
        each = zip(self.rows.tolist(), self.plans, strict=True)
        return tuple(k for k, plan in each if plan is not None and plan.bound < plan.cost)

    @property
    def failed(self) -> Mapping[int, str]:
        """Rows of the table that are left out, and why: the model cannot read them, or a tie is not ruled out."""
        return {**self.portfolio.failed, **self.ties}

    def of(self, k: int) -> Recourse:
        """Return the recourse of a row, by its place among `rows`."""
        plan = self.plans[k]
        plans = Plans(() if plan is None else (plan,), plan is None or plan.cost == plan.bound, plan is None)
        return Recourse(self.planner, self.portfolio.row(int(self.rows[k])), plans)

    def facts(self) -> Facts:
        """Return for how many rows there are changes, what they cost, and which features they change most."""
        model, winner = self.planner.compiled.model, self.planner.target.winner
        has = [plan for plan in self.plans if plan is not None]
        told = [
            Fact("Rows", f"{counted(len(self.rows), 'row')} not decided {model.classes[winner]}."),
            Fact(
                "Proven", f"the actions lead there for {Share(len(has), len(self.rows))} of them, for the others not."
            ),
        ]
        if has:
            costs = sorted(to_fraction(plan.cost) for plan in has)
            middle, high = statistics.median_low(costs), costs[(9 * len(costs) - 1) // 10]
            cheapest = "as cheap as can be" if not self.unsettled else f"but for {counted(len(self.unsettled), 'row')}"
            told.append(
                Fact("Cost", f"half of them {_cost(middle)} at most, nine tenths {_cost(high)} at most; {cheapest}.")
            )
            named = Counter(model.names[change.feature] for plan in has for change in plan.changes)
            told.append(Fact("Changed most", f"{', '.join(f'{name} {n:,}' for name, n in named.most_common(8))}."))
        return (*told, *failed_facts(self.failed))

    def document(self) -> Json:
        """Return the changes of every row as JSON."""
        each = zip(self.rows.tolist(), range(len(self.rows)), strict=True)
        return {
            "kind": "recourse_table",
            "unsettled": list(self.unsettled),
            "failed": {str(k): text for k, text in self.failed.items()},
            "recourses": [{"row": row, "plans": self.of(k).document()["plans"]} for row, k in each],
        }


def recourse_batch(planner: Planner, portfolio: Portfolio, max_seconds: float) -> RecourseTable:
    """Return the cheapest changes of all rows that are decided otherwise than asked."""
    plans, ties = dict[int, Plan | None](), dict[int, str]()
    for k in np.flatnonzero(portfolio.readable() & ~portfolio.predicts(planner.target.winner)).tolist():
        try:
            plans[k] = planner.plan(portfolio.row(k), deadline=time.monotonic() + max_seconds)
        except BudgetError as error:  # of this row alone
            ties[k] = str(error)
    return RecourseTable(planner, portfolio, np.array([*plans], dtype=np.int64), tuple(plans.values()), ties)

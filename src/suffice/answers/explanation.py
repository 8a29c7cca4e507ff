"""A smallest set of features that keeps a claim true, and what is proven of it."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, cast

from suffice.answers.answer import Answer, Status
from suffice.answers.documents import cost_document, domain_document, number_document, values_by_name
from suffice.answers.documents import value_document as value_in_json
from suffice.answers.words import Move, amount, can_fail, counted, headline, moves, others, spoken, stays
from suffice.certificate.certify import certify_explanation
from suffice.certificate.document import Certificate
from suffice.core.case import Case, cost_of
from suffice.core.constraint import Constraint, KnownFall
from suffice.core.counterexamples import easiest_break
from suffice.core.drops import Worst
from suffice.errors import BudgetEnded, ClaimError, FeatureNameError, Undecided
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.model.domain import Domain, format_value
from suffice.numbers.exact import ZERO, Rational, nearest_float, to_fraction
from suffice.numbers.surd import Surd, exact
from suffice.numbers.values import Label, Value, to_user
from suffice.question.claim import Inequality
from suffice.question.claims import predicted
from suffice.question.documents import Json
from suffice.question.preferences import Choices
from suffice.solvers.proofs import Proof

_MOST_BREAKS, _MOST_MOVES = 5, 2


class Counterexample(NamedTuple):
    """An input of the region that breaks the claim, once one more feature is free."""

    without: str
    point: tuple[Value, ...]
    prediction: Any
    moves: tuple[Move, ...]  # what differs from the row, the feature itself first


@dataclass(frozen=True, repr=False)
class Explanation(Answer):
    """A smallest set of features that keeps a claim true, and what is proven of it.

    `print(why)` says it in words. Numbers are exact rationals. A claim may have several parts (the winner against each
    other class); `margin`, `drops` and `witnesses` are those of the tightest part, the one with the least slack.

    Parameters
    ----------
    case : Case
        The question, the row and what follows for each feature.
    fixed : tuple of int
        The features to fix, by index; `features` has their names.
    bound : int
        No allowed set costs less, counted in units of cost.
    proof : Tree, optional
        Why none costs less, where sorting alone does not prove it.
    caveat : str, optional
        Why a smaller set may exist, where that is not ruled out.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> model = AdditiveModel([Steps([18], [-1, 2]), Steps([0.5], [0, 1])], features=["age", "risk"])
    >>> why = Explainer(model).explain({"age": 20, "risk": 0}, radius=5, unit="raw")
    >>> why.features, why.free, why.status, why.margin, why.drops["age"]
    (('age',), ('risk',), Status.PROVEN, Fraction(2, 1), Fraction(3, 1))
    """

    case: Case
    fixed: tuple[int, ...]
    bound: int
    proof: Proof | None = None
    caveat: str | None = None

    @property
    def region(self) -> tuple[Domain, ...]:
        """Where each feature may go when it is free."""
        return self.case.region

    @property
    def inequalities(self) -> tuple[Inequality, ...]:
        """The parts of the claim."""
        return self.case.inequalities

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Margins and drops of each part of the claim, with what is charged for rounding taken off."""
        return self.case.inner

    @property
    def worst(self) -> tuple[tuple[Worst, ...], ...]:
        """For each part of the claim and each feature where its drop comes from."""
        return self.case.worst

    @property
    def choices(self) -> Choices:
        """What the search could choose among."""
        return self.case.question.choices

    @property
    def charged(self) -> tuple[Rational, ...]:
        """What rounding may take from the margin of each part of the claim."""
        return self.case.charges

    @property
    def float_prediction(self) -> Any:
        """What the estimator predicts in its own floats; it differs only if the score is within rounding of a tie."""
        return self.case.float_prediction

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the fixed features: those first that can use up the largest share of a margin.

        For a claim of one part that is the largest drop first, unless there are pair terms. One of several parts has a
        margin and drops for each, of which `drops` shows the tightest.
        """
        names = self.model.names
        return tuple(names[i] for i in self.fixed)

    @property
    def free(self) -> tuple[str, ...]:
        """Names of all other features, in the order of the model."""
        fixed = set(self.fixed)
        return tuple(name for i, name in enumerate(self.model.names) if i not in fixed)

    @property
    def size(self) -> int:
        """How many features are fixed."""
        return len(self.fixed)

    @property
    def cost(self) -> int | Fraction:
        """What fixing these features costs; without preferences, how many they are."""
        return cost_of(self.choices.cost(self.fixed), self.choices.unit)

    @property
    def lower_bound(self) -> int | Fraction:
        """No allowed set costs less; a feature costs 1 unless `cost` says otherwise."""
        return cost_of(self.bound, self.choices.unit)

    @property
    def status(self) -> Status:
        """Whether no allowed set is proven to cost less."""
        return Status.PROVEN if self.bound == self.choices.cost(self.fixed) else Status.BOUNDED

    @cached_property
    def tightest(self) -> int:
        """Which part of the claim has the least slack, as far as that is known."""
        return min(range(len(self.constraints)), key=self._slack)

    @property
    def margin(self) -> Fraction:
        """By how much the claim holds at the row: the score's distance from breaking it, less what is charged."""
        return to_fraction(self.constraints[self.tightest].margin)

    @property
    def slack(self) -> Fraction:
        """What is left of the margin when the free features, as many as may change at once, do their worst.

        At least so much is left where `has_exact_slack` is False.
        """
        return to_fraction(self._slack(self.tightest))

    @property
    def has_exact_slack(self) -> bool:
        """Whether `slack` is what is left: not in a ball, nor where the worst case of pair terms takes long to find."""
        parts = range(len(self.constraints))
        return not self.case.question.is_ball and all(self._known_fall(part).is_exact for part in parts)

    def _known_fall(self, part: int) -> KnownFall:
        fixed = set(self.fixed)
        return self.constraints[part].known_fall([i for i in self.case.features if i not in fixed])

    def _slack(self, part: int) -> Rational:
        fall, is_exact = self._known_fall(part)
        slack = self.constraints[part].margin - fall.value
        return slack if is_exact else max(slack, ZERO)  # the set suffices, whatever the bound

    @property
    def drops(self) -> dict[str, Fraction | Surd | float]:
        """How far each feature alone can lower the margin within the region; infinity if without bound.

        Of features with pair terms, several together may lower it by more or by less than the sum of theirs.
        """
        drops = self.constraints[self.tightest].drops
        each = (math.inf if drop.is_infinite else to_fraction(drop.value) for drop in drops)
        return dict(zip(self.model.names, each, strict=True))

    @property
    def witnesses(self) -> dict[str, Fraction | Label | None]:
        """For each feature the value that attains its drop; None where the drop is approached but not attained."""
        part = self.tightest
        return {
            name: to_user(worst.value_at_most(worst.infimum.value)) if drop.is_attained else None
            for name, drop, worst in zip(self.model.names, self.constraints[part].drops, self.worst[part], strict=True)
        }

    @property
    def ranked(self) -> tuple[str, ...]:
        """All features: the fixed ones, then the free ones with larger drops first."""
        drops = self.drops
        return (*self.features, *sorted(self.free, key=drops.__getitem__, reverse=True))

    @property
    def strongest_free(self) -> tuple[str, ...]:
        """The three free features that can lower the margin most, those that cannot at all left out."""
        drops = self.drops
        return tuple(name for name in self.ranked[self.size :] if drops[name])[:3]

    # --- what breaks it -----------------------------------------------------------------------------------------------

    def counterexample(self, without: str) -> dict[str, Fraction | Label]:
        """Return an input of the region that breaks the claim, once a fixed feature is free too.

        Parameters
        ----------
        without : str
            One of `features`. It changes, and as few free features as possible; the others keep the row's
            values. (With `max_changed`, of features that have pair terms there may be more than the fewest.) Numbers
            are short floats where the claim allows it.

        Returns
        -------
        dict
            A value for each feature, by name.

        Raises
        ------
        FeatureNameError
            If the feature is not fixed: without it nothing changes.
        ClaimError
            If no such input is known: the feature is fixed by preference, or whether it is needed is not known.
        """
        if without not in self.features:
            raise FeatureNameError(without, self.features, what="fixed feature")
        found = self.broken_without(without)
        if found is None:
            late = "what the free features can do together with it takes too long to find"
            asked = "it is fixed because you asked for it, not because it is needed"
            reason = self.caveat or (late if without in self._unsearched else asked)
            raise ClaimError(f"no input is known to break the claim without {without!r}: {reason}")
        return {name: to_user(value) for name, value in zip(self.model.names, found.point, strict=True)}

    def broken_without(self, feature: str) -> Counterexample | None:
        """Return what breaks the claim once a fixed feature is free too, found once; None where nothing is known to."""
        if feature not in self._broken:
            self._broken[feature] = self._break(feature)
        return self._broken[feature]

    @cached_property
    def _broken(self) -> dict[str, Counterexample | None]:
        return {}

    @cached_property
    def _unsearched(self) -> set[str]:
        """Features of which it takes too long to find what breaks the claim without them."""
        return set()

    def _break(self, feature: str) -> Counterexample | None:
        removed, fixed = self.model.index(feature), set(self.fixed)
        case = self.case.with_free(removed)
        try:
            best = easiest_break(case.outer, [removed], [i for i in case.features if i not in fixed])
            if best is None:
                return None
            part, moved = best
            point = tuple(case.breaking_input(part, moved))
        except BudgetEnded:
            self._unsearched.add(feature)
            return None
        except (Undecided, ClaimError):  # a threshold that is not known well enough, or rounding without a bound
            return None
        other = predicted(self.model, case.compiled.scores(point))
        return Counterexample(feature, point, other, tuple(moves(case, point, removed)))

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof of this answer, for `suffice-check` or anyone else to check.

        Parameters
        ----------
        model_file : path, optional
            The file that the certificate is for. Default: the one that `model.save` writes.

        Returns
        -------
        Certificate

        Raises
        ------
        ModelFileError
            If the file holds another model.
        """
        return certify_explanation(self.case, self.fixed, self.bound, self.proof, model_file)

    # --- in words -----------------------------------------------------------------------------------------------------

    def facts(self) -> Facts:
        """Return what was predicted, what suffices, what is proven, and what would break it."""
        table = [self.fixed_grid()] if self.size else []
        return (*headline(self.case, self._margin_words()), self.proven(), *table, *self._notes(), *self._breaks())

    def proven(self) -> Fact:
        """Return what is proven, in a sentence."""
        total, free = len(self.row), len(self.free)
        if not self.size:
            return Fact(
                "Proven", f"no feature needs to be fixed: whatever changes within the region, {stays(self.case)}."
            )
        if not free and self.choices.is_plain and self.status is Status.PROVEN:
            return Fact("Proven", f"every feature is needed: if any one of them is free, {can_fail(self.case)}.")
        if not free:
            fixed = "the one feature" if total == 1 else f"all {total} features"
            return Fact("Proven", f"with {fixed} fixed, nothing can change; {self._least()}")
        fix = "fixing 1 of" if self.size == 1 else f"fixing {self.size} of"
        return Fact(
            "Proven",
            f"{fix} {counted(total, 'feature')} is enough: whatever {others(free)} within the region, "
            f"{stays(self.case)}; {self._least()}",
        )

    def _least(self) -> str:
        """Return what is known of other sets."""
        has_costs = not self.choices.is_counting or self.choices.has_groups
        among = "" if self.choices.is_plain else " that the preferences allow"
        if self.status is Status.PROVEN:
            return f"no set{among} costs less than {self.cost}." if has_costs else f"no smaller set{among} is enough."
        if not self.bound:
            return f"whether a smaller set{among} is enough is not known ({self.caveat})."
        if has_costs:
            return f"no set{among} costs less than {self.lower_bound} ({self.caveat})."
        return f"no set of fewer than {self.lower_bound}{among} is enough ({self.caveat})."

    def _margin_words(self) -> str:
        margin, parts = amount(self.margin), len(self.inequalities)
        return f" (margin {margin})" if parts == 1 else f" (tightest margin {margin}, of {parts})"

    def fixed_grid(self) -> Grid:
        """Return the fixed features as a table: value, and what each could do to the margin."""
        drops = self.drops
        near = (nearest_float(cast(Rational, exact(drop))) for drop in drops.values() if drop != math.inf)
        widest = max((one for one in near if math.isfinite(one)), default=0.0) or 1.0
        could = "could alone lower" if self.case.has_pairs else "could lower"
        rows = [
            Row(
                (name, f"= {format_value(self.row[i])}", f"{could} the margin by {amount(drops[name])}"),
                _share(drops[name], widest),
            )
            for name, i in zip(self.features, self.fixed, strict=True)
        ]
        return Grid(("fixed feature", "value", "effect"), tuple(rows))

    def _notes(self) -> list[Fact]:
        """Return what else is worth a sentence: charges, other predictions in floats, the slack, strong free ones."""
        facts = []
        if any(self.charged):
            most = amount(max(to_fraction(charge) for charge in self.charged))
            facts.append(
                Fact("Charged", f"up to {most} of the margin, for rounding in {self.case.question.arithmetic}.")
            )
        if self.float_prediction != self.prediction:
            other = self.float_prediction
            what = "overflows" if other is None else f"predicts {other} here, because of rounding"
            facts.append(Fact("Note", f"float arithmetic {what}; the proof is about the exact model."))
        if self.free:
            used, few = amount(self.margin - self.slack), self.case.question.max_changed
            some = "the free features" if few is None or few >= len(self.free) else f"{few} of the free features"
            use = "uses" if some.startswith("1 ") else "use"
            told = f"in the worst case {some} {use} {used} of the margin; {amount(self.slack)} is left."
            if not self.has_exact_slack:
                told = f"{some} {use} at most {used} of the margin; at least {amount(self.slack)} is left."
            facts.append(Fact("Slack", told))
        strong = [f"{name} ({amount(self.drops[name])})" for name in self.strongest_free]
        each = ", each alone" if self.case.has_pairs else ""
        return [*facts, *([Fact(f"Strongest free{each}", f"{', '.join(strong)}.")] if strong else [])]

    def _breaks(self) -> list[Fact]:
        """Return for each fixed feature what would break the claim, were it free too."""
        shown = [self.broken_without(name) for name in self.features[:_MOST_BREAKS]]
        facts = [Fact(f"If {one.without} could also change", f"{self._break_words(one)}.") for one in shown if one]
        more = self.size - _MOST_BREAKS
        return [*facts, *([Fact("Not shown", f"{counted(more, 'more feature')}.")] if facts and more > 0 else [])]

    def _break_words(self, found: Counterexample) -> str:
        first, *rest = found.moves
        told = [f"{move.name} {move.old} -> {move.new}" for move in rest[:_MOST_MOVES]]
        more = f" and {len(rest) - _MOST_MOVES} more" if len(rest) > _MOST_MOVES else ""
        how = f"{first.old} -> {first.new}" + (f" with {', '.join(told)}{more}" if told else "")
        if self.model.task != "regression" and found.prediction != self.prediction:
            return f"{how} would change the prediction to {spoken(found.prediction)}"
        return f"{how} would break the claim"

    def _document(self) -> Json:
        names = self.model.names
        return {
            "status": self.status.value,
            "size": self.size,
            "cost": cost_document(self.cost),
            "lower_bound": cost_document(self.lower_bound),
            "caveat": self.caveat,
            "charged": [number_document(charge) for charge in self.charged],
            "features": list(self.features),
            "free": list(self.free),
            "margin": number_document(self.margin),
            "slack": number_document(self.slack),
            "has_exact_slack": self.has_exact_slack,
            "parts": [inequality.meaning for inequality in self.inequalities],
            "values": values_by_name(names, self.row),
            "region": {name: domain_document(part) for name, part in zip(names, self.region, strict=True)},
            "drops": {name: number_document(drop) for name, drop in self.drops.items()},
            "witnesses": {name: None if at is None else value_in_json(at) for name, at in self.witnesses.items()},
        }

    def __repr__(self) -> str:
        return f"<Explanation: {self.prediction!r}, {self.size} of {len(self.row)} features, {self.status.value}>"


def _share(drop: Fraction | Surd | float, widest: float) -> float:
    if drop == math.inf:
        return 1.0
    return min(nearest_float(cast(Rational, exact(drop))) / widest, 1.0)

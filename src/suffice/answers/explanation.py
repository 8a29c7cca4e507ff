"""A smallest set of features that keeps a claim true, and what is proven of it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, cast

from suffice.answers.answer import Status
from suffice.answers.deferred import Deferred
from suffice.answers.documents import cost_document, domain_document, number_document, values_by_name
from suffice.answers.documents import value_document as value_in_json
from suffice.answers.explanation_words import breaks, fixed_grid, in_short, margin_words, notes, proven
from suffice.answers.frames import draw, plain, to_frame
from suffice.answers.likelihood import extent_of, range_fact, range_of
from suffice.answers.words import Move, headline, moves
from suffice.certificate.certify import certify_explanation
from suffice.certificate.document import Certificate
from suffice.core.case import Case
from suffice.core.constraint import Constraint, KnownFall
from suffice.core.counterexamples import easiest_break
from suffice.core.drops import Worst
from suffice.core.outlook import Extent
from suffice.errors import BudgetEnded, ClaimError, FeatureNameError, Undecided
from suffice.layout.facts import Fact, Facts, Grid
from suffice.model.domain import Domain
from suffice.numbers.exact import ZERO, Rational, nearest_float, to_fraction
from suffice.numbers.surd import Surd, exact
from suffice.numbers.values import Label, Value, to_user
from suffice.question.claim import Inequality
from suffice.question.documents import Json
from suffice.question.preferences import Choices, cost_of
from suffice.solvers.proofs import Proof


class Counterexample(NamedTuple):
    """An input of the region that breaks the claim, once one more feature is free."""

    without: str
    point: tuple[Value, ...]
    prediction: Any
    moves: tuple[Move, ...]  # what differs from the row, the feature itself first


@dataclass(frozen=True, repr=False)
class Explanation(Deferred):
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
    proof : Tree or None
        Why none costs less, where sorting alone does not prove it.
    caveat : str or None
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
    proof: Proof | None
    caveat: str | None

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
    def worst(self) -> tuple[Sequence[Worst], ...]:
        """For each part of the claim and each feature where its drop comes from."""
        return self.case.worst

    @property
    def choices(self) -> Choices:
        """What the search could choose among."""
        return self.question.choices

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
        """Whether `slack` is what is left: not in a ball, with smooth shapes, or where pair terms take long."""
        parts = range(len(self.constraints))
        if self.case.question.is_ball or self.case.compiled.is_enclosed:
            return False
        return all(self._known_fall(part).is_exact for part in parts)

    @property
    def _free_indices(self) -> list[int]:
        fixed = set(self.fixed)
        return [i for i in self.case.features if i not in fixed]

    @property
    def probability_range(self) -> tuple[float, float] | None:
        """Between what the predicted class's probability is proven to stay while the free features do as they like.

        Ends are rounded outward. None for a regression, and for models without probabilities.
        """
        return None if self.model.task == "regression" else range_of(self.case, self._extent)

    @property
    def prediction_range(self) -> tuple[float, float] | None:
        """Between what a regression's prediction is proven to stay while the free features do as they like."""
        return range_of(self.case, self._extent) if self.model.task == "regression" else None

    @cached_property
    def _extent(self) -> Extent | None:
        return extent_of(self.case, self._free_indices)

    def _known_fall(self, part: int) -> KnownFall:
        return self.constraints[part].known_fall(self._free_indices)

    def _slack(self, part: int) -> Rational:
        fall, is_exact = self._known_fall(part)
        slack = self.constraints[part].margin - fall.value
        return slack if is_exact else max(slack, ZERO)  # the set suffices, whatever the bound

    @property
    def drops(self) -> dict[str, Fraction | Surd | float]:
        """How far each feature alone can lower the margin within the region; infinity if without bound.

        Of features with pair terms, several together may lower it by more or by less than the sum of theirs.
        """
        return dict(self._drops)

    @cached_property
    def _drops(self) -> dict[str, Fraction | Surd | float]:
        drops = self.constraints[self.tightest].drops
        each = (math.inf if drop.is_infinite else to_fraction(drop.value) for drop in drops)
        return dict(zip(self.model.names, each, strict=True))

    @property
    def witnesses(self) -> dict[str, Fraction | Label | None]:
        """For each feature the value that attains its drop; None where the drop is approached but not attained."""
        part = self.tightest
        return {
            name: to_user(worst.value_at_most(worst.infimum.value))
            if drop.is_attained and not worst.infimum.is_approached
            else None
            for name, drop, worst in zip(self.model.names, self.constraints[part].drops, self.worst[part], strict=True)
        }

    @cached_property
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
        other = case.predicted_at(point)
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

    # --- as tables and pictures ---------------------------------------------------------------------------------------

    def to_frame(self) -> Any:
        """Return a pandas DataFrame: a row for each feature, the fixed ones first, with its value, region and drop."""
        places = [self.model.index(name) for name in self.ranked]
        fixed, drops = set(self.features), self.drops
        return to_frame(
            {
                "feature": list(self.ranked),
                "value": [plain(self.row[i]) for i in places],
                "is_fixed": [name in fixed for name in self.ranked],
                "region": [str(self.region[i]) for i in places],
                "drop": [_near(drops[name]) for name in self.ranked],
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the drops of all features against the margin (`suffice.present.plots.waterfall`); return the axis."""
        return draw("waterfall", self, ax)

    # --- in words -----------------------------------------------------------------------------------------------------

    def facts(self) -> Facts:
        """Return what was predicted, what suffices, what is proven, and what would break it."""
        table = [self.fixed_grid()] if self.size else []
        first = (in_short(self), *headline(self.case, margin_words(self)), self.proven())
        likelihood = range_fact(self.case, self._extent) if self.free else []
        return (*first, *table, *likelihood, *notes(self), *breaks(self))

    def proven(self) -> Fact:
        """Return what is proven, in a sentence."""
        return proven(self)

    def fixed_grid(self) -> Grid:
        """Return the fixed features as a table: value, and what each could do to the margin."""
        return fixed_grid(self)

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
            "probability_range": _listed(self.probability_range),
            "prediction_range": _listed(self.prediction_range),
            "witnesses": {name: None if at is None else value_in_json(at) for name, at in self.witnesses.items()},
        }

    def __repr__(self) -> str:
        return f"<Explanation: {self.prediction!r}, {self.size} of {len(self.row)} features, {self.status.value}>"


def _near(drop: Fraction | Surd | float) -> float:
    return math.inf if drop == math.inf else nearest_float(cast(Rational, exact(drop)))


def _listed(ends: tuple[float, float] | None) -> list[float | None] | None:
    return None if ends is None else [end if math.isfinite(end) else None for end in ends]

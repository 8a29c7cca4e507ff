"""A question about one row, worked out: what every search is a function of.

In: a compiled model, a question, a row. Out: a `Case` with the region, the claim's inequalities and, made when they are
first asked for, margins, drops and worst cases. Rows, radii and preferences are read once. Where a number of the claim
is not rational and a decision needs it more closely, only its enclosure is made anew (`refined`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from suffice.core.constraint import Constraint, Drop
from suffice.core.counterexamples import breaking_input
from suffice.core.curved_path import CurvedPath
from suffice.core.drops import EnclosedDrops, Separable, Worst, bound_drops, enclose_drops, later_drops
from suffice.core.enclosed_path import EnclosedPath
from suffice.core.ground import Ground
from suffice.core.joint import Joint
from suffice.core.joint_inputs import breaking_point
from suffice.core.joint_path import JointPath
from suffice.core.landscape import Landscape
from suffice.core.radius_path import RadiusPath
from suffice.core.room import JointRoom, Room, SeparableRoom
from suffice.core.rounding import Rounding
from suffice.core.scores import MOST_BITS, MOST_SMOOTH_BITS, more_bits, predict, twice
from suffice.core.tangent_path import TangentPath
from suffice.core.tangents import Tangents
from suffice.errors import BudgetError, RadiusError, Undecided
from suffice.model.additive import AdditiveModel
from suffice.model.compiled import Compiled
from suffice.numbers.enclosure import FIRST_BITS, Real, ends, exactly
from suffice.numbers.exact import ZERO, Rational
from suffice.numbers.values import Value, to_user
from suffice.question.budget import Clock
from suffice.question.claim import Inequality, dot
from suffice.question.claims import inequalities_at, predicted, predicted_class
from suffice.question.question import Question
from suffice.question.region import Region, region_around
from suffice.question.row import Row, read_row

Answer = TypeVar("Answer")

_SMOOTH_BITS = 40  # how closely the scores of smooth shapes are enclosed at first: what floats can do
_MOST_ROUNDS = 12  # how often more tangents of curves beside pair terms are taken


@dataclass(frozen=True)
class Case:
    """A question about a row. Constraints are one for each inequality of the claim, in order."""

    compiled: Compiled
    question: Question
    row: Row
    region: Region
    parts: tuple[tuple[Real, ...], ...]  # each feature's part of each score
    scores: tuple[Real, ...]
    inequalities: tuple[Inequality, ...]
    winner: int  # the class that the claim is about
    bits: int  # how closely numbers of the claim that are not rational are enclosed
    rounds: int = 0  # how often more tangents were taken of curves beside pair terms
    still: frozenset[int] = frozenset()  # features that are fixed in any case, so that rounding is charged at the row
    began: float = field(default_factory=time.monotonic, compare=False)
    _known: dict[tuple[int, ...], Any] = field(default_factory=dict, compare=False, repr=False)
    # drops and worst cases, or the ground, by the factors of an inequality: these do not change with the enclosure
    _tangents: dict[tuple[int, ...], Tangents] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        compiled: Compiled,
        question: Question,
        x: Any,
        *,
        region: Region | None = None,
        winner: int | None = None,
        fixed: Collection[int] = (),
    ) -> Case:
        """Return the case of a row, as users write one.

        A region that holds the row may be given in place of the one that the radii make around it, and a class that the
        claim is about in place of the predicted one. Features that are fixed, whatever is found, may be named: of these
        only the row's own values are asked about.

        Raises
        ------
        RowError, FeatureNameError
            If the row is not one of the model.
        ClaimError
            If the claim cannot be made of this row, or is false at it.
        """
        row = read_row(compiled.model, x)
        reach = region_around(question.domains(compiled.model), row, question.radii) if region is None else region
        still = frozenset(question.choices.features(sorted(question.choices.fix))).union(fixed)
        if not compiled.is_complete:
            compiled.compile([i for i in range(len(row)) if i not in still and reach[i].is_more_than(row[i])])
        seen = _seen(compiled, question, row, winner, _SMOOTH_BITS if compiled.is_enclosed else FIRST_BITS)
        return cls(compiled, question, row, reach, **seen, still=still)

    def with_fixed(self, fixed: Collection[int]) -> Case:
        """Return the same case about a given set: rounding is charged only where the other features may go."""
        return replace(self, still=self.still.union(fixed))

    def with_free(self, feature: int) -> Case:
        """Return the same case with a feature that may move though it was to be fixed: its rounding is charged too."""
        return replace(self, still=self.still - {feature}) if feature in self.still else self

    def refined(self) -> Case:
        """Return the same case with what is enclosed known better: numbers in more bits, curves by more tangents.

        Raises
        ------
        BudgetError
            If it cannot be.
        """
        if self._tangents and not self._may_refine:
            raise BudgetError(
                "tangents of curves beside terms over two features do not tell what is so; change the row or the claim "
                "slightly, or raise max_seconds"
            )
        for one in self._tangents.values():
            one.learn()
        known = None if self.compiled.is_enclosed else self.parts
        more = min(twice(self.bits), MOST_BITS) if self._tangents else more_bits(self.bits, self.compiled)
        seen = _seen(self.compiled, self.question, self.row, self.winner, more, known)
        return replace(self, **seen, rounds=self.rounds + 1)

    def settle(self, is_settled: bool) -> None:
        """Raise `Undecided` where something is not settled that may be once shapes are known more closely."""
        if not is_settled and self.compiled.is_enclosed and self._may_refine:
            raise Undecided

    @property
    def _may_refine(self) -> bool:
        """Whether what is enclosed may still be known better."""
        if not self._tangents:  # of networks with too many pieces more bits do not tell more
            return self.bits < MOST_SMOOTH_BITS and not self.compiled.is_bounded
        if self.rounds >= _MOST_ROUNDS or time.monotonic() >= self.began + self.question.budget.max_seconds:
            return False
        return any(one.gap for one in self.inequalities) or any(one.has_more for one in self._tangents.values())

    def tangents(self, factors: tuple[int, ...]) -> Tangents:
        """Return what is learned of the curves of a claim's score."""
        if factors not in self._tangents:
            self._tangents[factors] = Tangents(landscape_of(self.compiled, factors), self.row)
        return self._tangents[factors]

    @property
    def model(self) -> AdditiveModel:
        """The model."""
        return self.compiled.model

    @property
    def features(self) -> range:
        """The indices of all features."""
        return range(len(self.row))

    @cached_property
    def prediction(self) -> Any:
        """The class predicted, or the score of a regression as a `Fraction`."""
        return predicted(self.model, self.scores)

    @cached_property
    def float_prediction(self) -> Any:
        """What the estimator predicts in its own float arithmetic; the same but for scores within rounding of a tie."""
        predict = self.compiled.float_predict
        return self.prediction if predict is None else predict([to_user(value) for value in self.row])

    @cached_property
    def has_pairs(self) -> bool:
        """Whether features act together in some part of the claim, so that what they do alone does not add up."""
        return any(self.compiled.oriented_pairs(one.factors) for one in self.inequalities)

    def clock(self, usual_nodes: int) -> Clock:
        """Return the budget of the question, of which the time has been running since the row was read."""
        budget = self.question.budget
        nodes = usual_nodes if budget.max_nodes is None else budget.max_nodes
        return Clock(nodes, self.began + budget.max_seconds)

    # --- margins and drops --------------------------------------------------------------------------------------------

    def predicted_at(self, point: Sequence[Value]) -> Any:
        """Return what is predicted at another input: a class, or a score."""
        return predict(self.compiled, point, self.bits)

    @cached_property
    def worst(self) -> tuple[Sequence[Worst], ...]:
        """For each constraint and feature where its drop comes from."""
        return tuple(self._worst(inequality) for inequality in self.inequalities)

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """What must hold of the exact model: all that `max_changed` of the free features can do at once."""
        return tuple(self.constraint_of(inequality) for inequality in self.inequalities)

    def constraint_of(self, inequality: Inequality) -> Constraint:
        """Return margin and drops of an inequality over the model's scores, one of the claim or not."""
        margin, limits = self._limits(inequality)
        if self.has_pairs:
            inner, outer = self._grounds(inequality)
            return Joint(margin, inner, *limits, outer)
        if self.compiled.is_enclosed:
            found = self._enclosed(inequality)
            return Separable(margin, found.ceilings, *limits, found.floors)
        return Separable(margin, self._bound(inequality)[0], *limits)

    def _limits(self, inequality: Inequality) -> tuple[Rational, tuple[bool, int | None, Rational]]:
        """Return the margin; strictness, how many features may change, and the gap of the margin."""
        margin, most = ends(inequality.at(self.scores))
        return margin, (inequality.is_strict, self.question.max_changed, inequality.gap + (most - margin))

    def _enclosed(self, inequality: Inequality) -> EnclosedDrops:
        """Return the drops and worst cases of features of which some are smooth."""
        factors, key = inequality.factors, (*inequality.factors, self.bits)
        if key not in self._known:
            functions = self.compiled.oriented(factors)
            here = [one.value(value, self.bits) for one, value in zip(functions, self.row, strict=True)]
            self._known[key] = enclose_drops(functions, here, self.row, self.region, self.bits)
        found: EnclosedDrops = self._known[key]
        return found

    def _bound(self, inequality: Inequality) -> tuple[Sequence[Drop], Sequence[Worst]]:
        """Return the drops and worst cases of features that act each for itself."""
        factors = inequality.factors
        if factors not in self._known:
            here = [exactly(dot(factors, part)) for part in self.parts]
            asked = self.compiled.oriented(factors), here, self.row, self.region
            if self.compiled.is_complete and not self.still:
                self._known[factors] = bound_drops(*asked)
            else:
                drops, worst = later_drops(*asked)
                # What is not fixed is looked at now, whatever is compiled: `Search` answers in another way where a
                # network has too many pieces over the region.
                for i in self.features:
                    if i not in self.still:
                        drops[i]
                self._known[factors] = drops, worst
        bounds: tuple[Sequence[Drop], Sequence[Worst]] = self._known[factors]
        return bounds

    def _grounds(self, inequality: Inequality) -> tuple[Ground, Ground | None]:
        """Return what features that act together can do around the row; at most and at least where there are curves."""
        factors, end = inequality.factors, self.began + self.question.budget.max_seconds
        key = (*factors, self.rounds) if self.compiled.has_tangents else factors
        if key not in self._known:
            self._known[key] = (
                self.tangents(factors).grounds(self.region, end)
                if self.compiled.has_tangents
                else (Ground(landscape_of(self.compiled, factors), self.row, self.region, deadline=end), None)
            )
        found: tuple[Ground, Ground | None] = self._known[key]
        return found

    def _worst(self, inequality: Inequality) -> Sequence[Worst]:
        if self.compiled.is_enclosed and not self.has_pairs:
            return self._enclosed(inequality).worst
        if not self.has_pairs:
            return self._bound(inequality)[1]
        landscape = landscape_of(self.compiled, inequality.factors)
        functions = [landscape.alone(i, self.row) for i in self.features]
        here = [function(value) for function, value in zip(functions, self.row, strict=True)]
        return bound_drops(functions, here, self.row, self.region)[1]

    @cached_property
    def charges(self) -> tuple[Rational, ...]:
        """What rounding may take from the margin of each part of the claim, anywhere in the region."""
        return self.charges_over(self.region)

    def charges_over(self, region: Region) -> tuple[Rational, ...]:
        """Return what rounding may take from the margin of each part, anywhere in a region; `still` features stay."""
        if self.question.arithmetic == "exact":
            return (ZERO,) * len(self.inequalities)
        moving = (
            reach.around(value, ZERO) if i in self.still else reach
            for i, (value, reach) in enumerate(zip(self.row, region, strict=True))
        )
        errors = self._rounding.errors(tuple(moving))
        times = 2 if self.question.claim.reads_own_score else 1
        return tuple(
            sum((times * abs(factor) * error for factor, error in zip(one.factors, errors, strict=True)), ZERO)
            for one in self.inequalities
        )

    @property
    def _rounding(self) -> Rounding:
        kept, arithmetic = self.compiled.roundings, self.question.arithmetic
        if arithmetic not in kept:
            kept[arithmetic] = Rounding(self.model, arithmetic)
        rounding: Rounding = kept[arithmetic]
        return rounding

    @cached_property
    def inner(self) -> tuple[Constraint, ...]:
        """Constraints that admit only what is proven of the deployed model: rounding is taken from the margins."""
        return with_slack([one.inner for one in self.constraints], [-charge for charge in self.charges])

    @cached_property
    def outer(self) -> tuple[Constraint, ...]:
        """Constraints that refuse only what breaks the claim for certain, in the true region and the deployed model."""
        # A change of one feature lies in the ball of any norm; changes of several at once need not.
        outer = [one.outer for one in self.constraints]
        if self.question.is_ball:
            return with_slack([one.with_max_changed(1) for one in outer], self.charges)
        return with_slack(outer, self.charges)

    def breaking_input(self, part: int, moved: Sequence[int]) -> list[Value]:
        """Return an input that breaks an outer constraint and differs from the row in the moved features only."""
        constraint = self.outer[part]
        if isinstance(constraint, Joint):
            return breaking_point(constraint, moved)
        return breaking_input(constraint, self.worst[part], self.row, self.region, moved)

    def room(self, freed: Sequence[int]) -> Room:
        """Return what the freed features leave for the others."""
        joint = tuple(one for one in self.constraints if isinstance(one, Joint))
        if joint:
            return JointRoom(joint, self.row, self.model.domains, self.region, frozenset(freed))
        falls = tuple(constraint.fall(freed) for constraint in self.constraints)
        return SeparableRoom(self.constraints, self.worst, self.row, falls)

    @property
    def paths(self) -> tuple[RadiusPath, RadiusPath]:
        """Constraints as functions of the radius, `outer` and `inner` ones; twice the same where these are."""
        if self.compiled.is_enclosed:
            path = self.path()
            assert isinstance(path, EnclosedPath | TangentPath)
            return path.on("outer"), path.on("inner")
        path = self.path(self.charges)
        return path, self.path([-charge for charge in self.charges]) if any(self.charges) else path

    def path(self, slack: Sequence[Rational] | None = None, *, is_joint: bool = False) -> RadiusPath:
        """Return the constraints as functions of a factor of the radii; slack is added to the margins.

        They are joint ones where there are pair terms, or if asked for.
        """
        units = [radius for radius in self.question.radii if radius is not None]
        if len(units) < len(self.row):
            raise RadiusError("changes are counted in radii, so every radius must be finite")
        functions = tuple(tuple(self.compiled.oriented(inequality.factors)) for inequality in self.inequalities)
        domains = self.question.domains(self.model)
        if self.compiled.is_enclosed and not self.has_pairs:
            known = tuple(
                tuple(one.value(value, self.bits) for one, value in zip(some, self.row, strict=True))
                for some in functions
            )
            rest = self.row, domains, tuple(units), self.question.immutable
            return EnclosedPath(functions, (), self.constraints, *rest, known, self.bits)
        here = tuple(tuple(exactly(dot(one.factors, part)) for part in self.parts) for one in self.inequalities)
        limits: Sequence[Constraint] = self.constraints if self.has_pairs or is_joint else ()
        limits = limits or [Separable(margin, (), *more) for margin, more in map(self._limits, self.inequalities)]
        shifted = tuple(limits) if slack is None else with_slack(limits, slack)
        given = functions, here, shifted, self.row, domains, tuple(units), self.question.immutable
        if not (self.has_pairs or is_joint):
            return CurvedPath(*given) if self.compiled.is_curved else RadiusPath(*given)
        landscapes = tuple(landscape_of(self.compiled, inequality.factors) for inequality in self.inequalities)
        deadline = self.began + self.question.budget.max_seconds
        if self.compiled.has_tangents:
            tangents = tuple(self.tangents(one.factors) for one in self.inequalities)
            return TangentPath(*given, landscapes, deadline, tangents=tangents)
        return JointPath(*given, landscapes, deadline)


def landscape_of(compiled: Compiled, factors: tuple[int, ...]) -> Landscape:
    """Return the landscape of a claim's score, made once for its factors and kept with the model."""
    if factors not in compiled.landscapes:
        pairs = compiled.oriented_pairs(factors)
        compiled.landscapes[factors] = Landscape(compiled.oriented(factors), pairs, compiled.model.names)
    landscape: Landscape = compiled.landscapes[factors]
    return landscape


def with_slack(constraints: Sequence[Constraint], slack: Sequence[Rational]) -> tuple[Constraint, ...]:
    """Return constraints with something added to their margins."""
    return tuple(one.with_slack(more) for one, more in zip(constraints, slack, strict=True))


def decide(case: Case, answer: Callable[[Case], Answer]) -> Answer:
    """Return an answer, with numbers that are not rational enclosed as closely as it needs."""
    while True:
        try:
            return answer(case)
        except Undecided:
            case = case.refined()


def _seen(
    compiled: Compiled,
    question: Question,
    row: Row,
    winner: int | None,
    bits: int,
    parts: tuple[tuple[Real, ...], ...] | None = None,
) -> dict[str, Any]:
    """Return a row's scores and the inequalities of the claim about it, in so many bits or more where it needs them.

    Parts that are known exactly are passed on.
    """
    while True:
        own = compiled.parts(row, bits) if parts is None else parts
        scores = compiled.scores(row, own)
        try:
            about = predicted_class(compiled.model, scores) if winner is None else winner
            inequalities = inequalities_at(question.claim, compiled.model, scores, bits, winner=about)
        except Undecided:
            bits = more_bits(bits, compiled)
            continue
        return {"parts": own, "scores": scores, "inequalities": inequalities, "winner": about, "bits": bits}

"""The face of the library: `Explainer` compiles a model once and answers many questions about it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from flint import fmpq

from suffice.breaking import breaking_input, easiest_break
from suffice.certificate import Case, Certificate, certify_radius, certify_set
from suffice.claims import Claim, Inequality, Same, Within, inequalities_at, predicted
from suffice.domain import show
from suffice.drops import Constraint, Drop, Worst, bound_drops, total
from suffice.errors import BudgetError, ClaimError, ModelError, PreferenceError, RadiusError, Undecided
from suffice.growth import Growth, Reach
from suffice.limits import Clock, read_at_most, read_norm
from suffice.model import AdditiveModel
from suffice.preferences import Choices, Groups, read_choices
from suffice.rational import ONE, ZERO, Number, Rational, brief, to_fraction
from suffice.regions import Radius, Region, Unit, read_radii, read_radius, region_around
from suffice.results import (
    Contrast,
    Counterfactual,
    Curve,
    Explanation,
    Explanations,
    Inflated,
    Limit,
    Range,
    Relevance,
    Statement,
    Status,
    Step,
    plain,
)
from suffice.rounding import Semantics, read_semantics, rounding_errors
from suffice.rows import Row, read_row
from suffice.search.covering import Cover, smallest_cover
from suffice.search.enumeration import Items, count_minimal, count_smallest, minimal_sets, smallest_sets
from suffice.search.inflation import Room, widest
from suffice.search.problem import Problem
from suffice.search.radius import nearest_break, sizes_by_radius
from suffice.search.relevance import roles
from suffice.shapes.pieces import Pieces, combine

if TYPE_CHECKING:
    from suffice.batch.result import BatchResult

Answer = TypeVar("Answer")

_FIRST_BITS, _MOST_BITS = 128, 16_384  # how closely a number that is not rational is enclosed, at first and at most
_CLOSE = fmpq(1, 2**10)  # how far beyond a change that does not break the claim an input may go, in radii

SAME = Same()


class Explainer:
    """Answers questions about a model, exactly.

    Parameters
    ----------
    model : AdditiveModel, or an estimator with `to_additive()`
        Compiled to exact pieces once, here. For an estimator, every explanation also says what its own float
        arithmetic predicts, should that differ.
    max_pieces : int
        Budget of affine pieces of one network, after each of its layers.

    Raises
    ------
    PieceBudgetError
        If a network has more pieces than the budget.

    Examples
    --------
    >>> from suffice import AdditiveModel, PiecewiseLinear, Steps
    >>> model = AdditiveModel(
    ...     shapes=[Steps([18], [-1, 2]), PiecewiseLinear([0], [0], left_slope=1, right_slope=1)],
    ...     intercept=0, task="binary", features=["age", "income"])
    >>> why = Explainer(model).explain({"age": 30, "income": 0.5}, radius=1)
    >>> why.features, why.size, why.prediction, why.status
    ((), 0, 1, Status.PROVEN)
    >>> why = Explainer(model).explain({"age": 30, "income": 0.5}, radius={"age": 5, "income": 20})
    >>> why.features, why.margin, why.drops
    (('income',), Fraction(5, 2), {'age': Fraction(0, 1), 'income': Fraction(20, 1)})
    """

    def __init__(self, model: Any, *, max_pieces: int = 10_000) -> None:
        additive = model.to_additive() if hasattr(model, "to_additive") and not isinstance(model, type) else model
        if not isinstance(additive, AdditiveModel):
            raise ModelError(f"an Explainer takes an AdditiveModel or a fitted NAM, got {brief(model)}")
        self.model = additive
        self._float_predict = getattr(model, "predict_cells", None)
        self._pieces = additive.compile(max_pieces)
        self._functions: dict[tuple[int, ...], tuple[Pieces, ...]] = {}

    @property
    def pieces(self) -> Mapping[str, tuple[Pieces, ...]]:
        """The exact pieces of each feature, in the user's units, one for each output."""
        return dict(zip(self.model.names, self._pieces, strict=True))

    def score(self, x: Any) -> Fraction | tuple[Fraction, ...]:
        """Return the exact score of a row; a tuple, one for each class, if there are more than two."""
        scores = tuple(to_fraction(score) for score in self._scores(self._parts(read_row(self.model, x))))
        return scores if self.model.task == "multiclass" else scores[0]

    def predict(self, x: Any) -> Any:
        """Return what the exact score of a row decides: its class, or its value if the model is a regression."""
        return predicted(self.model, self._scores(self._parts(read_row(self.model, x))))

    def explain(
        self,
        x: Any,
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
    ) -> Explanation:
        """Return a smallest set of features that keeps a claim true whatever the others do in the region.

        Parameters
        ----------
        x : sequence, mapping, NumPy row or pandas Series
            The row, in the user's own units.
        radius : number, mapping by feature name, or sequence
            How far a free feature may move; infinity for its whole domain.
        unit : {"raw", "std", "model"}
            What the radius is counted in: the features' own units, their standard deviations, or the model's
            scaled units.
        held : names of features
            Features that cannot change, so that nobody needs to fix them.
        claim : Claim
            What must stay true: `Same()` (the predicted class), `Beats(other)`, `Within(delta)`, `AtLeast(value)`,
            `AtMost(value)`, `ProbabilityAtLeast(p)`.
        keep, free : names of features
            Features that must, or must not, be among the fixed ones.
        cost : mapping of names to numbers above 0
            What fixing a feature (or a group) costs, 1 if not named; the set of least total cost is found.
        groups : mapping of names to lists of features, or lists of features
            Features tied together, fixed all or none; a group costs as much as one feature.
        at_most : int, optional
            How many of the free features may differ from the row at once; all of them if not given.
        norm : {math.inf, 1, 2}
            The region is the ball of this norm, with changes counted in radii. For 1 and 2 the answer is that of the
            box around the ball: it suffices, but may not be smallest; its status says what is known.
        semantics : {"exact", "float32", "float64"}
            With a float type, a bound on the rounding error of a forward pass in that type is taken from the margin, so
            that what is proven holds for the deployed model too; `charged` says how much.
        max_nodes, max_seconds : int, float
            Budgets of the search where a claim has several parts, or features have costs. Past them the status is
            `BOUNDED`.
        """
        choices = read_choices(self.model, keep=keep, free=free, cost=cost, groups=groups)
        moving, is_ball, clock = read_at_most(at_most), read_norm(norm), Clock(max_nodes, max_seconds)

        def answer(bits: int) -> Explanation:
            question = self._ask(x, radius, unit, held, claim, bits)
            charged = self._charge(question, semantics)
            proven = _allowing(question.constraints, [-charge for charge in charged], moving)
            # What is ruled out must be ruled out for the true region and the true scores.
            ruling = _allowing(question.constraints, charged, 1 if is_ball else moving)
            self._check_free(proven, choices, free)

            cover = smallest_cover(proven, choices, **clock.budget)
            bound = cover if proven == ruling else smallest_cover(ruling, choices, **clock.budget)
            is_best = bound.lower_bound == cover.cost
            return Explanation(
                self.model,
                *question._replace(
                    statement=question.statement._replace(at_most=moving, norm=norm), constraints=proven
                ),
                cover.kept,
                choices,
                _plain_cost(choices.unit * bound.lower_bound),
                Status.PROVEN if is_best else Status.BOUNDED,
                None if is_best else _caveat(cover, norm, semantics),
                charged,
                bound.proof if len(ruling) > 1 or not choices.is_plain else None,
                ruling,
            )

        return self._decide(answer)

    def explain_batch(self, table: Any, radius: Radius, *, threads: int | None = None, **options: Any) -> BatchResult:
        """Return explanations of all rows of a table, in columns; each is the one that `explain` gives for the row.

        Parameters
        ----------
        table : NumPy array, pandas or Polars DataFrame, Arrow table
            The rows, in the user's own units; an array by position, all others by feature name.
        threads : int, optional
            How many to use; all by default. The result does not depend on it.
        radius, **options
            As `explain` takes them. A row that cannot be explained gets the status "failed" and a message. Preferences
            (`keep`, `free`, `cost`, `groups`), `at_most`, `norm` and `semantics` send every row the way of one row,
            which takes a thousand times as long.
        """
        from suffice.batch.run import BatchQuestion

        return BatchQuestion.of(self, radius, **options).answer(table, threads=threads)

    def is_sufficient(
        self,
        x: Any,
        features: Iterable[str],
        radius: Radius,
        *,
        unit: Unit = "raw",
        held: Iterable[str] = (),
        claim: Claim = SAME,
        at_most: int | None = None,
    ) -> bool:
        """Whether fixing these features keeps the claim true, whatever the others do in the region."""
        freed = self._others(features)
        moving = read_at_most(at_most)

        def answer(bits: int) -> bool:
            constraints = self._ask(x, radius, unit, held, claim, bits).constraints
            return all(constraint.admits(freed) for constraint in _allowing(constraints, None, moving))

        return self._decide(answer)

    def certify(
        self,
        x: Any,
        features: Iterable[str],
        radius: Radius,
        *,
        unit: Unit = "raw",
        held: Iterable[str] = (),
        claim: Claim = SAME,
        at_most: int | None = None,
        model_file: str | os.PathLike[str] | None = None,
    ) -> Certificate:
        """Return the proof of what `is_sufficient` answers: that these features suffice, or that they do not."""
        kept = tuple(dict.fromkeys(self.model.indices(features)))
        moving = read_at_most(at_most)

        def answer(bits: int) -> Certificate:
            question = self._ask(x, radius, unit, held, claim, bits)
            limited = _allowing(question.constraints, None, moving)
            statement = question.statement._replace(at_most=moving)
            case = Case(statement, question.row, question.region, limited, question.worst)
            return certify_set(self.model, case, kept, model_file)

        return self._decide(answer)

    def contrast(
        self,
        x: Any,
        radius: Radius,
        *,
        unit: Unit = "raw",
        held: Iterable[str] = (),
        claim: Claim = SAME,
        at_most: int | None = None,
    ) -> Contrast:
        """Return a smallest set of features whose change alone can break the claim, with an input that does."""
        moving = read_at_most(at_most)

        def answer(bits: int) -> Contrast:
            question = self._ask(x, radius, unit, held, claim, bits)
            constraints = _allowing(question.constraints, None, moving)
            facts = (self.model, question.statement._replace(at_most=moving), *question[1:4], question.prediction)
            best = easiest_break(constraints, (), range(len(self.model.features)))
            if best is None:
                return Contrast(*facts, None, ())
            c, moved = best
            point = breaking_input(constraints[c], question.worst[c], question.row, question.region, moved)
            return Contrast(*facts, tuple(point), tuple(moved))

        return self._decide(answer)

    def counterfactual(
        self, x: Any, radius: Radius, *, unit: Unit = "raw", held: Iterable[str] = (), claim: Claim = SAME
    ) -> Counterfactual:
        """Return the nearest input that breaks the claim by changing as few features as can be.

        Of all inputs that break the claim with the size of a smallest contrast, it has the smallest largest change,
        counted in radii. Features that are immutable for whom it concerns are named in `held`.
        """

        def answer(bits: int) -> Counterfactual:
            question, growth = self._growth(x, radius, unit, held, claim, bits)
            nearest = nearest_break(growth)
            facts = (self.model, *question[:4], question.prediction)
            if nearest is None:
                return Counterfactual(*facts, None, (), growth.units, None, is_attained=False)
            reach = nearest.radius if nearest.is_attained else nearest.radius + (1 - nearest.radius) * _CLOSE
            region, part = growth.region(reach), nearest.part
            drops, worst = bound_drops(growth.functions[part], growth.here[part], question.row, region)
            constraint = replace(question.constraints[part], drops=drops)
            constraint.admits(nearest.moved)  # an enclosed threshold may need more bits
            point = breaking_input(constraint, worst, question.row, region, nearest.moved)
            return Counterfactual(
                *facts, tuple(point), nearest.moved, growth.units, nearest.radius, nearest.is_attained
            )

        return self._decide(answer)

    def relevance(
        self,
        x: Any,
        radius: Radius,
        *,
        unit: Unit = "raw",
        held: Iterable[str] = (),
        claim: Claim = SAME,
        at_most: int | None = None,
        max_nodes: int = 2_000,
        max_seconds: float = 60.0,
    ) -> Relevance:
        """Return which features are in every subset-minimal explanation, in some, or in none.

        Whether a feature is in some is a question of subset sums; past `max_nodes` steps of search for one feature, or
        `max_seconds` for all, it is named undecided.
        """
        moving, clock = read_at_most(at_most), Clock(max_nodes, max_seconds)

        def answer(bits: int) -> Relevance:
            question = self._ask(x, radius, unit, held, claim, bits)
            found = roles(Problem(_allowing(question.constraints, None, moving)), **clock.budget)
            return Relevance(question.prediction, *(tuple(self.model.names[i] for i in part) for part in found))

        return self._decide(answer)

    def explanations(
        self,
        x: Any,
        radius: Radius,
        *,
        minimal: str = "size",
        unit: Unit = "raw",
        held: Iterable[str] = (),
        claim: Claim = SAME,
        keep: Iterable[str] = (),
        free: Iterable[str] = (),
        cost: Mapping[str, Number] | None = None,
        groups: Groups = (),
        at_most: int | None = None,
        max_nodes: int = 100_000,
        max_seconds: float = 60.0,
    ) -> Explanations:
        """Return all minimal explanations, to be iterated over: each comes as soon as it is found.

        Parameters that are not named here are those of `explain`.

        Parameters
        ----------
        minimal : {"size", "subset"}
            "size": all sets of the smallest size (of the least cost). "subset": all sufficient sets of which no
            proper subset suffices, whatever their size.
        max_nodes, max_seconds : int, float
            Budgets of the search for the smallest size.
        """
        if not isinstance(minimal, str) or minimal not in ("size", "subset"):
            raise ClaimError(f"minimal must be 'size' or 'subset', got {brief(minimal)}")
        choices = read_choices(self.model, keep=keep, free=free, cost=cost, groups=groups)
        moving, clock = read_at_most(at_most), Clock(max_nodes, max_seconds)

        def answer(bits: int) -> tuple[Problem, Cover | None]:
            constraints = _allowing(self._ask(x, radius, unit, held, claim, bits).constraints, None, moving)
            self._check_free(constraints, choices, free)
            if minimal == "subset":
                return Problem(constraints, choices), None
            cover = smallest_cover(constraints, choices, **clock.budget)
            if not cover.is_best:
                low, high = (_plain_cost(choices.unit * cost) for cost in (cover.lower_bound, cover.cost))
                raise BudgetError(
                    f"the least cost is only known to lie between {low} and {high}; raise max_nodes or max_seconds"
                )
            return Problem(constraints, choices), cover

        problem, cover = self._decide(answer)

        def sets() -> Iterator[tuple[str, ...]]:
            found: Iterator[Items] = minimal_sets(problem) if cover is None else smallest_sets(problem, cover)
            for items in _decided(found):
                yield tuple(self.model.names[i] for i in sorted(choices.features(items)))

        def number(most: int) -> tuple[int, int]:
            nodes = Clock(most, 0).nodes
            if cover is None:
                return count_minimal(problem, max_nodes=nodes)
            return count_smallest(problem, cover, max_nodes=nodes)

        return Explanations(sets, number)

    def radius(
        self,
        x: Any,
        features: Iterable[str],
        *,
        unit: Unit = "raw",
        held: Iterable[str] = (),
        claim: Claim = SAME,
    ) -> Limit:
        """Return the largest radius, the same for all features in the given unit, for which these features suffice.

        The answer is exact: a drop is a piecewise-linear function of the radius, with jumps.
        """
        freed = self._others(features)
        growth = self._decide(lambda bits: self._growth(x, 1, unit, held, claim, bits))[1]
        return _limit(growth.reach(freed))

    def certify_radius(
        self,
        x: Any,
        features: Iterable[str],
        *,
        unit: Unit = "raw",
        held: Iterable[str] = (),
        claim: Claim = SAME,
        model_file: str | os.PathLike[str] | None = None,
    ) -> Certificate:
        """Return the proof of what `radius` answers: these features suffice up to there, and no further."""
        names = list(features)
        kept = tuple(dict.fromkeys(self.model.indices(names)))
        question, growth = self._decide(lambda bits: self._growth(x, 1, unit, held, claim, bits))
        return certify_radius(
            self.model, question.statement, growth, growth.reach(self._others(names)), kept, model_file
        )

    def curve(
        self,
        x: Any,
        *,
        until: Number = math.inf,
        unit: Unit = "raw",
        held: Iterable[str] = (),
        claim: Claim = SAME,
        max_nodes: int = 100_000,
        max_seconds: float = 60.0,
    ) -> Curve:
        """Return how the size of the smallest explanation grows with the radius, up to the radius `until`.

        The radius is the same for all features in the given unit. The radii where the size grows are exact.
        """
        end = read_radius("until", until)
        if end is not None and not end:
            raise RadiusError("the curve begins at the radius 0; `until` must be above it")
        clock = Clock(max_nodes, max_seconds)
        question, growth = self._decide(lambda bits: self._growth(x, 1, unit, held, claim, bits))

        def solve(constraints: Sequence[Constraint]) -> Cover:
            return smallest_cover(constraints, **clock.budget)

        names = self.model.names
        steps = [
            Step(_limit(reach), cover.cost, tuple(names[i] for i in cover.kept))
            for reach, cover in sizes_by_radius(growth, solve, end)
        ]
        return Curve(question.prediction, tuple(steps))

    def inflate(
        self,
        x: Any,
        radius: Radius,
        *,
        features: Iterable[str] | None = None,
        unit: Unit = "raw",
        held: Iterable[str] = (),
        claim: Claim = SAME,
    ) -> Inflated:
        """Return for each kept feature the widest range over which the claim still holds.

        The ranges are found one after the other: each is the widest interval around the row's value (or set of
        categories) that the ranges before it, and the free features in their region, leave room for.

        Parameters
        ----------
        features : names of features, in the order in which they are widened
            They must suffice. Default: those of `explain`, largest drop first.
        """
        if features is None:
            features = self.explain(x, radius, unit=unit, held=held, claim=claim).features
        places = self.model.indices(features)
        if len(set(places)) < len(places):
            twice = next(i for i in places if places.count(i) > 1)
            raise PreferenceError(f"{self.model.names[twice]!r} is named twice; each feature has one range")
        return self._decide(lambda bits: self._inflate(self._ask(x, radius, unit, held, claim, bits), places))

    def _inflate(self, question: _Question, kept: Sequence[int]) -> Inflated:
        names = [self.model.names[i] for i in kept]
        freed = self._others(names)
        falls = [constraint.fall(freed) for constraint in question.constraints]
        for constraint, fall in zip(question.constraints, falls, strict=True):
            if not constraint.allows(fall):
                raise ClaimError(f"{_listed(names)} do not suffice at this radius, so that none of them has room")
        ranges = {}
        for name, i in zip(names, kept, strict=True):
            functions = [cases[i].function for cases in question.worst]
            here = [function(question.row[i]) for function in functions]
            room = widest(functions, here, question.row[i], self.model.domains[i], question.constraints, falls)
            falls = [total((fall, drop)) for fall, drop in zip(falls, room.drops, strict=True)]
            ranges[name] = _range(room)
        return Inflated(question.prediction, ranges, tuple(self.model.names[i] for i in freed))

    # --- how a question is asked ----------------------------------------------------------------------------------

    def _decide(self, answer: Callable[[int], Answer]) -> Answer:
        """Return an answer, with numbers that are not rational enclosed as closely as it needs."""
        bits = _FIRST_BITS
        while True:
            try:
                return answer(bits)
            except Undecided:
                bits *= 2
                if bits > _MOST_BITS:
                    raise BudgetError(
                        f"a sum of drops agrees with the threshold to {_MOST_BITS} bits; change the threshold a little"
                    ) from None

    def _ask(
        self, x: Any, radius: Radius, unit: Unit, held: Iterable[str], claim: Claim, bits: int = _FIRST_BITS
    ) -> _Question:
        row = read_row(self.model, x)
        statement = Statement(read_radii(self.model, radius, unit=unit, held=held), claim, bits)
        region = region_around(self.model, row, statement.radii)
        parts = self._parts(row)
        scores = self._scores(parts)
        inequalities = inequalities_at(claim, self.model, scores, bits)
        constraints, worst = [], []
        for inequality in inequalities:
            values = [_dot(inequality.factors, part) for part in parts]
            drops, cases = bound_drops(self._oriented(inequality.factors), values, row, region)
            margin = inequality.at(scores)
            constraints.append(Constraint(margin, drops, inequality.is_strict, gap=inequality.gap))
            worst.append(cases)
        prediction = predicted(self.model, scores)
        floating = prediction if self._float_predict is None else self._float_predict([plain(value) for value in row])
        return _Question(statement, row, region, inequalities, prediction, floating, tuple(constraints), tuple(worst))

    def _growth(
        self, x: Any, radius: Radius, unit: Unit, held: Iterable[str], claim: Claim, bits: int
    ) -> tuple[_Question, Growth]:
        """Return a question, and the constraints as functions of a factor of its radii."""
        units = read_radii(self.model, radius, unit=unit, held=held)
        if any(one is None for one in units):
            raise RadiusError("changes are counted in radii, so that every radius must be finite")
        question = self._ask(x, radius, unit, held, claim, bits)
        functions = tuple(self._oriented(inequality.factors) for inequality in question.inequalities)
        here = tuple(tuple(map(Pieces.__call__, each, question.row)) for each in functions)
        constraints = tuple(replace(constraint, gap=ZERO) for constraint in question.constraints)
        given = tuple(one for one in units if one is not None)
        return question, Growth(functions, here, constraints, question.row, self.model.domains, given)

    def _charge(self, question: _Question, semantics: Semantics) -> tuple[Rational, ...]:
        """Return what rounding may take from the margin of each part of the claim."""
        if read_semantics(semantics) == "exact":
            return (ZERO,) * len(question.constraints)
        errors = rounding_errors(self.model, question.region, semantics)
        times = 2 if isinstance(question.statement.claim, Within) else 1  # there the row's own score is computed too
        return tuple(
            sum((times * abs(factor) * error for factor, error in zip(one.factors, errors, strict=True)), ZERO)
            for one in question.inequalities
        )

    def _check_free(self, constraints: Sequence[Constraint], choices: Choices, free: Iterable[str]) -> None:
        """Raise an error if the features to be freed in any case break the claim."""
        freed = choices.features(sorted(choices.free))
        for constraint in constraints:
            if not constraint.allows(Drop.of(ZERO)):
                raise ClaimError(
                    f"rounding alone may break the claim: after its charge the margin is {show(constraint.margin)}"
                )
            if not constraint.admits(freed):
                fall = constraint.fall(freed)
                amount = "without bound" if fall.is_infinite else f"by {show(fall.value)}"
                raise PreferenceError(
                    f"{_listed([self.model.names[i] for i in freed])} cannot all be free: together they can lower the "
                    f"margin of {show(constraint.margin)} {amount}; free fewer, or make the radius smaller"
                )

    def _others(self, features: Iterable[str]) -> list[int]:
        fixed = set(self.model.indices(features))
        return [i for i in range(len(self.model.features)) if i not in fixed]

    def _parts(self, row: Row) -> list[tuple[Rational, ...]]:
        """Return each feature's part of each score."""
        return [tuple(one(value) for one in pieces) for pieces, value in zip(self._pieces, row, strict=True)]

    def _scores(self, parts: Iterable[tuple[Rational, ...]]) -> tuple[Rational, ...]:
        return tuple(sum(column, start) for start, *column in zip(self.model.intercept, *parts, strict=True))

    def _oriented(self, factors: tuple[int, ...]) -> tuple[Pieces, ...]:
        """Return each feature's part of `Σ_j factors[j] · score_j`, made once for each claim."""
        if factors not in self._functions:
            self._functions[factors] = tuple(_weighted(factors, pieces) for pieces in self._pieces)
        return self._functions[factors]


class _Question(NamedTuple):
    statement: Statement
    row: Row
    region: Region
    inequalities: tuple[Inequality, ...]
    prediction: Any
    float_prediction: Any
    constraints: tuple[Constraint, ...]
    worst: tuple[tuple[Worst, ...], ...]


def _dot(factors: tuple[int, ...], values: tuple[Rational, ...]) -> Rational:
    if len(factors) == 1:
        return values[0] if factors[0] == 1 else factors[0] * values[0]
    return sum((factor * value for factor, value in zip(factors, values, strict=True) if factor), ZERO)


def _weighted(factors: tuple[int, ...], pieces: tuple[Pieces, ...]) -> Pieces:
    used = [(fmpq(factor), one) for factor, one in zip(factors, pieces, strict=True) if factor]
    return used[0][1] if len(used) == 1 and used[0][0] == ONE else combine(used)


def _decided(sets: Iterator[Items]) -> Iterator[Items]:
    """Pass sets on; a threshold that is not known well enough for the next one ends them with an error."""
    try:
        yield from sets
    except Undecided:
        raise BudgetError("a sum of drops nearly equals the threshold; change the threshold a little") from None


def _allowing(
    constraints: Sequence[Constraint], shift: Sequence[Rational] | None, at_most: int | None
) -> tuple[Constraint, ...]:
    """Return constraints with their margins shifted, and a budget of features that move at once."""
    shifts = shift or [ZERO] * len(constraints)
    return tuple(
        replace(constraint, margin=constraint.margin + one, at_most=at_most)
        if one or at_most is not None
        else constraint
        for constraint, one in zip(constraints, shifts, strict=True)
    )


def _caveat(cover: Cover, norm: float, semantics: Semantics) -> str:
    """Return why no smaller set is ruled out."""
    if not cover.is_best:
        return "the search ended at its budget"
    if norm != math.inf:
        return f"the box around the ball of the {norm}-norm was searched; the ball itself may need fewer"
    return f"the bound on the rounding error of {semantics} was charged; the deployed model may need fewer"


def _plain_cost(cost: Rational) -> int | Fraction:
    return int(cost.p) if cost.q == 1 else to_fraction(cost)


def _limit(reach: Reach) -> Limit:
    return Limit(math.inf if reach.radius is None else to_fraction(reach.radius), reach.is_attained)


def _range(room: Room) -> Range:
    low, high = (None if end.at is None else to_fraction(end.at) for end in (room.low, room.high))
    values = tuple(plain(value) for value in room.values)
    return Range(low, high, room.low.is_included, room.high.is_included, room.is_integers, values)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names) or "no features"

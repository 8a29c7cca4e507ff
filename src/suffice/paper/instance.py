"""What verifiers are asked: a row, a region and a claim of an additive model, as queries about its components.

In: an additive model, a row, a radius and a claim. Out: an `Instance`, from which every query of the paper's algorithms
is made. A query always reads "does `constant + Σ components ≥ 0` hold on this box?": thresholds and fixed features are
in the constant, the output bias of the network that a verifier sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from uuid import uuid4

from flint import fmpq

from suffice.errors import VerifierError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain
from suffice.model.term import Term
from suffice.numbers.enclosure import exactly
from suffice.numbers.exact import ZERO, Rational
from suffice.numbers.values import Value
from suffice.paper.layers import Layers, layers_of, multiplier_of, own_values, without_scaling
from suffice.question.claim import Claim
from suffice.question.claims import Same, inequalities_at, predicted
from suffice.question.region import Radius, Unit, in_own_units, read_reach, region_around
from suffice.question.row import read_row
from suffice.shapes import PieceBudget, Pieces
from suffice.shapes.combining import straight
from suffice.shapes.pieces import combine

MOST_VALUES = 100_000  # of a feature that a verifier of networks is asked about: each is looked at


class Component:
    """One feature's part of a claim's score, `Σ_j factors[j] · f_ij`, in the user's units; the same for all rows."""

    def __init__(self, model: AdditiveModel, term: Term, factors: tuple[int, ...], max_pieces: int) -> None:
        (self.feature,) = term.features
        self._token = uuid4().hex
        self.name = model.features[self.feature].name
        self.factors, self.max_pieces = factors, max_pieces
        feature = model.features[self.feature]
        self.shape, self.center, self.scale = without_scaling(term.shape, feature.center, feature.scale)
        self.multiplier = multiplier_of(self.shape)  # the least multiple of the component that is a network of floats
        self._own = own_values(self.shape)

    @cached_property
    def pieces(self) -> Pieces:
        """The exact pieces; `PieceBudgetError` if there are too many."""
        compiled = self.shape.compile(PieceBudget(self.max_pieces, self.name))
        pieces = straight(compiled)
        if pieces is None:
            raise VerifierError(f"the shape of {self.name!r} is curved, which no verifier here can be asked about")
        used = [(fmpq(f), one) for f, one in zip(self.factors, pieces, strict=True) if f]
        return combine(used).rescaled(self.center, self.scale)

    @cached_property
    def layers(self) -> Layers:
        """The network, of the scaled input; `VerifierError` if the shape is none.

        It holds for numbers without a value of their own (`is_network_on`).
        """
        return layers_of(self.name, self.shape, self.factors)

    @cached_property
    def whole(self) -> Component:
        """`multiplier` times this component, whose factors are floats; itself where they are already."""
        return self.times(self.multiplier)

    def times(self, multiple: int) -> Component:
        """Return a multiple of the component; the same object every time."""
        if multiple == 1:
            return self
        if multiple not in self._multiples:
            made = Component.__new__(Component)
            made.__dict__.update({key: value for key, value in self.__dict__.items() if key not in _CACHED})
            made._token, made.factors = f"{self._token}·{multiple}", tuple(multiple * f for f in self.factors)
            self._multiples[multiple] = made
        return self._multiples[multiple]

    @cached_property
    def _multiples(self) -> dict[int, Component]:
        return {}

    @cached_property
    def has_network(self) -> bool:
        """Whether the shape is a network wherever no table says otherwise."""
        try:
            return bool(self.whole.layers.weights)
        except VerifierError:
            return False

    def is_network_on(self, low: Rational, high: Rational) -> bool:
        """Whether no number from `low` to `high`, in the user's units, has a value of its own."""
        numbers = (key * self.scale + self.center for key in self._own if isinstance(key, fmpq))
        return not any(low <= number <= high for number in numbers)

    def __call__(self, value: Value) -> Rational:
        """Return the exact value: a table's own, by way of the network itself, or by its pieces."""
        key = (value - self.center) / self.scale if isinstance(value, fmpq) else value
        if key in self._own:
            return sum((f * v for f, v in zip(self.factors, self._own[key], strict=True)), ZERO)
        if isinstance(key, fmpq) and self.has_network:
            return self.whole.layers.at(key) / self.multiplier
        return self.pieces(value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel to another process without what is cached, and become the same object there every time."""
        state = {key: value for key, value in self.__dict__.items() if key not in _CACHED}
        return _revive, (self._token, state)


_CACHED = ("pieces", "layers", "whole", "has_network", "_multiples")
_REVIVED: dict[str, Component] = {}  # in a worker: components that have arrived, with all that they have cached since


def _revive(token: str, state: dict[str, Any]) -> Component:
    if token not in _REVIVED:
        component = Component.__new__(Component)
        component.__dict__.update(state)
        _REVIVED[token] = component
    return _REVIVED[token]


@dataclass(frozen=True, eq=False)
class Part:
    """A component whose feature is free: where it is at the row, and where it may go."""

    component: Component
    at: Value
    region: Domain
    here: Rational  # the component's value at the row

    @cached_property
    def values(self) -> tuple[Value, ...] | None:
        """Every value of the region, where they are few enough to look at; None where they are not."""
        listed: list[Value] = [*self.region.categories_, *self.region.codes_]
        for low, high, is_integers in self.region.spans:
            if low is None or high is None or not (is_integers or low == high) or high - low > MOST_VALUES:
                return None
            listed += [low] if low == high else [fmpq(v) for v in range(int(low.ceil()), int(high.floor()) + 1)]
        return tuple(listed) if len(listed) <= MOST_VALUES else None

    @property
    def interval(self) -> tuple[Rational, Rational]:
        """The region as one bounded interval of real numbers; `VerifierError` if it is something else."""
        spans = self.region.spans
        if len(spans) == 1 and not (self.region.categories_ or self.region.codes_):
            (span,) = spans
            if span.low is not None and span.high is not None and (not span.is_integers or span.low == span.high):
                if self.component.is_network_on(span.low, span.high):
                    return span.low, span.high
                raise VerifierError(
                    f"feature {self.component.name!r} may be {self.region}, where a number has a value of its own; "
                    "declare it as a special code of the domain, or ask the exact verifier"
                )
        raise VerifierError(
            f"feature {self.component.name!r} may be {self.region}; verifiers of networks need one bounded interval of "
            f"real numbers, or at most {MOST_VALUES:,} values: give a finite radius, or ask the exact verifier"
        )

    @property
    def ends(self) -> tuple[Value, ...]:
        """As far as the feature may go: every category and code, and the ends of the numbers."""
        if self.values is None:
            return self.interval
        numbers = (end for low, high, _ in self.region.spans for end in (low, high) if end is not None)
        return (*self.region.categories_, *self.region.codes_, *numbers)

    def times(self, multiple: int) -> Part:
        """Return the part of a multiple of the component; the same object every time."""
        return self if multiple == 1 else _times(self, multiple)

    @property
    def scaled(self) -> tuple[Rational, Rational]:
        """The interval as the network sees it."""
        ends = [(end - self.component.center) / self.component.scale for end in self.interval]
        return min(ends), max(ends)

    def value_of(self, scaled: Rational) -> Rational:
        """Return the user's value for one that the network sees, moved into the interval if it lies outside."""
        low, high = self.interval
        return min(max(scaled * self.component.scale + self.component.center, low), high)


@lru_cache(maxsize=4096)
def _times(part: Part, multiple: int) -> Part:
    return Part(part.component.times(multiple), part.at, part.region, part.here * multiple)


@dataclass(frozen=True, eq=False)
class Query:
    """Does `constant + Σ components ≥ 0` (`> 0` where strict) hold whatever the parts' features do?"""

    parts: tuple[Part, ...]
    constant: Rational
    is_strict: bool

    @property
    def margin(self) -> Rational:
        """The left side at the row."""
        return self.constant + sum((part.here for part in self.parts), ZERO)

    def at(self, point: Sequence[Value]) -> Rational:
        """Return the exact left side at a point, one value for each part."""
        return self.constant + sum((p.component(v) for p, v in zip(self.parts, point, strict=True)), ZERO)

    def is_broken_by(self, point: Sequence[Value]) -> bool:
        """Whether a point lies in the box and breaks the inequality, in exact arithmetic."""
        if not all(part.region.holds(value) for part, value in zip(self.parts, point, strict=True)):
            return False
        value = self.at(point)
        return value < 0 or (value == 0 and self.is_strict)


@dataclass(frozen=True, eq=False)
class Instance:
    """A row to explain, as the paper's ⟨f, x, ε⟩: one side for a score, several for a winner against all others.

    A side is the query with every feature free.

    With several sides the importance of a feature is that of the published reduction, `f_t - max_j f_j` taken feature
    by feature: its minimum over a region is the least of the sides' minima, because `a - max_j b_j = min_j (a - b_j)`.
    """

    names: tuple[str, ...]
    sides: tuple[Query, ...]

    @property
    def size(self) -> int:
        """How many features there are."""
        return len(self.names)

    @property
    def is_additive(self) -> bool:
        """Whether there is one side, so that sorting by importance leads to a smallest set."""
        return len(self.sides) == 1

    def here(self, feature: int) -> Rational:
        """Return the component's value at the row."""
        return min(side.parts[feature].here for side in self.sides)

    def component_at_least(self, feature: int, threshold: Rational) -> tuple[Query, ...]:
        """Return the queries that together ask "is the component at least the threshold?"."""
        return tuple(Query((side.parts[feature],), -threshold, is_strict=False) for side in self.sides)

    def sufficient(self, fixed: Iterable[int]) -> tuple[Query, ...]:
        """Return the queries that together ask "does fixing these features keep the claim?"."""
        kept = set(fixed)
        queries = []
        for side in self.sides:
            constant = sum((part.here for i, part in enumerate(side.parts) if i in kept), side.constant)
            free = tuple(part for i, part in enumerate(side.parts) if i not in kept)
            queries.append(Query(free, constant, side.is_strict))
        return tuple(queries)


class Problem:
    """An additive model to be explained through a verifier; makes instances, and keeps components for all of them.

    Parameters
    ----------
    model : AdditiveModel
        Every feature has one term.
    max_pieces : int
        Budget of affine pieces, for verifiers that tabulate. Nothing is tabulated before one asks.

    Examples
    --------
    >>> from suffice import AdditiveModel, ReluNetwork
    >>> hat = ReluNetwork([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], [0.0]])
    >>> problem = Problem(AdditiveModel([hat, hat], intercept=-1))
    >>> instance = problem.instance([1, 0.5], radius=1)
    >>> instance.sides[0].margin
    1/2
    >>> [query.margin for query in instance.sufficient([0])]
    [1/2]
    """

    def __init__(self, model: AdditiveModel, max_pieces: int = 10_000) -> None:
        model.refuse_pairs("the published algorithms", VerifierError)
        self.model, self.max_pieces = model, max_pieces
        self._components: dict[tuple[int, ...], tuple[Component, ...]] = {}

    def components(self, factors: tuple[int, ...]) -> tuple[Component, ...]:
        """Return each feature's part of `Σ_j factors[j] · score_j`."""
        if factors not in self._components:
            made = (Component(self.model, term, factors, self.max_pieces) for term in self.model.mains)
            self._components[factors] = tuple(made)
        return self._components[factors]

    def scores(self, row: Sequence[Value]) -> tuple[Rational, ...]:
        """Return the exact scores of a row, evaluated through the networks themselves."""
        outputs = len(self.model.intercept)
        units = [tuple(int(j == k) for k in range(outputs)) for j in range(outputs)]
        return tuple(
            sum((component(value) for component, value in zip(self.components(unit), row, strict=True)), start)
            for unit, start in zip(units, self.model.intercept, strict=True)
        )

    def instance(self, x: Any, radius: Radius, *, unit: Unit = "raw", claim: Claim | None = None) -> Instance:
        """Return the row as an instance; arguments are those of `Explainer.explain`."""
        row = read_row(self.model, x)
        (claim or Same()).check(self.model)
        radii = in_own_units(self.model, read_reach(self.model, radius), unit)
        region = region_around(self.model.domains, row, radii)
        scores = self.scores(row)
        sides = []
        for inequality in inequalities_at(claim or Same(), self.model, scores):
            components = self.components(inequality.factors)
            parts = tuple(Part(c, v, r, c(v)) for c, v, r in zip(components, row, region, strict=True))
            start = sum((f * b for f, b in zip(inequality.factors, self.model.intercept, strict=True)), ZERO)
            sides.append(Query(parts, start + exactly(inequality.constant), inequality.is_strict))
        return Instance(self.model.names, tuple(sides))

    def predict(self, x: Any) -> Any:
        """Return what the exact scores of a row decide."""
        return predicted(self.model, self.scores(read_row(self.model, x)))

"""What the library answers: values that say what is proven, read by texts, documents and pages."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from flint import fmpq

from suffice.breaking import breaking_input, easiest_break
from suffice.claims import Claim, Inequality
from suffice.domain import show
from suffice.drops import Constraint, Drop, Worst
from suffice.errors import ClaimError, FeatureNameError, NumberError, Undecided
from suffice.labels import Label, Value
from suffice.model import AdditiveModel
from suffice.preferences import Choices
from suffice.rational import Number, Rational, rational, to_fraction
from suffice.regions import Radii, Region, read_radius
from suffice.rows import Row
from suffice.search.covering import Tree

if TYPE_CHECKING:
    from suffice.certificate import Certificate


class Status(Enum):
    """What is known of a result."""

    PROVEN = "proven"  # holds for the exact real-valued model, minimality included
    BOUNDED = "bounded"  # proven to suffice; whether a smaller set does is not known, see `lower_bound` and `caveat`

    def __repr__(self) -> str:
        return f"Status.{self.name}"


class _Shown:
    """A result that notebooks show as a page would."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from suffice.present.html import to_html

        return to_html(self)


class Statement(NamedTuple):
    """What was asked of a row, as certificates state it."""

    radii: Radii
    claim: Claim
    bits: int  # how closely numbers of the claim that are not rational were enclosed
    at_most: int | None = None
    norm: float = math.inf


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(_Shown):
    """A smallest set of features that keeps a claim true, and what is proven of it.

    `print(why)` says it in words. Numbers are exact rationals. A claim may have several parts (the winner against each
    other class); `margin`, `drops` and `witnesses` are those of the tightest part, the one with the least slack.
    """

    model: AdditiveModel
    statement: Statement
    row: Row
    region: Region
    inequalities: tuple[Inequality, ...]
    prediction: Any
    float_prediction: Any  # the estimator's own, in float arithmetic; the same but for scores within rounding of 0
    constraints: tuple[Constraint, ...]
    worst: tuple[tuple[Worst, ...], ...]
    kept: tuple[int, ...]
    choices: Choices  # what the search could choose among
    lower_bound: int | Fraction  # no allowed set costs less; a feature costs 1 if nothing else is said
    status: Status
    caveat: str | None  # why a smaller set may exist, where none is ruled out
    charged: tuple[Rational, ...]  # what rounding may take from the margin of each part of the claim
    proof: Tree | None  # why no allowed set costs less, where sorting is not reason enough
    ruling: tuple[Constraint, ...]  # what the proof is about: inputs that break these break the claim for certain

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features to keep fixed, largest drop first."""
        names = self.model.names
        return tuple(names[i] for i in self.kept)

    @property
    def size(self) -> int:
        """How many features are kept fixed."""
        return len(self.kept)

    @property
    def cost(self) -> Fraction:
        """What keeping these features costs; without preferences, how many they are."""
        return to_fraction(self.choices.unit * self.choices.cost(self.kept))

    @property
    def freed(self) -> tuple[str, ...]:
        """Names of all other features, in the order of the model."""
        kept = set(self.kept)
        return tuple(name for i, name in enumerate(self.model.names) if i not in kept)

    @property
    def tightest(self) -> int:
        """Which part of the claim has the least slack."""
        return min(range(len(self.constraints)), key=self._slack)

    @property
    def margin(self) -> Fraction:
        """By how much the claim holds at the row: the score's distance from breaking it, less what is charged."""
        return to_fraction(self.constraints[self.tightest].margin)

    @property
    def slack(self) -> Fraction:
        """What is left of the margin when every free feature does its worst."""
        return to_fraction(self._slack(self.tightest))

    def _slack(self, part: int) -> Rational:
        kept, constraint = set(self.kept), self.constraints[part]
        return constraint.margin - constraint.fall([i for i in range(len(self.row)) if i not in kept]).value

    @property
    def drops(self) -> dict[str, Fraction | float]:
        """How far each feature can lower the margin within the region; infinity if without bound."""
        drops = self.constraints[self.tightest].drops
        return {name: _shown(drop) for name, drop in zip(self.model.names, drops, strict=True)}

    @property
    def witnesses(self) -> dict[str, Fraction | Label | None]:
        """For each feature the value that attains its drop; None where the drop is approached but not attained."""
        part = self.tightest
        return {
            name: plain(worst.value_at_most(worst.infimum.value)) if drop.is_attained else None
            for name, drop, worst in zip(self.model.names, self.constraints[part].drops, self.worst[part], strict=True)
        }

    def counterexample(self, without: str) -> dict[str, Fraction | Label]:
        """Return an input of the region that breaks the claim, once a kept feature is freed too.

        Parameters
        ----------
        without : str
            One of `features`. It moves, and as few of the free features as can be; the others keep the row's
            values. Numbers are short floats where the claim leaves room for them.

        Raises
        ------
        FeatureNameError
            If the feature is not kept: without it nothing changes.
        ClaimError
            If no such input is known: the feature is kept by preference, or whether it is needed is not known.
        """
        if without not in self.features:
            raise FeatureNameError(without, self.features, what="kept feature")
        removed, kept = self.model.index(without), set(self.kept)
        free = [i for i in range(len(self.row)) if i not in kept]
        try:
            best = easiest_break(self.ruling, [removed], free)
        except Undecided:
            best = None
        if best is None:
            reason = self.caveat or "it is kept by preference, not by need"
            raise ClaimError(f"no input is known to break the claim without {without!r}: {reason}")
        c, moved = best
        point = breaking_input(self.ruling[c], self.worst[c], self.row, self.region, moved)
        return {name: plain(value) for name, value in zip(self.model.names, point, strict=True)}

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof of this result, for `suffice-check` or anyone else to check.

        Parameters
        ----------
        model_file : path, optional
            The file that the certificate is for. Default: the one that `model.save` writes.

        Raises
        ------
        ModelFileError
            If the file holds another model.
        """
        from suffice.certificate import certify_explanation

        return certify_explanation(self, model_file)

    def __repr__(self) -> str:
        return f"<Explanation: {self.prediction!r}, {self.size} of {len(self.row)} features, {self.status.value}>"

    def __str__(self) -> str:
        from suffice.present.text import describe

        return describe(self)


@dataclass(frozen=True, slots=True, repr=False)
class Contrast(_Shown):
    """A smallest set of features whose change alone breaks a claim, and an input that shows it.

    Where nothing in the region breaks the claim there is no such set: `is_possible` is False.
    """

    model: AdditiveModel
    statement: Statement
    row: Row
    region: Region
    inequalities: tuple[Inequality, ...]
    prediction: Any
    point: tuple[Value, ...] | None
    moved: tuple[int, ...]

    @property
    def is_possible(self) -> bool:
        """Whether any input of the region breaks the claim."""
        return self.point is not None

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that change, largest drop first; no smaller set is enough."""
        names = self.model.names
        return tuple(names[i] for i in self.moved)

    @property
    def size(self) -> int:
        """How many features change."""
        return len(self.moved)

    @property
    def counterexample(self) -> dict[str, Fraction | Label]:
        """An input where the claim is false, by feature name; `ClaimError` if there is none."""
        if self.point is None:
            raise ClaimError("no input of the region breaks the claim")
        return {name: plain(value) for name, value in zip(self.model.names, self.point, strict=True)}

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof that the input breaks the claim and fewer features cannot; see `Explanation.certificate`."""
        from suffice.certificate import certify_contrast

        return certify_contrast(self, model_file)

    def __repr__(self) -> str:
        what = f"{self.size} of {len(self.row)} features" if self.is_possible else "impossible"
        return f"<Contrast: {self.prediction!r}, {what}, proven>"

    def __str__(self) -> str:
        from suffice.present.text import describe_contrast

        return describe_contrast(self)


@dataclass(frozen=True, slots=True, repr=False)
class Counterfactual(Contrast):
    """Of all inputs that break the claim by changing as few features as can be, one with the smallest largest change.

    Changes are counted in radii. Below `least_change` nothing breaks the claim with so few features; where that change
    itself does not (`is_attained` is False), the input goes beyond it as little as makes no difference.
    """

    radii: tuple[Rational, ...]
    least: Rational | None
    is_attained: bool

    @property
    def least_change(self) -> Fraction:
        """The smallest largest change, in radii; `ClaimError` if nothing breaks the claim."""
        if self.least is None:
            raise ClaimError("no input of the region breaks the claim")
        return to_fraction(self.least)

    @property
    def changes(self) -> dict[str, Fraction]:
        """How far each changed feature goes, in radii; a change of category counts as nothing."""
        if self.point is None:
            return {}
        found = {}
        for i in self.moved:
            old, new = self.row[i], self.point[i]
            is_number = isinstance(old, fmpq) and isinstance(new, fmpq) and self.model.domains[i].spans
            found[self.model.names[i]] = _distance(old, new) / to_fraction(self.radii[i]) if is_number else Fraction(0)
        return found

    def __repr__(self) -> str:
        what = f"{self.size} of {len(self.row)} features" if self.is_possible else "impossible"
        return f"<Counterfactual: {self.prediction!r}, {what}, proven>"

    def __str__(self) -> str:
        from suffice.present.text import describe_counterfactual

        return describe_counterfactual(self)


@dataclass(frozen=True, slots=True)
class Relevance(_Shown):
    """Features by what the subset-minimal explanations make of them, in the order of the model."""

    prediction: Any
    necessary: tuple[str, ...]  # in every sufficient set: alone it can break the claim
    relevant: tuple[str, ...]  # in some subset-minimal explanation, but not in every one
    irrelevant: tuple[str, ...]  # in none
    undecided: tuple[str, ...]  # not necessary; whether relevant is not known within the budget

    @property
    def status(self) -> Status:
        """Whether every feature is settled."""
        return Status.BOUNDED if self.undecided else Status.PROVEN

    def __str__(self) -> str:
        from suffice.present.text import describe_relevance

        return describe_relevance(self)


class Explanations:
    """All minimal explanations of a decision, found one after the other while they are asked for.

    Iterating yields tuples of feature names, each set once, in a fixed order; it can be done again and again.
    """

    def __init__(self, sets: Callable[[], Iterator[tuple[str, ...]]], number: Callable[[int], tuple[int, int]]) -> None:
        self._sets, self._number = sets, number

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return self._sets()

    def count(self, *, max_nodes: int = 100_000) -> tuple[int, int]:
        """Return proven bounds on how many there are: the number, twice, unless the budget ends first."""
        return self._number(max_nodes)


@dataclass(frozen=True, slots=True)
class Limit:
    """The largest radius for which some features suffice.

    They do at every smaller radius, and at this one if `is_attained`. Infinity stands for every radius;
    `is_attained` then says whether they suffice on the whole domain, special codes included.
    """

    radius: Fraction | float
    is_attained: bool

    def __str__(self) -> str:
        if self.radius == math.inf:
            return "any radius" + (", and the whole domain" if self.is_attained else "")
        return f"{'up to' if self.is_attained else 'below'} {show(rational(self.radius))}"


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of radii that ends at `limit` and begins where the one before ends; no smaller set suffices there."""

    limit: Limit
    cost: int | Fraction  # how many features, if nothing else is said
    features: tuple[str, ...]  # suffices at the end of the stretch, so on all of it


@dataclass(frozen=True, slots=True)
class Curve(_Shown):
    """Size of the smallest explanation against the radius, with the exact radii where it grows."""

    prediction: Any
    steps: tuple[Step, ...]

    def at(self, radius: Number) -> Step:
        """Return the step that a radius is in."""
        exact = read_radius("the radius", radius)
        place = math.inf if exact is None else to_fraction(exact)
        for step in self.steps:
            end = step.limit
            if place < end.radius or (place == end.radius and end.is_attained):
                return step
        raise ClaimError(
            f"the curve ends at the radius {self.steps[-1].limit.radius}; ask for it with a larger `until`"
        )

    def __str__(self) -> str:
        from suffice.present.text import describe_curve

        return describe_curve(self)


@dataclass(frozen=True, slots=True)
class Range:
    """Values of a kept feature for which the claim still holds: those of its domain in an interval, or some labels."""

    low: Fraction | None  # None: without end, or no numbers at all
    high: Fraction | None
    has_low: bool
    has_high: bool
    is_integers: bool
    values: tuple[Fraction | Label, ...]  # categories or codes; then there is no interval

    def __contains__(self, value: Any) -> bool:
        try:
            number = to_fraction(rational(value)) if not isinstance(value, str) else None
        except NumberError:
            number = None
        if self.values:
            return value in self.values if number is None else number in self.values
        if number is None or (self.is_integers and number.denominator != 1):
            return False
        above = self.low is None or number > self.low or (number == self.low and self.has_low)
        return above and (self.high is None or number < self.high or (number == self.high and self.has_high))

    def __str__(self) -> str:
        from suffice.present.text import describe_range

        return describe_range(self)


@dataclass(frozen=True, slots=True)
class Inflated(_Shown):
    """An explanation with room: each kept feature may move within a range, the others within the region.

    The ranges hold together, and each is as wide as those before it allow.
    """

    prediction: Any
    ranges: dict[str, Range]
    freed: tuple[str, ...]

    def __str__(self) -> str:
        from suffice.present.text import describe_inflated

        return describe_inflated(self)


def _distance(old: Value, new: Value) -> Fraction:
    assert isinstance(old, fmpq)
    assert isinstance(new, fmpq)
    return to_fraction(abs(new - old))


def _shown(drop: Drop) -> Fraction | float:
    return math.inf if drop.is_infinite else to_fraction(drop.value)


def plain(value: Value) -> Fraction | Label:
    """Return a value as users see it."""
    return to_fraction(value) if isinstance(value, fmpq) else value

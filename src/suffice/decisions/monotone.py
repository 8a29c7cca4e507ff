"""Does more of a feature never count against a decision, whatever the other features are?

In: a compiled model, a feature, a direction, a class, perhaps a table. Out: a `Monotonicity`: proven, or the stretches
over which the score falls, with two inputs that show it, and the *perverse* rows: those that have the decision now and
would lose it by moving in the direction that should help.

With pair terms the fall between two values of the feature is a sum of functions of one other feature each, for every
two features have one term; so its worst case is the sum of theirs, and exact.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.answers.documents import number_document, value_document
from suffice.answers.words import approximately
from suffice.batch.lookup import WIDER
from suffice.certificate.certify import certify_insufficient
from suffice.certificate.document import Certificate
from suffice.core.case import Case, landscape_of
from suffice.core.drops import Separable, Worst, bound_drops
from suffice.decisions.rows import Portfolio, each_value
from suffice.decisions.stations import Station, stations
from suffice.decisions.words import rows_document, table_facts
from suffice.errors import BoxError, CertificateError
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.layout.told import Told
from suffice.model.compiled import Compiled
from suffice.model.domain import in_full
from suffice.numbers.enclosure import exactly
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float, rational, to_fraction
from suffice.numbers.values import Value
from suffice.question.box import Box, from_on, listed
from suffice.question.claim import NO_CLASS
from suffice.question.claims import SAME, AtLeast, AtMost
from suffice.question.documents import Json, class_document
from suffice.question.question import Question
from suffice.shapes.pieces import Pieces, combine
from suffice.shapes.slices import sliced


@dataclass(frozen=True, slots=True)
class Fall:
    """Over which values of a feature the score can fall, by how much at worst, and two inputs that show it.

    Parameters
    ----------
    start, end : Fraction or None
        Where the fall begins and ends, in the direction asked about, the same number where the score jumps at it; None
        where it has no beginning or no end.
    amount : Fraction or None
        How far it falls from the one to the other at worst; None without bound.
    before, after : tuple of values
        Inputs that differ in the feature alone, the second with the lower score.
    """

    start: Fraction | None
    end: Fraction | None
    amount: Fraction | None
    before: tuple[Value, ...]
    after: tuple[Value, ...]


@dataclass(frozen=True)
class Monotonicity(Told):
    """Whether a decision never suffers as a feature moves in a direction; `bool()` gives the verdict.

    Parameters
    ----------
    compiled : Compiled
        The model.
    feature : int
        The feature, by index.
    direction : int
        1 if it rises, -1 if it falls.
    winner : int
        The class whose score is looked at, by index.
    falls : tuple of Fall
        Where the score falls; none if it never does.
    rows : int
        How many rows of the table have the decision.
    perverse : tuple of int
        Those that would lose it by moving in the direction.
    failed : mapping of int to str
        Rows of the table that the model cannot read, and why.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> explainer = Explainer(AdditiveModel([Steps([18, 65], [-1, 2, 1])], features=["age"], classes=["no", "yes"]))
    >>> found = explainer.monotone("age", 1, "yes")
    >>> bool(found), [(int(fall.start), int(fall.amount)) for fall in found.falls]
    (False, [(65, 1)])
    """

    compiled: Compiled
    feature: int
    direction: int
    winner: int
    falls: tuple[Fall, ...]
    rows: int = 0
    perverse: tuple[int, ...] = ()
    failed: Mapping[int, str] | None = None

    def __bool__(self) -> bool:
        return not self.falls

    @property
    def sentence(self) -> str:
        """What is claimed, in words."""
        model = self.compiled.model
        score = "the prediction"
        if self.winner != NO_CLASS:
            name = model.classes[self.winner]
            score = f"the score for {name}" if len(model.classes) == 2 else f"the lead of {name} over any other class"
        moves = "rises" if self.direction > 0 else "falls"
        return f"as {model.names[self.feature]} {moves}, {score} never falls, whatever the other features are"

    @property
    def _worst(self) -> Fall:
        return max(self.falls, key=lambda fall: (fall.amount is None, fall.amount or 0))

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof that the score falls: from an input's, moving the feature alone, to a lower one.

        Raises
        ------
        CertificateError
            If it never falls, of which the format cannot speak, or if there are more than two classes.
        """
        model = self.compiled.model
        if not self.falls or len(model.classes) > 2:
            raise CertificateError(
                "only that a score falls has a certificate, for a regression or two classes: certificates speak of one "
                "row, and that it never falls is about all"
            )
        before, after = self._worst.before, self._worst.after
        (score,) = self.compiled.exact_scores(before)
        claim = AtMost(score) if self.winner == 0 else AtLeast(score)  # the score is that of the second class
        held = [name for name in model.names if name != model.names[self.feature]]
        question = Question.read(model, math.inf, unit="raw", claim=claim, immutable=held)
        region = tuple(listed(domain, both) for domain, *both in zip(model.domains, before, after, strict=True))
        case = Case.of(self.compiled, question, before, region=region)
        return certify_insufficient(case, [], after, model_file)

    def facts(self) -> Facts:
        """Return the verdict, where the score falls, and the rows that suffer."""
        name = self.compiled.model.names[self.feature]
        rows = table_facts(
            self.rows, self.perverse, self.failed, "with this decision", f"moving {name} so loses the decision"
        )
        if self:
            return (Fact("Proven", f"{self.sentence}."), *rows)
        told = tuple(
            Row(
                (
                    f"{_told_end(fall.start, -self.direction)} -> {_told_end(fall.end, self.direction)}",
                    _told_amount(fall),
                )
            )
            for fall in self.falls
        )
        worst = self._worst
        before, after = worst.before[self.feature], worst.after[self.feature]
        others = [
            f"{other} = {in_full(value)}"
            for i, (other, value) in enumerate(zip(self.compiled.model.names, worst.before, strict=True))
            if i != self.feature and self.compiled.pairs
        ]
        given = f" with {', '.join(others)}" if others else ""
        shown = Fact("For example", f"{name} {in_full(before)} -> {in_full(after)}{given} lowers it.")
        return (Fact("Refuted", f"it is not so that {self.sentence}:"), Grid((name, "falls by"), told), shown, *rows)

    def document(self) -> Json:
        """Return the verdict as JSON."""
        model = self.compiled.model
        return {
            "kind": "monotone",
            "holds": bool(self),
            "sentence": self.sentence,
            "feature": model.names[self.feature],
            "direction": "up" if self.direction > 0 else "down",
            "about": None if self.winner == NO_CLASS else class_document(model.classes[self.winner]),
            "falls": [
                {
                    "start": None if fall.start is None else number_document(fall.start),
                    "end": None if fall.end is None else number_document(fall.end),
                    "amount": None if fall.amount is None else number_document(fall.amount),
                    "before": [value_document(value) for value in fall.before],
                    "after": [value_document(value) for value in fall.after],
                }
                for fall in self.falls
            ],
            **rows_document(self.rows, self.perverse, self.failed),
        }


def monotone(
    compiled: Compiled, feature: int, direction: int, winner: int, portfolio: Portfolio | None = None
) -> Monotonicity:
    """Return whether a score never falls as a feature moves in a direction."""
    model = compiled.model
    if compiled.is_curved:
        raise BoxError("monotone cannot deal with shapes that are curved between their knots yet")
    if not model.domains[feature].spans:
        raise BoxError(f"{model.names[feature]!r} has no numbers, so that nothing rises or falls along it")
    falls = [
        fall for factors in _factors(compiled, winner) for fall in _Walk(compiled, feature, factors).run(direction)
    ]
    if portfolio is None:
        return Monotonicity(compiled, feature, direction, winner, tuple(falls))
    has = portfolio.predicts(winner) & portfolio.readable() if winner != NO_CLASS else np.zeros(len(portfolio), bool)
    found = _perverse(portfolio, feature, direction, winner, has) if falls else ()
    return Monotonicity(
        compiled, feature, direction, winner, tuple(falls), int(has.sum()), tuple(found), portfolio.failed
    )


def _factors(compiled: Compiled, winner: int) -> list[tuple[int, ...]]:
    """Return the scores that must not fall: of a class its lead over each other one."""
    if winner == NO_CLASS:
        return [(1,)]
    return [part.factors for part in SAME.parts(compiled.model, winner)]


class _Walk:
    """One score along one feature."""

    def __init__(self, compiled: Compiled, feature: int, factors: tuple[int, ...]) -> None:
        self.compiled, self.feature = compiled, feature
        self.own = compiled.lines(factors)[feature]
        pairs = [(both, pair) for both, pair in compiled.oriented_pairs(factors) if feature in both]
        self.pairs = [(both[1 - both.index(feature)], both.index(feature), pair) for both, pair in pairs]
        self.anchor = Box.read(compiled.model, {}).anchor()
        bends = {cut.place for _, side, pair in self.pairs for cut in pair.axes[side].cuts}
        self.stations = stations(compiled.model.domains[feature], {*self.own.knots, *bends})

    def run(self, direction: int) -> list[Fall]:
        """Return the stretches over which the score can fall, neighbours together."""
        line = self.stations if direction > 0 else self.stations[::-1]
        stretches: list[tuple[Station, Station]] = []
        for start, end in pairwise(line):
            if not self._falls(start, end):
                continue
            if stretches and self._goes_on(*stretches[-1], start, end):
                stretches[-1] = stretches[-1][0], end
            else:
                stretches.append((start, end))
        return [self._fall(start, end) for start, end in stretches]

    def _goes_on(self, first: Station, last: Station, start: Station, end: Station) -> bool:
        """Whether two stretches are one: nothing rises between them, and some input falls along both."""
        return last.place == start.place and not self._falls(start, last) and self._falls(first, end)

    def _falls(self, start: Station, end: Station) -> bool:
        rise, worst = self._change(start, end)
        return any(not one.infimum.is_bounded for _, one in worst) or (
            sum((one.infimum.value for _, one in worst), rise) < 0
        )

    def _change(self, start: Station, end: Station) -> tuple[Rational, list[tuple[int, Worst]]]:
        """Return how the feature's own part changes, and for each other feature the worst change of their pair."""
        weights = [*end.weights, *((-weight, at) for weight, at in start.weights)]
        rise = sum((weight * self.own(at) for weight, at in weights), ZERO)
        found = []
        for other, side, pair in self.pairs:
            change: Pieces = combine([(weight, sliced(pair, 1 - side, at)) for weight, at in weights])
            here, reach = self.anchor[other], self.compiled.model.domains[other]
            _, (worst,) = bound_drops([change], [change(here)], (here,), (reach,))
            found.append((other, worst))
        return rise, found

    def _fall(self, start: Station, end: Station) -> Fall:
        """Return a stretch with two inputs that show the fall."""
        rise, worst = self._change(start, end)
        free = [one for _, one in worst if not one.infimum.is_bounded]
        amount = None if free else -sum((one.infimum.value for _, one in worst), rise)
        point = list(self.anchor)
        for other, one in worst:
            if free:  # what falls without bound makes up for all others at the anchor, and for more than they add
                level = sum((w.function(self.anchor[k]) for k, w in worst if w is not free[0]), rise)
                target = -level - 1
                point[other] = one.value_at_most(target) if one is free[0] else self.anchor[other]
            else:
                assert amount is not None
                target = one.infimum.value + amount / (2 * len(worst))
                point[other] = one.value_at_most(target)
        before, after = self._inputs(point, start, end)
        first, last = (None if one.is_far else to_fraction(one.place) for one in (start, end))
        is_endless = amount is None or first is None or last is None
        return Fall(first, last, None if amount is None or is_endless else to_fraction(amount), before, after)

    def _inputs(self, point: Sequence[Value], start: Station, end: Station) -> tuple[tuple[Value, ...], ...]:
        """Return two inputs that differ in the feature alone; ever closer to limits until the score falls."""
        along = combine(
            [(ONE, self.own), *((ONE, sliced(pair, side, point[other])) for other, side, pair in self.pairs)]
        )
        share = ONE / 2
        while True:
            one, two = start.near(share), end.near(share)
            if along(two) < along(one) and (two - one) * (end.place - start.place) >= 0:
                found = [[*point], [*point]]
                found[0][self.feature], found[1][self.feature] = one, two
                return tuple(found[0]), tuple(found[1])
            share = share / 4


# --- rows -------------------------------------------------------------------------------------------------------------


def _perverse(portfolio: Portfolio, feature: int, direction: int, winner: int, has: NDArray[np.bool_]) -> Sequence[int]:
    """Return the rows that lose a decision by moving a feature in a direction; floats first, then exactly."""
    compiled = portfolio.compiled
    is_open = has.copy()
    is_lost = np.zeros(len(portfolio), dtype=bool)
    if len(compiled.model.intercept) == 1 and not compiled.model.pairs:
        drops = _drops(portfolio, feature, direction, winner)
        answers, settled = portfolio.decided.answers, ~portfolio.decided.was_exact
        margins = np.abs(answers.scores)
        doubt = (answers.score_errors + 4 * np.finfo(float).eps * (margins + np.abs(drops))) * WIDER + 1e-300
        with np.errstate(invalid="ignore"):
            is_lost = has & settled & (drops > margins + doubt)
            is_open &= ~(settled & (np.abs(drops - margins) > doubt)) & ~np.isneginf(drops)
    for k in np.flatnonzero(is_open).tolist():
        is_lost[k] = _loses(compiled, portfolio.row(k), feature, direction, winner)
    return [int(k) for k in np.flatnonzero(is_lost)]


def _loses(compiled: Compiled, row: Sequence[Value], feature: int, direction: int, winner: int) -> bool:
    """Whether some value in a direction, all else equal, takes a decision from a row."""
    value, domain = row[feature], compiled.model.domains[feature]
    if not isinstance(value, fmpq) or value in (*domain.categories_, *domain.codes_):
        return False
    scores, onwards = compiled.exact_scores(row), (from_on(domain, value, direction),)
    for part in SAME.parts(compiled.model, winner):
        along = landscape_of(compiled, part.factors).alone(feature, row)
        drops, _ = bound_drops([along], [along(value)], (value,), onwards)
        inequality = part.of(scores)
        if not Separable(exactly(inequality.at(scores)), drops, inequality.is_strict).admits([0]):
            return True
    return False


def _drops(portfolio: Portfolio, feature: int, direction: int, winner: int) -> NDArray[np.float64]:
    """Return the nearest float of how far each row's score can fall; -inf where there is no direction."""
    compiled = portfolio.compiled
    domain, ((sign,),) = compiled.model.domains[feature], _factors(compiled, winner)
    function = compiled.lines((sign,))[feature]

    def drop(value: Value) -> float:
        if not isinstance(value, fmpq) or not any(span.holds(value) for span in domain.spans):
            return -np.inf
        (found,), _ = bound_drops([function], [function(value)], (value,), (from_on(domain, value, direction),))
        return np.inf if found.is_infinite else nearest_float(found.value)

    return np.array(each_value(portfolio.source.columns[feature], domain, drop, otherwise=-np.inf))


def _told_end(end: Fraction | None, side: int) -> str:
    return in_full(rational(end)) if end is not None else "∞" if side > 0 else "-∞"


def _told_amount(fall: Fall) -> str:
    return "any amount" if fall.amount is None else approximately(fall.amount)

"""Does more of a feature never count against a decision, whatever the other features are?

In: a compiled model, a feature, a direction, a class, perhaps a table. Out: a `Monotonicity`: proven, or the stretches
over which the score falls, with two inputs that show it, and the *perverse* rows: those that have the decision now and
would lose it by moving in the direction that should help.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.answers.documents import number_document, value_document
from suffice.answers.words import approximately, counted
from suffice.batch.lookup import WIDER
from suffice.certificate.certify import certify_insufficient
from suffice.certificate.document import Certificate
from suffice.core.case import Case, landscape_of
from suffice.core.drops import Separable, bound_drops
from suffice.decisions.rows import Portfolio, each_value
from suffice.decisions.walk import BITS, Fall, Stretch, Walk
from suffice.decisions.words import rows_document, table_facts
from suffice.errors import BoxError, CertificateError, UnsettledError
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.layout.told import Told
from suffice.model.compiled import Compiled
from suffice.model.domain import in_full
from suffice.numbers.enclosure import Enclosure, exactly, middle
from suffice.numbers.exact import ZERO, nearest_float, rational
from suffice.numbers.values import Value
from suffice.question.box import from_on, listed
from suffice.question.claim import NO_CLASS
from suffice.question.claims import SAME, AtLeast, AtMost
from suffice.question.documents import Json, class_document
from suffice.question.question import Question
from suffice.question.row import Row as Values
from suffice.search.sufficiency import sufficiency


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
    doubts : tuple of pairs of Fraction or None
        Where it is not known whether it falls, which can be of smooth shapes that hardly move; from where to where.
    rows : int
        How many rows of the table have the decision.
    perverse : tuple of int
        Those that would lose it by moving in the direction.
    failed : mapping of int to str
        Rows of the table that the model cannot read, and why.
    unsettled : tuple of int
        Rows of which it is not known whether they lose it.

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
    doubts: tuple[Stretch, ...] = ()
    rows: int = 0
    perverse: tuple[int, ...] = ()
    failed: Mapping[int, str] | None = None
    unsettled: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        if self.caveat:
            raise UnsettledError(f"that {self.sentence} is neither proven nor refuted: {self.caveat}")
        return not self.falls

    @property
    def caveat(self) -> str | None:
        """What the verdict depends on, where it is neither proven nor refuted."""
        if self.falls or not self.doubts:
            return None
        shown = "; ".join(self._told(one) for one in self.doubts[:3]) + ("; ..." if len(self.doubts) > 3 else "")
        return f"it hardly moves, or turns, where enclosures do not tell ({shown})"

    def _told(self, stretch: Stretch) -> str:
        start, end = stretch
        return f"{_told_end(start, -self.direction)} -> {_told_end(end, self.direction)}"

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
        (one,), (two,) = (self.compiled.scores(point, bits=BITS) for point in (before, after))
        # A score that is only enclosed is compared with a number half way to the other one.
        score = (middle(one) + middle(two)) / 2 if isinstance(one, Enclosure) else one
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
        if self.unsettled:
            rows.append(
                Fact("Not settled", f"{counted(len(self.unsettled), 'row')}, where it is a tie or close to one.")
            )
        if self.caveat:
            return (Fact("Open", f"that {self.sentence} is neither proven nor refuted: {self.caveat}."), *rows)
        if self:
            return (Fact("Proven", f"{self.sentence}."), *rows)
        told = tuple(Row((self._told((fall.start, fall.end)), _told_amount(fall))) for fall in self.falls)
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
            "holds": None if self.caveat else bool(self),
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
            "doubts": [[None if end is None else number_document(end) for end in one] for one in self.doubts],
            **rows_document(self.rows, self.perverse, self.failed),
        }


def monotone(
    compiled: Compiled, feature: int, direction: int, winner: int, portfolio: Portfolio | None = None
) -> Monotonicity:
    """Return whether a score never falls as a feature moves in a direction."""
    model = compiled.model
    if not model.domains[feature].spans:
        raise BoxError(f"{model.names[feature]!r} has no numbers, so that nothing rises or falls along it")
    walks = [Walk(compiled, feature, factors, direction).run() for factors in _factors(compiled, winner)]
    falls = tuple(fall for some, _ in walks for fall in some)
    doubts = tuple(one for _, some in walks for one in some)
    about = Monotonicity(compiled, feature, direction, winner, falls, doubts)
    if portfolio is None:
        return about
    has = portfolio.predicts(winner) & portfolio.readable() if winner != NO_CLASS else np.zeros(len(portfolio), bool)
    lost, open_ones = _perverse(portfolio, feature, direction, winner, has) if falls or doubts else ((), ())
    rows, failed = int(has.sum()), portfolio.failed
    return replace(about, rows=rows, perverse=tuple(lost), failed=failed, unsettled=tuple(open_ones))


def _factors(compiled: Compiled, winner: int) -> list[tuple[int, ...]]:
    """Return the scores that must not fall: of a class its lead over each other one."""
    if winner == NO_CLASS:
        return [(1,)]
    return [part.factors for part in SAME.parts(compiled.model, winner)]


# --- rows -------------------------------------------------------------------------------------------------------------


def _perverse(
    portfolio: Portfolio, feature: int, direction: int, winner: int, has: NDArray[np.bool_]
) -> tuple[list[int], list[int]]:
    """Return the rows that lose a decision by moving a feature in a direction, and those of which it is not known.

    Floats tell most of them, exact arithmetic or enclosures the others.
    """
    compiled = portfolio.compiled
    is_open = has.copy()
    is_lost, unsettled = np.zeros(len(portfolio), dtype=bool), list[int]()
    if len(compiled.model.intercept) == 1 and not compiled.model.pairs and not compiled.is_curved:
        drops = _drops(portfolio, feature, direction, winner)
        answers, settled = portfolio.decided.answers, ~portfolio.decided.was_exact
        margins = np.abs(answers.scores)
        doubt = (answers.score_errors + 4 * np.finfo(float).eps * (margins + np.abs(drops))) * WIDER + 1e-300
        with np.errstate(invalid="ignore"):
            is_lost = has & settled & (drops > margins + doubt)
            is_open &= ~(settled & (np.abs(drops - margins) > doubt)) & ~np.isneginf(drops)
    for k in np.flatnonzero(is_open).tolist():
        verdict = _loses(compiled, portfolio.row(k), feature, direction, winner)
        is_lost[k] = bool(verdict)
        unsettled += [k] if verdict is None else []
    return [int(k) for k in np.flatnonzero(is_lost)], unsettled


def _loses(compiled: Compiled, row: Values, feature: int, direction: int, winner: int) -> bool | None:
    """Whether some value in a direction, all else equal, takes a decision from a row; None where it is not known."""
    value, domain = row[feature], compiled.model.domains[feature]
    if not isinstance(value, fmpq) or value in (*domain.categories_, *domain.codes_):
        return False
    if compiled.is_enclosed:
        region = tuple(one.around(here, ZERO) for one, here in zip(compiled.model.domains, row, strict=True))
        region = (*region[:feature], from_on(domain, value, direction), *region[feature + 1 :])
        question = Question.read(compiled.model, math.inf, unit="raw")
        found = sufficiency.of(Case.of(compiled, question, row, region=region, winner=winner), ())
        return None if found.caveat else found.point is not None
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

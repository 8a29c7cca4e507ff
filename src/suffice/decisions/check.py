"""Does a claim hold everywhere in a box of inputs?

In: a compiled model, a box, a claim about a class, perhaps a table. Out: a `Verdict`: proven, or refuted by an input.

A box is a region like that around a row, so that this is the question whether fixing nothing suffices: any input of the
box at which the claim holds can be the row, and one at which it does not refutes it at once. Rows of the table come
first, for they are real.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from suffice.answers.documents import number_document, value_document
from suffice.answers.words import approximately
from suffice.certificate.document import Certificate
from suffice.certificate.ranges import certify_ranges
from suffice.core.case import Case
from suffice.core.scores import at_scores, predict
from suffice.decisions.rows import Portfolio
from suffice.decisions.words import decision_at, rows_document, table_facts
from suffice.errors import BudgetEnded, BudgetError, CertificateError, UnsettledError
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.layout.told import Told
from suffice.model.compiled import Compiled
from suffice.model.domain import Domain, in_full
from suffice.numbers.enclosure import Real, ends
from suffice.numbers.exact import to_fraction
from suffice.numbers.values import Label, Value, to_user
from suffice.question.box import Box
from suffice.question.claim import NO_CLASS, Claim
from suffice.question.claims import SAME, AtLeast, AtMost, Same, is_true
from suffice.question.documents import Json, class_document
from suffice.question.question import Question
from suffice.search.explain import explain
from suffice.search.sufficiency import sufficiency
from suffice.solvers.ranges import AllowedRange, End


@dataclass(frozen=True)
class Verdict(Told):
    """Whether a claim holds everywhere in a box; `bool()` gives the verdict.

    Parameters
    ----------
    compiled : Compiled
        The model.
    box : Box
        The inputs spoken of.
    question : Question
        The claim, and what the model computes in.
    winner : int
        The class that the claim is about, by index.
    anchor : tuple of values
        An input of the box.
    point : tuple of values, or None
        An input of the box at which the claim is false; None if it holds everywhere.
    margin : Fraction or None
        How far the claim's score stays from its limit at worst; None where that has no bound, or was not asked for:
        an input that refutes the claim was found at once.
    rows : int
        How many rows of the table lie in the box.
    violations : tuple of int
        Those at which the claim is false.
    failed : mapping of int to str
        Rows of the table that the model cannot read, and why.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> explainer = Explainer(AdditiveModel([Steps([18], [-1, 2])], features=["age"], classes=["no", "yes"]))
    >>> bool(explainer.check({"age": (18, None)}, "yes")), bool(explainer.check({"age": (17, None)}, "yes"))
    (True, False)
    """

    compiled: Compiled
    box: Box
    question: Question
    winner: int
    anchor: tuple[Value, ...]
    point: tuple[Value, ...] | None
    margin: Fraction | None
    rows: int = 0
    violations: tuple[int, ...] = ()
    failed: Mapping[int, str] | None = None

    def __bool__(self) -> bool:
        return self.point is None

    @property
    def counterexample(self) -> dict[str, Fraction | Label] | None:
        """An input of the box at which the claim is false, by name; None if it holds."""
        if self.point is None:
            return None
        return {name: to_user(value) for name, value in zip(self.box.names, self.point, strict=True)}

    @property
    def _is_about_class(self) -> bool:
        return "regression" not in self.question.claim.tasks

    @property
    def sentence(self) -> str:
        """What is claimed, in words."""
        model = self.compiled.model
        about = None if self.winner == NO_CLASS else model.classes[self.winner]
        return f"{self.box}, {self.question.claim.sentence(model, about)}"

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof: of a claim that holds, that of ranges around an input; of one that does not, an input's.

        The second states what the model decides (or how high its score is) at the counterexample, which anyone can
        compare with the box.

        Raises
        ------
        CertificateError
            If the format cannot say it: a condition that joins ranges with other values, a probability below 1/2; or if
            the proof is not found, which can be where a term over two features has slopes.
        """
        if self.point is not None:
            question = Question.read(self.compiled.model, 0, unit="raw", claim=self._told_of_point())
            return explain(self.compiled, question, self.point).certificate(model_file)
        if self._is_about_class and predict(self.compiled, self.anchor) != self.compiled.model.classes[self.winner]:
            raise CertificateError("a probability below 1/2 has no certificate; claim more than that, or a score")
        case = Case.of(self.compiled, self.question, self.anchor)
        ranges = [(i, _as_range(self.box.names[i], self.box.region[i])) for i in self.box.conditions]
        return certify_ranges(case, ranges, False, model_file)

    def _told_of_point(self) -> Claim:
        assert self.point is not None
        claim, model = self.question.claim, self.compiled.model
        if isinstance(claim, Same) or len(model.intercept) > 1:
            return SAME

        def not_true(scores: tuple[Real, ...]) -> Claim:
            assert not is_true(claim, model, scores, self.winner)
            (part, *_), (low, high) = claim.parts(model, self.winner), ends(scores[0])
            return AtMost(high) if part.factors[0] > 0 else AtLeast(low)

        return at_scores(self.compiled, self.point, not_true)

    def facts(self) -> Facts:
        """Return the verdict, with an input that refutes it and the rows that violate it."""
        rows = table_facts(self.rows, self.violations, self.failed, "in the box", "the claim is false")
        if self.point is None:
            worst = "" if self.margin is None else f"; at worst its margin is {approximately(self.margin)}"
            return (Fact("Proven", f"{self.sentence}{worst}."), *rows)
        told = f"it is not so that {self.sentence}; here {decision_at(self.compiled, self.point)}:"
        first = self.box.conditions
        order = [*first, *(i for i in range(len(self.point)) if i not in first)]
        grid = Grid(("feature", "value"), tuple(Row((self.box.names[i], f"= {in_full(self.point[i])}")) for i in order))
        return (Fact("Refuted", told), grid, *rows)

    def document(self) -> Json:
        """Return the verdict as JSON."""
        point, classes = self.counterexample, self.compiled.model.classes
        return {
            "kind": "check",
            "holds": bool(self),
            "sentence": self.sentence,
            "claim": self.question.claim.document(),
            "about": class_document(classes[self.winner]) if self._is_about_class else None,
            "margin": None if self.margin is None else number_document(self.margin),
            "counterexample": None if point is None else {name: value_document(one) for name, one in point.items()},
            **rows_document(self.rows, self.violations, self.failed),
        }


def check(compiled: Compiled, box: Box, question: Question, winner: int, portfolio: Portfolio | None = None) -> Verdict:
    """Return whether a claim about a class holds everywhere in a box."""
    rows, violations, anchor, failed = 0, tuple[int, ...](), box.anchor(), None
    if portfolio is not None:
        among = portfolio.within(box)
        rows, failed = int(among.sum()), portfolio.failed
        violations = tuple(portfolio.breaks(question.claim, winner, among).tolist())
        if rows:
            anchor = portfolio.row(violations[0] if violations else int(among.argmax()))
    point: tuple[Value, ...] | None = tuple(anchor)
    margin: Fraction | None = None
    if at_scores(compiled, anchor, lambda scores: is_true(question.claim, compiled.model, scores, winner)):
        try:
            found = sufficiency.of(Case.of(compiled, question, anchor, region=box.region, winner=winner), ())
            if found.caveat:
                raise UnsettledError(f"that the claim holds there is neither proven nor refuted: {found.caveat}")
            point, margin = found.point, _worst_margin(found.case)
        except BudgetEnded:
            raise BudgetError(
                "what the features can do together in the region takes too long to find; make the region smaller"
            ) from None
    return Verdict(compiled, box, question, winner, tuple(anchor), point, margin, rows, violations, failed)


def _worst_margin(case: Case) -> Fraction | None:
    """Return the least that is left of the tightest margin anywhere in the region; None if there is no least."""
    falls = [(one.margin, one.fall(case.features)) for one in case.inner]
    if not case.compiled.is_rational or any(
        fall.is_infinite for _, fall in falls
    ):  # a curve's lowest point is enclosed
        return None
    return min(to_fraction(margin - fall.value) for margin, fall in falls)


def _as_range(name: str, domain: Domain) -> AllowedRange:
    """Return a condition as certificates write ranges: numbers between two ends, some categories, or one code."""
    labels = (*domain.categories_, *domain.codes_)
    is_one = len(labels) == 0 and len(domain.spans) == 1
    if not is_one and (domain.spans or (domain.codes_ and len(labels) > 1)):
        raise CertificateError(
            f"the condition on {name!r} joins several ranges or special codes; certificates speak of one range, one "
            "code, or categories: check each part for itself"
        )
    low, high = (domain.spans[0].low, domain.spans[0].high) if is_one else (None, None)
    return AllowedRange(End(low, True), End(high, True), False, labels, ())

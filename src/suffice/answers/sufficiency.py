"""Whether some features suffice."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction

from suffice.answers.answer import Answer
from suffice.answers.documents import value_document
from suffice.answers.words import can_fail, headline, moves, stays
from suffice.certificate.certify import certify_insufficient, certify_sufficient
from suffice.certificate.document import Certificate
from suffice.core.case import Case
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.numbers.values import Label, Value, to_user
from suffice.question.documents import Json


@dataclass(frozen=True, repr=False)
class Sufficiency(Answer):
    """Whether fixing some features keeps the claim true; `bool()` gives the verdict.

    Parameters
    ----------
    case : Case
        The question and the row.
    fixed : tuple of int
        The features that are fixed, by index.
    point : tuple of values, or None
        An input that breaks the claim while they are fixed; None if they suffice.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> explainer = Explainer(AdditiveModel([Steps([18], [-1, 2])], features=["age"]))
    >>> bool(explainer.sufficiency({"age": 20}, ["age"], radius=5, unit="raw"))
    True
    """

    case: Case
    fixed: tuple[int, ...]
    point: tuple[Value, ...] | None

    def __bool__(self) -> bool:
        return self.point is None

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that are fixed."""
        names = self.model.names
        return tuple(names[i] for i in self.fixed)

    @property
    def counterexample(self) -> dict[str, Fraction | Label] | None:
        """An input that breaks the claim while the features are fixed, by name; None if they suffice."""
        if self.point is None:
            return None
        return {name: to_user(value) for name, value in zip(self.model.names, self.point, strict=True)}

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof that these features suffice, or that they do not; see `Explanation.certificate`."""
        if self.point is None:
            return certify_sufficient(self.case, self.fixed, model_file)
        return certify_insufficient(self.case, self.fixed, self.point, model_file)

    def facts(self) -> Facts:
        """Return the verdict in words, with an input that shows it where they do not suffice."""
        fixed = f"fixing {', '.join(self.features)}" if self.fixed else "fixing nothing"
        if self.point is None:
            return (*headline(self.case), Fact("Proven", f"{fixed} is enough: {stays(self.case)} within the region."))
        rows = tuple(Row((move.name, f"{move.old} -> {move.new}")) for move in moves(self.case, self.point))
        told = Fact("Proven", f"{fixed} is not enough: {can_fail(self.case)}, as here:")
        return (*headline(self.case), told, Grid(("feature", "change"), rows))

    def _document(self) -> Json:
        point = self.counterexample
        return {
            "is_sufficient": bool(self),
            "features": list(self.features),
            "point": None if point is None else {name: value_document(value) for name, value in point.items()},
        }

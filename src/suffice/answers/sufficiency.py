"""Whether some features suffice."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction

from suffice.answers.answer import Answer, Status
from suffice.answers.documents import value_document
from suffice.answers.words import can_fail, headline, moves, stays
from suffice.certificate.certify import certify_insufficient, certify_sufficient
from suffice.certificate.document import Certificate
from suffice.core.case import Case
from suffice.errors import CertificateError, UnsettledError
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.numbers.values import Label, Value, to_user
from suffice.question.documents import Json


@dataclass(frozen=True, repr=False)
class Sufficiency(Answer):
    """Whether fixing some features keeps the claim true; `bool()` gives the verdict.

    Where it is neither proven nor refuted, `caveat` says what it depends on, and `bool()` is an error.

    Parameters
    ----------
    case : Case
        The question and the row.
    fixed : tuple of int
        The features that are fixed, by index.
    point : tuple of values, or None
        An input that breaks the claim while they are fixed; None if they suffice, or if that is not settled.
    caveat : str, optional
        What the verdict depends on, where it is not settled.

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
    caveat: str | None = None

    def __bool__(self) -> bool:
        if self.caveat:
            raise UnsettledError(self._unsettled)
        return self.point is None

    @property
    def status(self) -> Status:
        """Whether it is proven that they suffice, or that they do not."""
        return Status.BOUNDED if self.caveat else Status.PROVEN

    @property
    def _fixing(self) -> str:
        return f"fixing {', '.join(self.features)}" if self.fixed else "fixing nothing"

    @property
    def _unsettled(self) -> str:
        return f"that {self._fixing} is enough is neither proven nor refuted: {self.caveat}"

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that are fixed."""
        names = self.model.names
        return tuple(names[i] for i in self.fixed)

    @property
    def counterexample(self) -> dict[str, Fraction | Label] | None:
        """An input that breaks the claim while the features are fixed, by name; None if none is known."""
        if self.point is None:
            return None
        return {name: to_user(value) for name, value in zip(self.model.names, self.point, strict=True)}

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof that these features suffice, or that they do not; see `Explanation.certificate`.

        Raises
        ------
        CertificateError
            If neither is proven.
        """
        if self.caveat:
            raise CertificateError(f"there is nothing to certify: {self._unsettled}")
        if self.point is None:
            return certify_sufficient(self.case, self.fixed, model_file)
        return certify_insufficient(self.case, self.fixed, self.point, model_file)

    def facts(self) -> Facts:
        """Return the verdict in words, with an input that shows it where they do not suffice."""
        fixed = self._fixing
        if self.caveat:
            return (*headline(self.case), Fact("Open", f"{self._unsettled}."))
        if self.point is None:
            return (*headline(self.case), Fact("Proven", f"{fixed} is enough: {stays(self.case)} within the region."))
        rows = tuple(Row((move.name, f"{move.old} -> {move.new}")) for move in moves(self.case, self.point))
        told = Fact("Proven", f"{fixed} is not enough: {can_fail(self.case)}, as here:")
        return (*headline(self.case), told, Grid(("feature", "change"), rows))

    def _document(self) -> Json:
        point = self.counterexample
        return {
            "is_sufficient": None if self.caveat else bool(self),
            "status": self.status.value,
            "caveat": self.caveat,
            "features": list(self.features),
            "point": None if point is None else {name: value_document(value) for name, value in point.items()},
        }

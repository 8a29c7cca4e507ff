"""Answers of which the decision is known, and the rest is worked out when it is first read."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from suffice.answers.answer import Answer
from suffice.core.case import Case
from suffice.model.additive import AdditiveModel
from suffice.question.question import Question
from suffice.solvers.proofs import Proof

Self = TypeVar("Self", bound="Deferred")


class Asked(Protocol):
    """A question about a row."""

    @property
    def model(self) -> AdditiveModel:
        """The model asked."""

    @property
    def question(self) -> Question:
        """What is asked."""

    @property
    def winner(self) -> int:
        """The class predicted; below 0 for a regression."""

    def case(self) -> Case:
        """Work out the question about the row."""

    def proof(self) -> Proof | None:
        """Find out why no set costs less."""


class Deferred(Answer):
    """An answer that may have been found without its case and its proof: they are made from what was asked."""

    _asked: Asked | None = None

    @classmethod
    def deferred(cls: type[Self], asked: Asked, fixed: tuple[int, ...]) -> Self:
        """Return the answer that fixes these features, which are known to be a best set."""
        found = cls.__new__(cls)
        bound = asked.question.choices.cost(fixed)
        found.__dict__.update(_asked=asked, fixed=fixed, bound=bound, caveat=None)
        return found

    def __getattr__(self, name: str) -> Any:
        if self._asked is None or name not in ("case", "proof"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = self.__dict__[name] = self._asked.case() if name == "case" else self._asked.proof()
        return found

    @property
    def model(self) -> AdditiveModel:
        """The model asked."""
        return self.case.model if self._asked is None else self._asked.model

    @property
    def question(self) -> Question:
        """What was asked."""
        return self.case.question if self._asked is None else self._asked.question

    @property
    def prediction(self) -> Any:
        """The class predicted for the row; of a regression the exact value."""
        if self._asked is None or self._asked.winner < 0:
            return self.case.prediction
        return self._asked.model.classes[self._asked.winner]

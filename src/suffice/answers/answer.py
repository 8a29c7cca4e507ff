"""What all answers have in common: a case they are about, facts to lay out, a document with exact numbers."""

from __future__ import annotations

from abc import abstractmethod
from enum import Enum
from typing import Any

from suffice.answers.documents import prediction_document
from suffice.answers.likelihood import probability_of
from suffice.core.case import Case
from suffice.layout.facts import facts_document
from suffice.layout.told import Told
from suffice.model.additive import AdditiveModel
from suffice.numbers.values import Value
from suffice.question.documents import Json


class Status(Enum):
    """What is known of an answer.

    Examples
    --------
    >>> Status.PROVEN.value, Status("bounded")
    ('proven', Status.BOUNDED)
    """

    PROVEN = "proven"  # holds for the exact real-valued model, minimality included
    BOUNDED = "bounded"  # what is said holds; whether it is the best is not known, see `lower_bound` and `caveat`

    def __repr__(self) -> str:
        return f"Status.{self.name}"


class Answer(Told):
    """An answer about one row. `print` shows its facts as text, a notebook as HTML."""

    case: Case

    @property
    def model(self) -> AdditiveModel:
        """The model asked."""
        return self.case.model

    @property
    def row(self) -> tuple[Value, ...]:
        """The row, one exact value for each feature."""
        return self.case.row

    @property
    def prediction(self) -> Any:
        """The class predicted for the row; of a regression the exact value."""
        return self.case.prediction

    @property
    def probability(self) -> float | None:
        """The probability of the predicted class, to the nearest float; None if the model has none."""
        return probability_of(self.case)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.prediction!r}>"

    def to_dict(self) -> Json:
        """Return the answer as a dictionary, the same as `document`."""
        return self.document()

    @abstractmethod
    def _document(self) -> Json:
        """Return what is particular to this kind of answer, as JSON has it."""

    def document(self) -> Json:
        """Return the answer as JSON: every number exact, as "p/q", beside its nearest float."""
        shared = {
            "prediction": prediction_document(self.prediction),
            "probability": self.probability,
            "claim": self.case.question.claim.document(),
        }
        return shared | self._document() | {"facts": facts_document(self.facts())}

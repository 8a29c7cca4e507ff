"""An explanation beside an input that shows why one of its features is needed."""

from __future__ import annotations

from suffice.answers.answer import Answer
from suffice.answers.documents import prediction_document, values_by_name
from suffice.answers.explanation import Explanation
from suffice.answers.words import spoken
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.question.documents import Json


class Contested(Answer):
    """An explanation together with an input that breaks the claim, once a fixed feature is free too.

    Parameters
    ----------
    why : Explanation
    without : str
        One of its features.

    Raises
    ------
    FeatureNameError, ClaimError
        As `Explanation.counterexample`.
    """

    def __init__(self, why: Explanation, without: str) -> None:
        why.counterexample(without)
        found = why.broken_without(without)
        assert found is not None
        self.case, self.why, self.found = why.case, why, found

    def facts(self) -> Facts:
        """Return the facts of the explanation, and every change of the input."""
        told = f"it can become {spoken(self.found.prediction)}, as here:"
        rows = tuple(Row((move.name, f"{move.old} -> {move.new}")) for move in self.found.moves)
        return (*self.why.facts(), Fact(f"Without {self.found.without} fixed", told), Grid(("feature", "change"), rows))

    def _document(self) -> Json:
        found = self.found
        point = values_by_name(self.model.names, found.point)
        other = {"without": found.without, "prediction": prediction_document(found.prediction), "point": point}
        return self.why._document() | {"counterexample": other}

"""The explanations of all rows of the served table, in columns: what the page's view of all rows shows."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np

from suffice.answers.words import region
from suffice.batch.result import BatchResult
from suffice.layout.facts import Fact, Facts
from suffice.layout.told import Told
from suffice.model.additive import AdditiveModel
from suffice.numbers.exact import nearest_float
from suffice.question.documents import Json, class_document
from suffice.question.question import Question


class Overview(Told):
    """What the rows of a table need, row by row.

    Parameters
    ----------
    model : AdditiveModel
    question : Question
        What was asked of every row.
    found : BatchResult
        The answers, of all rows or of the first ones.
    total : int
        How many rows the table has.
    """

    def __init__(self, model: AdditiveModel, question: Question, found: BatchResult, total: int) -> None:
        self.model, self.question, self.found, self.total = model, question, found, total

    def facts(self) -> Facts:
        """Return how many rows there are, what was asked, and how many features their explanations need."""
        failed = len(self.found.failed_rows)
        refused = f"; {failed} cannot be read by the model" if failed else ""
        first = f"the first {len(self.found):,} of {self.total:,}; all of them would take longer than a request may"
        some = f"{self.total:,}" if len(self.found) == self.total else first
        facts = [
            Fact("Rows", f"{some}{refused}."),
            Fact("Region", region(self.question, self.model)),
        ]
        sizes = [size for size, count in self.found.size_counts.items() for _ in range(count)]
        if sizes:
            total = len(self.model.names)
            middle = f"{median(sizes):g} of {total} features in the middle, {min(sizes)} to {max(sizes)} in all"
            facts.append(Fact("Needed", f"{middle}."))
        return tuple(facts)

    def document(self) -> Json:
        """Return the columns. Probabilities are floats, to look at; margins are rounded to floats."""
        found, failed = self.found, set(self.found.failed_rows.tolist())
        rows = range(len(found))
        margins = found.margins.tolist()
        predictions = found.predictions.tolist()
        return {
            "question": self.question.document(),
            "names": list(self.model.names),
            "predictions": [None if k in failed else _plain(self.model, predictions[k]) for k in rows],
            "probabilities": self._probabilities(failed),
            "sizes": [None if k in failed else size for k, size in enumerate(found.sizes.tolist())],
            "margins": [None if k in failed else margins[k] for k in rows],
            "features": [[] if k in failed else list(map(int, found.fixed_of(k))) for k in rows],
            "failed": {str(k): message for k, message in found.messages.items()},
        }

    def _probabilities(self, failed: set[int]) -> list[float | None] | None:
        """Return how likely each predicted class is, in floats; of two classes only."""
        if self.model.task != "binary" or self.model.logit_offset is None:
            return None
        logits = self.found.answers.scores + nearest_float(self.model.logit_offset)
        signs = np.where(self.found.answers.classes == 1, 1.0, -1.0)
        near = 1 / (1 + np.exp(-np.clip(signs * logits, -700, 700)))
        for k in set(self.found.exact_rows.tolist()) - failed:  # of such a row the score is not kept
            near[k] = self.found[k].probability
        return [None if k in failed else one for k, one in enumerate(near.tolist())]


def _plain(model: AdditiveModel, prediction: Any) -> Any:
    return class_document(prediction) if model.classes else float(prediction)

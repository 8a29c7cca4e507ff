"""What `Explainer` says of a model itself: its pieces, and what it predicts for a row."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from suffice.core.outlook import class_probabilities
from suffice.core.scores import predict
from suffice.model.additive import AdditiveModel
from suffice.model.compiled import Compiled
from suffice.numbers.enclosure import middle
from suffice.numbers.exact import to_fraction
from suffice.question.row import read_row
from suffice.shapes.function import Function
from suffice.shapes.pair_pieces import PairPieces


class Predictions:
    """The predictions of `Explainer`, exact."""

    compiled: Compiled

    @property
    def model(self) -> AdditiveModel:
        """The model explained."""
        return self.compiled.model

    @property
    def pieces(self) -> Mapping[str, tuple[Function, ...]]:
        """The exact pieces of each feature, in the user's units, one for each output."""
        return self.compiled.pieces_by_name

    @property
    def pairs(self) -> Mapping[tuple[str, str], tuple[PairPieces, ...]]:
        """The exact pieces of each two features with a term over both, in the user's units, one for each output."""
        names = self.model.names
        return {(names[i], names[j]): pieces for (i, j), pieces in self.compiled.pairs}

    def score(self, x: Any) -> Fraction | tuple[Fraction, ...]:
        """Return the exact score of a row; a tuple, one for each class, if there are more than two.

        Parameters
        ----------
        x : sequence, mapping, NumPy row or pandas Series
            The row, in the user's own units.

        Returns
        -------
        Fraction, or tuple of Fraction

        Raises
        ------
        RowError, FeatureNameError
            If the row does not give every feature one value of its domain.
        """
        scores = tuple(to_fraction(score) for score in self._scores(x))
        return scores if self.model.task == "multiclass" else scores[0]

    def predict(self, x: Any) -> Any:
        """Return what the exact score of a row decides: its class, or its value if the model is a regression.

        Parameters
        ----------
        x : sequence, mapping, NumPy row or pandas Series
            The row, in the user's own units.

        Returns
        -------
        A class of the model, or a Fraction

        Raises
        ------
        RowError, FeatureNameError
            If the row does not give every feature one value of its domain.
        """
        return predict(self.compiled, read_row(self.model, x))

    def predict_proba(self, x: Any) -> tuple[float, ...]:
        """Return the probabilities of the classes at a row, in the order of `model.classes`, to the nearest floats.

        Parameters
        ----------
        x : sequence, mapping, NumPy row or pandas Series
            The row, in the user's own units.

        Returns
        -------
        tuple of float

        Raises
        ------
        ModelError
            If the model is a regression, or has no probabilities, such as a support vector machine.

        Examples
        --------
        >>> from suffice import AdditiveModel, Explainer, Steps
        >>> no, yes = Explainer(AdditiveModel([Steps([18], [-1, 2])], features=["age"])).predict_proba([20])
        >>> round(no, 6), round(yes, 6)
        (0.119203, 0.880797)
        """
        return class_probabilities(self.model, [middle(score) for score in self._scores(x)])

    def _scores(self, x: Any) -> tuple[Any, ...]:
        return self.compiled.scores(read_row(self.model, x))

"""What the classifier and the regressor share: parameters, reading tables, fitting, scoring."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import compress
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    check_array,
    check_is_fitted,
    validate_data,
)

from suffice.errors import DataError
from suffice.gam.choosing import choose_columns, constant_scores
from suffice.gam.columns import Categorical, Cells, Numeric, learn_columns, read_orders, read_table
from suffice.gam.hats import hats_of
from suffice.gam.solving import FEW_JUDGES, Curve, Data, Wishes
from suffice.gam.terms import Terms
from suffice.gam.wanted import is_flat, read_directions, read_pairs
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain
from suffice.nam.convert import to_additive
from suffice.nam.corrected import Corrected, corrected_scores, part_of, values_at
from suffice.nam.corrections import correct
from suffice.nam.network import AdditiveNetwork
from suffice.nam.pairing import add_pairs
from suffice.nam.parameters import check_parameters
from suffice.nam.progress import Progress
from suffice.nam.reach import Reach, reach_of
from suffice.nam.training import DivergenceError, Loss, Options, Rows, train
from suffice.numbers.exact import nearest_float, rational

_KNOTS = 128  # of a column's correction, about


class BaseNAM(BaseEstimator):  # type: ignore[misc]
    """A neural additive model for some task; see `NAMClassifier` for the parameters."""

    def __init__(
        self,
        hidden_layers: Sequence[int] = (64, 32),
        *,
        first_layer: str = "relu",
        basis: str = "separate",
        n_bases: int = 100,
        n_members: int = 1,
        dropout: float = 0.0,
        feature_dropout: float = 0.0,
        output_penalty: float = 0.0,
        weight_decay: float = 0.0,
        learning_rate: float = 0.003,
        batch_size: int | str = "auto",
        max_epochs: int = 60,
        patience: int = 10,
        validation_fraction: float = 0.15,
        explanation_radius: float | None = None,
        explanation_weight: float = 0.0,
        corrections: bool = True,
        pairs: int | str | Sequence[tuple[str, str]] = 0,
        feature_budget: int | None = None,
        monotone: Mapping[str, int] | None = None,
        special_codes: Mapping[str, Sequence[float]] | Sequence[float] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.hidden_layers = hidden_layers
        self.first_layer = first_layer
        self.basis = basis
        self.n_bases = n_bases
        self.n_members = n_members
        self.dropout = dropout
        self.feature_dropout = feature_dropout
        self.output_penalty = output_penalty
        self.weight_decay = weight_decay
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.explanation_radius = explanation_radius
        self.explanation_weight = explanation_weight
        self.corrections = corrections
        self.pairs = pairs
        self.feature_budget = feature_budget
        self.monotone = monotone
        self.special_codes = special_codes
        self.random_state = random_state
        self.verbose = verbose

    # --- what the two tasks do in their own way ---------------------------------------------------------------------

    def _read_target(self, y: Any) -> NDArray[Any]:
        raise NotImplementedError

    def _scale_target(self, target: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[Any]:
        raise NotImplementedError  # sets scale_ and center_, which take what the networks say to scores

    def _row_weights(self, target: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return weights

    def _loss(self) -> tuple[int, Loss]:
        raise NotImplementedError

    def _curve(self) -> Curve:
        raise NotImplementedError

    def _calibrate(self, X: Any, target: NDArray[Any], counts: NDArray[np.float64]) -> float:  # noqa: N803
        """Calibrate the scores where that is asked for; return what they are multiplied by."""
        return 1.0

    def to_additive(self, domains: Mapping[str, Domain] | Literal["model"] | None = None) -> AdditiveModel:
        """Return the exact additive model that the fitted networks are.

        Parameters
        ----------
        domains : mapping of column name to Domain, or "model", optional
            Values a column can take, where what the training rows showed says too little or too much. Of columns not
            named it is learned: whole numbers where all are whole, and the range observed with some slack
            (`docs/domains.md`). "model" learns nothing: a number can be any number.
        """
        check_is_fitted(self)
        return to_additive(self, domains)

    # --- fitting ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803
        """Fit the networks to a table and a target.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Numbers, categories, text and truth values; missing cells are allowed.
        y : array of shape (rows,)
            The target.
        sample_weight : array of shape (rows,), optional
            Weight of each row.
        """
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        self.__dict__.pop("explanation_width_", None)  # the last to be set: until then, nothing is fitted
        check_parameters(self)
        columns = self._read_table(X, is_new=True)
        target = self._read_target(y)
        if len(target) != len(columns[0]):
            raise DataError(f"X has {len(columns[0])} rows and y has {len(target)}: inconsistent numbers of samples")
        try:
            weights = _check_sample_weight(sample_weight, target, dtype=np.float64, ensure_non_negative=True)
        except ValueError as error:
            raise DataError(f"sample_weight: {error}") from None
        counts = weights / weights.max()
        weights = self._row_weights(target, counts)
        if not weights.sum() > 0:
            raise DataError("no row has a weight above zero; at least one must count")
        target = self._scale_target(target, weights)
        self.table_columns_ = learn_columns(self._names, columns, weights, self.special_codes, read_orders(X))
        self._use(np.ones(len(columns), dtype=bool))
        read_directions(self.monotone, self.columns_, len(getattr(self, "classes_", ())))  # now, not after the training
        read_pairs(self.pairs, self.columns_, self.monotone or {})
        try:
            random = check_random_state(self.random_state)
        except ValueError as error:
            raise DataError(f"random_state: {error}") from None
        generator = torch.Generator().manual_seed(int(random.randint(2**31)))
        numbers, slots = self._encode(columns)
        if (budget := self.feature_budget) is not None and budget < len(columns):
            self._use(self._few_columns(int(budget), numbers.numpy(), slots.numpy(), target, weights / weights.mean()))
            numbers, slots = self._encode(columns)
        outputs, loss = self._loss()
        rows = Rows(
            numbers.float(), slots, torch.from_numpy(target), torch.from_numpy(weights / weights.mean()).float()
        )
        training, validation = self._split(rows, target, random)
        reach = None
        if self.explanation_radius is not None:
            reach = Reach(self.columns_, training.numbers, training.slots, self.explanation_radius, generator)
        options = self._options(training)
        self.network_ = self._new_network(training, outputs, generator)
        untrained = copy.deepcopy(self.network_.state_dict())
        with Progress(self.max_epochs, is_shown=self.verbose) as report:
            self.history_ = train(self.network_, training, validation, loss, options, generator, reach, report)
        if validation is not None and len(validation) < FEW_JUDGES:  # of so few rows, none is left out in the end
            self._train_on_all(rows, untrained, loss, options, generator, reach)
        self.corrections_ = self._correct(numbers.numpy(), slots.numpy(), target, weights / weights.mean())
        grids = () if self.corrections_ is None else self.corrections_.grids
        self.pairs_ = tuple((self.columns_[i].name, self.columns_[j].name) for i, j in (one.columns for one in grids))
        self.has_validation_ = validation is not None
        self.fit_seconds_ = self.history_.seconds
        self.validation_curve_ = tuple(self.history_.validation_loss)
        self.n_iter_ = len(self.validation_curve_)
        shapes = Corrected(self.network_, self.corrections_)
        width = float("nan") if reach is None else float(reach.width(shapes).detach())
        self.explanation_width_ = width * self._calibrate(X, target, counts)
        return self

    def _train_on_all(
        self,
        rows: Rows,
        untrained: dict[str, torch.Tensor],
        loss: Loss,
        options: Options,
        generator: torch.Generator,
        reach: Reach | None,
    ) -> None:
        """Train again from the same start on all rows, for as many epochs as were best; on divergence keep what is."""
        trained, epochs = copy.deepcopy(self.network_.state_dict()), self.history_.best_epoch + 1
        self.network_.load_state_dict(untrained)
        try:
            again = train(self.network_, rows, None, loss, options, generator, reach, epochs=epochs)
        except DivergenceError:
            self.network_.load_state_dict(trained)
        else:
            self.history_.seconds += again.seconds

    def _use(self, is_used: NDArray[np.bool_]) -> None:
        """Let the model be of some columns of the table; the others keep a shape of 0."""
        self.is_used_, self.columns_ = is_used, tuple(compress(self.table_columns_, is_used))
        self.features_ = tuple(column.name for column in self.columns_)

    def _few_columns(
        self,
        budget: int,
        numbers: NDArray[np.float64],
        slots: NDArray[np.int64],
        target: NDArray[Any],
        weights: NDArray[np.float64],
    ) -> NDArray[np.bool_]:
        """Return which columns are used, where only so many may be."""
        wanted = read_pairs(self.pairs, self.columns_, self.monotone or {})
        named = sorted({k for pair in wanted for k in pair}) if isinstance(wanted, list) else []
        if len(named) > budget:
            raise DataError(
                f"pairs names {len(named)} columns and feature_budget allows {budget}; raise the budget or name fewer"
            )
        targets = target.astype(np.float64)
        scores = constant_scores(self._curve(), targets, weights, self._loss()[0])
        data, counts = Data(numbers, slots, targets, weights, scores), [column.slots for column in self.columns_]
        chosen = choose_columns(data, self._curve(), counts, budget, named)
        return np.isin(np.arange(len(counts)), chosen)

    def _correct(
        self, numbers: NDArray[np.float64], slots: NDArray[np.int64], target: NDArray[Any], weights: NDArray[np.float64]
    ) -> Terms | None:
        """Return corrections of the networks' shapes, where they are asked for and help."""
        places, classes = np.cumsum(self.is_used_) - 1, len(getattr(self, "classes_", ()))
        directions = read_directions(self.monotone, self.table_columns_, classes)
        directions = {int(places[k]): way for k, way in directions.items() if self.is_used_[k]}
        pairs = read_pairs(self.pairs, self.columns_, self.monotone or {})
        if not (self.corrections or directions or pairs != 0):
            return None
        hats = hats_of(numbers, slots, [column.slots for column in self.columns_], _KNOTS)
        own = values_at(self.network_, hats)
        scores = corrected_scores(self.network_, None, numbers, slots)
        for k in directions:  # their networks are replaced by lines, first of all by lines through the same points
            line = Terms(hats[k : k + 1], own[k : k + 1], (True,))
            alone = numbers[:, k : k + 1], slots[:, k : k + 1]
            scores += line.scores(*alone) - part_of(self.network_, k, *alone)
        data = Data(numbers, slots, target.astype(np.float64), weights, scores)
        blocks = {
            k: len(hats[k].knots) + np.arange(len(column.categories))
            for k, column in enumerate(self.columns_)
            if isinstance(column, Categorical) and column.categories
        }
        radii = [reach_of(column, self.explanation_radius or 0.0) for column in self.columns_]
        wishes = Wishes(directions, radii, self.explanation_weight, blocks)
        found = None
        if self.corrections or directions:
            found = correct(data, self.validation_rows_, self._curve(), own, hats, wishes)
        if pairs == 0:
            return found
        lines = found or Terms(hats, tuple(np.zeros_like(line) for line in own), (False,) * len(hats))
        data = data._replace(scores=corrected_scores(self.network_, lines, numbers, slots))
        free = self._pairable(directions, own)
        grown = add_pairs(data, self.validation_rows_, self._curve(), own, lines, wishes, pairs, free)
        return grown if grown.grids else found

    def _pairable(self, directions: Mapping[int, int], own: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
        """Return the columns that may be in a pair, those first whose shapes vary most."""
        free = [k for k, column in enumerate(self.columns_) if k not in directions and not is_flat(column)]
        return np.array(sorted(free, key=lambda k: -float(own[k].std(axis=0).sum())), dtype=np.int64)

    def _read_table(self, X: Any, *, is_new: bool) -> list[Cells]:  # noqa: N803
        """Return the columns of a table, after scikit-learn's checks of its form."""
        if not hasattr(X, "iloc"):
            X = check_array(X, dtype=None, ensure_all_finite=False, estimator=self)  # noqa: N806
        elif not X.columns.is_unique:
            name = X.columns[X.columns.duplicated()][0]
            raise DataError(f"the table has two columns named {name!r}; rename one of them")
        validate_data(self, X, skip_check_array=True, reset=is_new)
        columns = read_table(X)
        if not columns or not len(columns[0]):
            raise DataError(
                f"the table has shape {X.shape}; it needs at least one row and one column (minimum of 1 is required)"
            )
        return columns

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(str(name) for name in _check_feature_names_in(self))

    def _encode(self, columns: list[Cells]) -> tuple[torch.Tensor, torch.Tensor]:
        numbers, slots, offset = [], [], 0
        for column, cells, is_used in zip(self.table_columns_, columns, self.is_used_, strict=True):
            values, places = column.encode(cells)  # of columns that are not used, too: what is new is refused anywhere
            if not is_used:
                continue
            numbers.append(values)
            slots.append(np.where(places < 0, -1, places + offset))
            offset += column.slots
        return torch.from_numpy(np.stack(numbers, 1)), torch.from_numpy(np.stack(slots, 1))

    def _split(self, rows: Rows, target: NDArray[Any], random: np.random.RandomState) -> tuple[Rows, Rows | None]:
        count = round(self.validation_fraction * len(rows))
        self.validation_rows_ = np.array([], dtype=np.int64)  # those held back to decide when to stop
        if count < 5 or len(rows) - count < 5:  # too few rows to spare any
            return rows, None
        groups = target if self._is_classifier and np.bincount(target.astype(int)).min() >= 2 else None
        if groups is not None and count < len(np.unique(groups)):
            groups = None
        kept, held = train_test_split(np.arange(len(rows)), test_size=count, random_state=random, stratify=groups)
        if not float(rows.weights[held].sum()) > 0 or not float(rows.weights[kept].sum()) > 0:
            return rows, None
        self.validation_rows_ = held
        return rows.take(torch.from_numpy(kept)), rows.take(torch.from_numpy(held))

    @property
    def _is_classifier(self) -> bool:
        return isinstance(self, ClassifierMixin)

    def _new_network(self, rows: Rows, outputs: int, generator: torch.Generator) -> AdditiveNetwork:
        # Corners of the first layer lie at random quantiles of the column. A unit is so steep that it rises by about 1
        # over the tenth of the rows around its corner.
        units = int(self.hidden_layers[0])
        own = [k for k, column in enumerate(self.columns_) if isinstance(column, Numeric) and not column.is_flat] or [0]
        corners, steepness = [], []
        for numbers, slots in zip(rows.numbers.T[own], rows.slots.T[own], strict=True):
            ordinary = numbers[slots < 0] if bool((slots < 0).any()) else torch.zeros(1)
            place = torch.rand(units, generator=generator)
            low, middle, high = (_quantile(ordinary, share) for share in (place - 0.05, place, place + 0.05))
            corners.append(middle + 0.05 * torch.randn(units, generator=generator))
            steepness.append(1 / (high - low).clamp(min=0.1))
        return AdditiveNetwork(
            torch.stack(corners),
            torch.stack(steepness),
            [int(units) for units in self.hidden_layers],
            outputs,
            features=len(self.columns_),
            own=own,
            slots=sum(column.slots for column in self.columns_),
            members=self.n_members,
            bases=self.n_bases if self.basis == "shared" else None,
            exu=self.first_layer == "exu",
            dropout=self.dropout,
            feature_dropout=self.feature_dropout,
            generator=generator,
        )

    def _options(self, rows: Rows) -> Options:
        batch = self.batch_size
        if isinstance(batch, str):
            steps = 24 if self._is_classifier else 100  # an epoch; a regression gains from more and smaller ones
            batch = int(np.clip(2 ** round(np.log2(max(len(rows), 1) / steps)), 32, 1024))
        return Options(
            self.learning_rate,
            int(batch),
            self.max_epochs,
            self.patience,
            self.weight_decay,
            self.output_penalty,
            self.explanation_weight,
        )

    # --- using --------------------------------------------------------------------------------------------------------

    def _score(self, columns: list[Cells]) -> NDArray[np.float64]:
        """Return scores (rows, outputs) in float64 arithmetic."""
        numbers, slots = self._encode(columns)
        scores = corrected_scores(self.network_, self.corrections_, numbers.numpy(), slots.numpy())
        return scores * self.scale_ + self.center_

    def _read_cells(self, cells: Sequence[Any]) -> list[Cells]:
        """Return one row, given cell by cell as the exact model reads it, as a table of one row."""
        row = []
        for column, cell in zip(self.table_columns_, cells, strict=True):
            value = (
                nearest_float(rational(cell)) if isinstance(cell, Fraction) else cell if isinstance(cell, str) else None
            )
            row.append(np.array([value], dtype=object if isinstance(column, Categorical) else np.float64))
        return row

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "explanation_width_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.non_deterministic = False
        return tags


def _quantile(values: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    place = (share.clamp(0, 1) * (len(values) - 1)).round().long()
    return values.sort().values[place]

"""What the neural classifier and regressor share: the parameters of their networks, and how these are trained."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from suffice.gam.base import BaseAdditive
from suffice.gam.columns import Numeric
from suffice.gam.convert import Parts
from suffice.gam.hats import Floats, Places, hats_of
from suffice.gam.solving import FEW_JUDGES, Data
from suffice.gam.splitting import split_rows
from suffice.gam.terms import Terms
from suffice.nam.convert import network_parts
from suffice.nam.corrected import Corrected, corrected_scores, part_of, values_at
from suffice.nam.corrections import correct
from suffice.nam.network import AdditiveNetwork
from suffice.nam.pairing import add_pairs
from suffice.nam.parameters import check_network_parameters
from suffice.nam.progress import Progress
from suffice.nam.reach import Reach
from suffice.nam.training import DivergenceError, Loss, Options, Rows, train

_KNOTS = 128  # of a column's correction, about


class BaseNAM(BaseAdditive):
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

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_network_parameters(self)

    # --- fitting ------------------------------------------------------------------------------------------------------

    def _train(self, numbers: Floats, slots: Places, target: NDArray[Any], weights: Floats) -> float:
        random, loss = check_random_state(self.random_state), self._loss()
        generator = torch.Generator().manual_seed(int(random.randint(2**31)))
        inputs = torch.from_numpy(numbers).float(), torch.from_numpy(slots)
        rows = Rows(*inputs, torch.from_numpy(target), torch.from_numpy(weights).float())
        training, validation = self._split(rows, target, random)
        reach = None
        if self.explanation_radius is not None:
            reach = Reach(self.columns_, training.numbers, training.slots, self.explanation_radius, generator)
        options = self._options(training)
        self.network_ = self._new_network(training, self._outputs, generator)
        untrained = copy.deepcopy(self.network_.state_dict())
        with Progress(self.max_epochs, is_shown=self.verbose) as report:
            self.history_ = train(self.network_, training, validation, loss, options, generator, reach, report)
        if validation is not None and len(validation) < FEW_JUDGES:  # of so few rows, none is left out in the end
            self._train_on_all(rows, untrained, loss, options, generator, reach)
        self.corrections_ = self._correct(numbers, slots, target, weights)
        self.pairs_ = () if self.corrections_ is None else self._pair_names(self.corrections_)
        self.has_validation_ = validation is not None
        self.fit_seconds_ = self.history_.seconds
        self.validation_curve_ = tuple(self.history_.validation_loss)
        self.n_iter_ = len(self.validation_curve_)
        shapes = Corrected(self.network_, self.corrections_)
        return float("nan") if reach is None else float(reach.width(shapes).detach())

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

    def _correct(self, numbers: Floats, slots: Places, target: NDArray[Any], weights: Floats) -> Terms | None:
        """Return corrections of the networks' shapes, where they are asked for and help."""
        wishes, pairs = self._wishes(), self._wanted_pairs()
        if not (self.corrections or wishes.monotone or pairs != 0):
            return None
        hats = hats_of(numbers, slots, [column.slots for column in self.columns_], _KNOTS)
        own = values_at(self.network_, hats)
        scores = corrected_scores(self.network_, None, numbers, slots)
        for k in wishes.monotone:  # their networks are replaced by lines, first of all by lines through the same points
            line = Terms(hats[k : k + 1], own[k : k + 1], (True,))
            alone = numbers[:, k : k + 1], slots[:, k : k + 1]
            scores += line.scores(*alone) - part_of(self.network_, k, *alone)
        data = Data(numbers, slots, target.astype(np.float64), weights, scores)
        found = None
        if self.corrections or wishes.monotone:
            found = correct(data, self.validation_rows_, self._curve(), own, hats, wishes)
        if pairs == 0:
            return found
        lines = found or Terms(hats, tuple(np.zeros_like(line) for line in own), (False,) * len(hats))
        data = data._replace(scores=corrected_scores(self.network_, lines, numbers, slots))
        # Those columns first whose shapes vary most.
        free = np.array(sorted(self._pairable(), key=lambda k: -float(own[k].std(axis=0).sum())), dtype=np.int64)
        grown = add_pairs(data, self.validation_rows_, self._curve(), own, lines, wishes, pairs, free)
        return grown if grown.grids else found

    def _split(self, rows: Rows, target: NDArray[Any], random: np.random.RandomState) -> tuple[Rows, Rows | None]:
        """Return the rows to train on and those held back to decide when to stop, `validation_rows_`."""
        kept, held = split_rows(len(rows), self.validation_fraction, target if self._is_classifier else None, random)
        if not float(rows.weights[held].sum()) > 0 or not float(rows.weights[kept].sum()) > 0:
            self.validation_rows_ = held[:0]
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

    def _sums(self, numbers: Floats, slots: Places) -> Floats:
        return corrected_scores(self.network_, self.corrections_, numbers, slots)

    def _parts(self) -> Parts:
        return network_parts(self.network_, self.columns_, self.corrections_)


def _quantile(values: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    place = (share.clamp(0, 1) * (len(values) - 1)).round().long()
    return values.sort().values[place]

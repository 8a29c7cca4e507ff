"""Training: minibatches, a learning rate that falls to 0, averaged weights, early stopping on a validation split.

The weights that are kept are a running average over the last steps, taken at the epoch with the best validation loss.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from suffice.errors import DataError
from suffice.nam.network import AdditiveNetwork
from suffice.nam.reach import Reach

Loss = Callable[[Tensor, Tensor], Tensor]  # (rows, outputs) scores and targets to a loss for each row


class DivergenceError(DataError):
    """No epoch has a finite loss."""


@dataclass(frozen=True)
class Rows:
    """Encoded rows: numbers and slots (rows, features), targets and weights (rows,)."""

    numbers: Tensor
    slots: Tensor
    targets: Tensor
    weights: Tensor

    def take(self, chosen: Tensor) -> Rows:
        """Return some of the rows."""
        return Rows(self.numbers[chosen], self.slots[chosen], self.targets[chosen], self.weights[chosen])

    def __len__(self) -> int:
        return len(self.targets)


@dataclass(frozen=True)
class Options:
    """How to train."""

    learning_rate: float
    batch_size: int
    max_epochs: int
    patience: int
    weight_decay: float
    output_penalty: float
    explanation_weight: float


@dataclass
class History:
    """What happened: losses after each epoch, the epoch that was kept, seconds."""

    training_loss: list[float] = field(default_factory=list)
    validation_loss: list[float] = field(default_factory=list)
    best_epoch: int = 0
    seconds: float = 0.0


def train(
    network: AdditiveNetwork,
    rows: Rows,
    validation: Rows | None,
    loss: Loss,
    options: Options,
    generator: torch.Generator,
    reach: Reach | None = None,
    report: Callable[[int, float], None] | None = None,
    epochs: int | None = None,
) -> History:
    """Train a network in place and return the history.

    `reach` measures how far the shapes can move within the explanation radius; it is added to the loss with
    `options.explanation_weight`, which grows to its full value over the first third of the epochs. With `epochs`, the
    training ends after so many of the epochs that it is planned for, and keeps the last.
    """
    began, history = time.perf_counter(), History()
    biases = [p for name, p in network.named_parameters() if "bias" in name or name == "table"]
    weights = [p for name, p in network.named_parameters() if not ("bias" in name or name == "table")]
    optimiser = torch.optim.AdamW(
        [{"params": weights, "weight_decay": options.weight_decay}, {"params": biases, "weight_decay": 0.0}],
        lr=options.learning_rate,
        betas=(0.9, 0.99),
        fused=True,
    )
    steps = math.ceil(len(rows) / options.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, _warm_then_fall(steps * options.max_epochs))
    average = {name: value.detach().clone() for name, value in network.named_parameters()}
    best, best_state = math.inf, copy.deepcopy(average)
    step = 0
    for epoch in range(options.max_epochs):
        network.train_mode(True)
        strength = options.explanation_weight * min(1.0, 3 * (epoch + 1) / options.max_epochs)
        for chosen in torch.randperm(len(rows), generator=generator).split(options.batch_size):
            batch = rows.take(chosen)
            scores, parts = network(batch.numbers, batch.slots)
            value = _mean_loss(loss, scores, batch)
            if options.output_penalty:
                value = value + options.output_penalty * parts.square().mean()
            if reach is not None and strength:
                value = value + strength * reach.cost(network)
            optimiser.zero_grad()
            value.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
            optimiser.step()
            schedule.step()
            step += 1
            _blend(average, network, rate=min(0.98, step / (step + 10)))
        network.train_mode(False)
        history.training_loss.append(float(value.detach()))
        current = _validate(network, average, validation if validation is not None else rows, loss, reach, options)
        history.validation_loss.append(current)
        if report is not None:
            report(epoch + 1, current)
        if current < best - 1e-6 * abs(best if math.isfinite(best) else 0.0):
            best, history.best_epoch, best_state = (
                current,
                epoch,
                {name: value.clone() for name, value in average.items()},
            )
        elif epochs is None and epoch - history.best_epoch >= options.patience:
            break
        if epoch + 1 == epochs:
            best, history.best_epoch, best_state = current, epoch, average
            break
    if not math.isfinite(best):
        raise DivergenceError("training diverged: no epoch has a finite loss; lower learning_rate")
    network.load_state_dict(best_state)
    history.seconds = time.perf_counter() - began
    return history


def _warm_then_fall(total: int) -> Callable[[int], float]:
    """Return the factor on the learning rate: up over the first 5 % of the steps, then a half cosine down."""
    warm = max(1, total // 20)
    return lambda step: (
        (step + 1) / warm if step < warm else 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, total - warm)))
    )


def _blend(average: dict[str, Tensor], network: AdditiveNetwork, rate: float) -> None:
    with torch.no_grad():
        torch._foreach_lerp_(list(average.values()), list(network.parameters()), 1 - rate)


def _validate(
    network: AdditiveNetwork,
    average: dict[str, Tensor],
    rows: Rows,
    loss: Loss,
    reach: Reach | None,
    options: Options,
) -> float:
    """Return the loss of the averaged weights on the validation rows; of the ensemble's mean score, as it is used."""
    current = {name: value.detach().clone() for name, value in network.named_parameters()}
    network.load_state_dict(average)
    with torch.no_grad():
        scores = torch.cat([network(p.numbers, p.slots)[0].mean(1) for p in _chunks(rows)])
        value = float((loss(scores, rows.targets) * rows.weights).sum() / rows.weights.sum())
        if reach is not None and options.explanation_weight:
            value += options.explanation_weight * float(reach.judged_cost(network))
    network.load_state_dict(current)
    return value if math.isfinite(value) else math.inf


def _chunks(rows: Rows, size: int = 8192) -> list[Rows]:
    return [rows.take(chosen) for chosen in torch.arange(len(rows)).split(size)]


def _mean_loss(loss: Loss, scores: Tensor, batch: Rows) -> Tensor:
    """Return the weighted mean loss of the members, each trained on its own."""
    members = scores.shape[1]
    each = torch.stack([(loss(scores[:, m], batch.targets) * batch.weights).sum() for m in range(members)])
    return each.sum() / batch.weights.sum().clamp(min=1e-12)

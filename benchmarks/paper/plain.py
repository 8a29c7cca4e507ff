"""A neural additive model trained plainly: Adam on standardised inputs, no validation rows, no early stopping."""

from __future__ import annotations

import numpy as np

import suffice

EPOCHS, RATE, DECAY = 100, 1e-3, 1e-4
BATCH, STEPS = 128, 32  # rows of a batch, or more, so that an epoch has at most so many steps


def train(table, target, hidden, task="binary", *, epochs=EPOCHS, decay=DECAY, seed=0, center=None, scale=None):
    """Return the trained model, of one network a column.

    Parameters
    ----------
    table : DataFrame
        Numbers only.
    target : array
        0 and 1, or numbers for a regression.
    decay : float
        Adam's weight decay; with more of it a verifier's bounds are tighter.
    center, scale : array, optional
        What inputs are shifted and divided by; the default standardises them.
    """
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rows = table.to_numpy(float)
    center = rows.mean(axis=0) if center is None else np.asarray(center, float)
    spread = rows.std(axis=0) if scale is None else np.asarray(scale, float)
    scale = np.where(spread == 0, 1.0, spread)
    inputs = torch.tensor((rows - center) / scale, dtype=torch.float32)
    wanted = torch.tensor(np.asarray(target), dtype=torch.float32)
    layers = _layers(inputs.shape[1], hidden)
    start = wanted.mean() if task == "regression" else torch.zeros(())
    intercept = torch.nn.Parameter(start.clone())
    optimizer = torch.optim.Adam([*(p for layer in layers for p in layer), intercept], lr=RATE, weight_decay=decay)
    loss_of = {
        "regression": torch.nn.functional.mse_loss,
        "binary": torch.nn.functional.binary_cross_entropy_with_logits,
    }[task]
    size = max(BATCH, -(-len(inputs) // STEPS))
    for _ in range(epochs):
        for batch in torch.randperm(len(inputs)).split(size):
            optimizer.zero_grad()
            loss_of(_scores(layers, inputs[batch]) + intercept, wanted[batch]).backward()
            optimizer.step()
    arrays = [[part.detach().numpy().astype(float) for part in layer] for layer in layers]
    shapes = [
        suffice.ReluNetwork([weight[i] for weight, _ in arrays], [bias[i] for _, bias in arrays])
        for i in range(inputs.shape[1])
    ]
    features = [
        suffice.Feature(name, None, c, s, s)
        for name, c, s in zip(table.columns, center.tolist(), scale.tolist(), strict=True)
    ]
    return suffice.AdditiveModel(shapes, float(intercept.item()), task, features)


def _layers(columns, hidden):
    """Return PyTorch's own initial weights and biases, `(columns, out, in)` and `(columns, out)` for each layer."""
    import torch

    made = []
    for units, out in zip([1, *hidden], [*hidden, 1], strict=True):
        bound = units**-0.5
        shapes = (columns, out, units), (columns, out)
        made.append([torch.nn.Parameter(torch.empty(shape).uniform_(-bound, bound)) for shape in shapes])
    return made


def _scores(layers, inputs):
    import torch

    outputs = inputs.T[:, :, None]
    for number, (weight, bias) in enumerate(layers):
        outputs = torch.baddbmm(bias[:, None, :], outputs.relu() if number else outputs, weight.transpose(1, 2))
    return outputs[..., 0].sum(dim=0)

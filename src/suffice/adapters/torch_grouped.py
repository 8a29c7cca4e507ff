"""PyTorch modules that read all columns in one layer: grouped convolutions, a group for each feature, or one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from suffice.adapters.layout import Layer, Squeezed, State, squeeze, to_shape
from suffice.errors import AdapterError
from suffice.shapes import Activation, PiecewiseLinear, Shape, SmoothFunction


def mixes_columns(state: State) -> bool:
    """Whether the first layer reads several columns at once."""
    shape = state.shape(state.names[0])
    return len(shape) == 2 and shape[1] > 1


def is_linear(state: State) -> bool:
    """Whether there is but one layer, that reads all columns."""
    shapes = [state.shape(name) for name in state.names]
    return mixes_columns(state) and shapes[1:] in ([], [(shapes[0][0],)])


def read_linear(state: State) -> tuple[list[Shape], list[Fraction]]:
    """Return the lines and the intercept of a module that is one linear layer."""
    weight, *rest = (state.take(name) for name in state.names)
    lines = [PiecewiseLinear([0], [[0] * len(weight)], column, column) for column in weight.T.tolist()]
    intercept = [Fraction(value) for bias in rest for value in bias.tolist()]
    return list(lines), intercept or [Fraction(0)] * len(weight)


def is_grouped(state: State, module: Any) -> bool:
    """Whether a module is a stack of grouped convolutions of width 1."""
    if module is None:
        return False
    convolutions = [part for part in module.modules() if type(part).__name__ == "Conv1d"]
    return bool(convolutions) and all(part.groups > 1 or part.in_channels == 1 for part in convolutions)


def read_grouped(
    state: State, module: Any, activation: Callable[[Any], Activation | SmoothFunction | Squeezed | None]
) -> tuple[list[Shape], list[Fraction]]:
    """Return the shapes and the intercept of a stack of grouped convolutions."""
    layers = [(name, part) for name, part in module.named_modules() if type(part).__name__ == "Conv1d"]
    count = layers[0][1].groups
    for name, part in layers:
        if part.groups != count or part.kernel_size != (1,) or part.stride != (1,) or part.padding != (0,):
            raise AdapterError(
                f"{name!r} is a Conv1d that joins features or places; give each of the {count} features a group of its "
                "own and kernel_size=1"
            )
    if layers[0][1].in_channels != count:
        raise AdapterError(
            f"{layers[0][0]!r} reads {layers[0][1].in_channels} channels in {count} groups, not one each"
        )
    leaves = [part for _, part in module.named_modules() if not list(part.children())]
    found = [one for part in leaves if (one := activation(part)) is not None]
    if len(found) != len(layers) - 1:
        raise AdapterError(
            f"the module has {len(layers)} convolutions, but {len(found)} activations that can be seen; put one "
            "between each two of them, as a module of its own"
        )
    weights = [state.take(f"{name}.weight")[..., 0] for name, _ in layers]
    biases = [state.take_if_there(f"{name}.bias") for name, _ in layers]
    shapes = []
    for i in range(count):
        mine = []
        for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            size = len(weight) // count
            rows = slice(i * size, (i + 1) * size)
            chosen = found[k] if k < len(found) else Activation.identity()
            layer = Layer(weight[rows], None if bias is None else bias[rows], None, Activation.identity())
            if isinstance(chosen, Squeezed):
                mine.append(squeeze(layer, chosen))
            else:
                mine.append(layer._replace(activation=chosen))
        shapes.append(to_shape(mine, f"group {i}"))
    outputs = shapes[0].outputs
    rest = [name for name in state.names if not any(re.match(rf"{re.escape(one)}\.", name) for one, _ in layers)]
    if len(rest) > 1 or (rest and state.size(rest[0]) != outputs):
        raise AdapterError(f"the module has the parameter {rest[0]!r} beside its convolutions, which is not read")
    intercept = [Fraction(0)] * outputs
    if rest:
        intercept = [Fraction(float(value)) for value in state.take(rest[0]).ravel()]
    state.check_all_read()
    return list(shapes), intercept

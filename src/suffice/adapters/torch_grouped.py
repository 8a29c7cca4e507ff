"""PyTorch modules whose networks lie side by side in grouped convolutions: one group for each feature."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from suffice.adapters.layout import Layer, Squeezed, State, squeeze, to_shape
from suffice.errors import AdapterError
from suffice.shapes import Activation, Shape


def is_grouped(state: State, module: Any) -> bool:
    """Whether a module is a stack of grouped convolutions of width 1."""
    if module is None:
        return False
    convolutions = [part for part in module.modules() if type(part).__name__ == "Conv1d"]
    return bool(convolutions) and all(part.groups > 1 or part.in_channels == 1 for part in convolutions)


def read_grouped(
    state: State, module: Any, activation: Callable[[Any], Activation | Squeezed | None]
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

"""Where the parameters of "one small network per feature" lie in a PyTorch state_dict, and how they are meant.

The public code bases share a paper and little else: a key `bias` may be an offset or a centre, a square matrix may be
stored either way round, exponential units look like plain ones. So a layout is said, not guessed, and what it yields is
compared with the model's own predictions before anyone sees it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.errors import AdapterError, ShapeError
from suffice.numbers.exact import nearest_float, rational
from suffice.shapes import Activation, ReluNetwork, SmoothFunction, SmoothNetwork
from suffice.shapes.network import Network
from suffice.shapes.parameters import exact_array, rounded_exp
from suffice.shapes.smooth_functions import KINDS

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """Names and meanings of the parameters of a neural additive model.

    Parameters
    ----------
    network : str
        Where the network of feature `{i}` is, such as ``"feature_nns.{i}"``.
    layer : str or tuple of str
        Its layers, by number: ``"model.{k}"``. Numbers count in their order; layers without parameters have none. Or
        their names in order: ``("first", "norm", "second")``.
    output : str, optional
        Its last layer, where that is not one of the numbered ones.
    intercept : str, optional
        The global bias.
    mix : str, optional
        A linear layer that mixes several networks of one feature, which are then at ``network + "." + network``.
    centred : {"never", "weights", "hidden"}
        Which layers compute `(h - bias) @ W` with `W` of shape (in, out): none; those whose matrix is called `weights`;
        all but the last.
    exu : {"none", "first", "hidden"}
        Which layers have exponential units, `exp(W)` for `W`, clipped to [0, 1].
    activation : str, Activation or SmoothFunction
        After every other layer but the last.
    norm : {"before", "after"}
        Whether batch normalisation comes before the activation or after it.
    epsilon : float
        What batch normalisation adds to the variance.
    center, scale : str, optional
        What the module subtracts from each column, and then divides it by; `center` may also be the place of a batch
        normalisation of all columns.
    clip : pair of float, optional
        The ends that the module cuts its columns off at, after scaling them.
    link : {"score", "sigmoid"}
        What the module returns.
    task : {"binary", "regression"}, optional
        What it is trained for, where the code base does only one.

    Examples
    --------
    >>> Layout(network="feature_nns.{i}", layer="model.{k}", intercept="bias").activation
    'relu'
    """

    network: str
    layer: str | tuple[str, ...]
    output: str | None = None
    intercept: str | None = None
    mix: str | None = None
    centred: Literal["never", "weights", "hidden"] = "never"
    exu: Literal["none", "first", "hidden"] = "none"
    activation: str | Activation | SmoothFunction = "relu"
    norm: Literal["before", "after"] = "before"
    epsilon: float = 1e-5
    center: str | None = None
    scale: str | None = None
    clip: tuple[float, float] | None = None
    link: Literal["score", "sigmoid"] = "score"
    task: str | None = None


_NAM = Layout("feature_nns.{i}", "model.{k}", intercept="_bias", centred="weights")
_NAM_PT = Layout("feature_nns.{i}", "layers.{k}", output="linear", intercept="bias", centred="hidden")
_PYTORCH_NAM = Layout("shape_functions.{i}", "model.{k}", task="regression")
_NAM_PYTORCH = Layout("networks.{i}", "l{k}", intercept="bias", link="sigmoid", task="binary")

LAYOUTS: Mapping[str, Layout] = {
    "nam": _NAM,  # AmrMKayid's; lemeln's has the same names
    "nam-exu": replace(_NAM, exu="first"),
    "nam-multitask": replace(_NAM, mix="linear"),
    "nam-multitask-exu": replace(_NAM, mix="linear", exu="first"),
    "nam-pt": _NAM_PT,
    "nam-pt-exu": replace(_NAM_PT, exu="first"),
    "nam-pt-exu-hidden": replace(_NAM_PT, exu="hidden"),
    "pytorch-nam": _PYTORCH_NAM,
    "nam-pytorch": _NAM_PYTORCH,
}


class State:
    """A state_dict that remembers what has been read: what nobody reads is an unknown part of the model."""

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        self._tensors = {
            name: tensor
            for name, tensor in tensors.items()
            if hasattr(tensor, "shape") and not name.endswith("num_batches_tracked")
        }
        self._read: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    @property
    def names(self) -> list[str]:
        """All keys of tensors."""
        return list(self._tensors)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a parameter."""
        return tuple(self._tensors[name].shape)

    def size(self, name: str) -> int:
        """How many numbers a parameter has."""
        return math.prod(self.shape(name))

    def is_vector(self, name: str) -> bool:
        """Whether a parameter is there and has one dimension."""
        return name in self and len(self._tensors[name].shape) == 1

    def take(self, name: str) -> Array:
        """Return a parameter at its exact values."""
        if name not in self._tensors:
            raise AdapterError(f"the state_dict has no {name!r}, which the layout asks for; it has {self._some()}")
        self._read.add(name)
        try:
            return exact_array(name, self._tensors[name])
        except ShapeError as error:
            raise AdapterError(str(error)) from None

    def take_if_there(self, name: str) -> Array | None:
        """Return a parameter, or None."""
        return self.take(name) if name in self else None

    def check_all_read(self) -> None:
        """Refuse a model with parts that the layout does not know."""
        left = [name for name in self._tensors if name not in self._read]
        if left:
            raise AdapterError(
                f"the layout leaves {len(left)} parameters unread, {left[0]!r} first: the model has a layer that is "
                "not supported, or a different layout"
            )

    def without_prefix(self, mark: str) -> State:
        """Return the state below the place where keys start with `mark`, as Lightning puts a model under `model.`."""
        places = {name[: found.start()] for name in self.names if (found := re.search(rf"(?:^|(?<=\.)){mark}", name))}
        if len(places) != 1:
            return self
        (prefix,) = places
        return State({name.removeprefix(prefix): tensor for name, tensor in self._tensors.items()})

    def numbers(self, pattern: str) -> list[int]:
        """Return the numbers that stand at the one `{}` of a pattern, in order."""
        before, after = (re.escape(part) for part in pattern.split("{}"))
        found = (re.match(rf"{before}(\d+){after}(?:\.|$)", name) for name in self._tensors)
        return sorted({int(match.group(1)) for match in found if match})

    def _some(self, most: int = 4) -> str:
        return ", ".join(self.names[:most]) + (", ..." if len(self.names) > most else "")


class Squeezed(NamedTuple):
    """An activation of `factor * h + offset`."""

    factor: float
    offset: float
    activation: Activation


# PyTorch divides by 6; the factor counts at the float64 that it rounds to.
HARD_SIGMOID = Squeezed(1 / 6, 0.5, Activation.hard_tanh(0.0, 1.0))


class Layer(NamedTuple):
    """`W (h - centre) + bias`, then an activation."""

    weight: Array  # (out, in)
    bias: Array | None
    centre: Array | None
    activation: Activation | SmoothFunction


def read_network(
    state: State, place: str, layout: Layout, activations: Sequence[Activation | SmoothFunction | Squeezed] | None
) -> list[Layer]:
    """Return the layers of the network at a place.

    Parameters
    ----------
    activations : sequence of Activation, SmoothFunction or Squeezed, optional
        One after each layer but the last, as the live module has them; None where the layout must say.
    """
    places = _layers(state, place, layout.layer)
    if layout.output is not None:
        places.append(f"{place}.{layout.output}")
    layers: list[Layer] = []
    squeezed: dict[int, Squeezed] = {}
    linear = [one for one in places if f"{one}.running_mean" not in state and not state.is_vector(f"{one}.weight")]
    if activations is not None and len(activations) != len(linear) - 1:
        raise AdapterError(
            f"the network at {place!r} has {len(linear)} layers but {len(activations)} activations; "
            f"{len(linear) - 1} are needed between them"
        )
    for one in places:
        if one in linear:
            depth = linear.index(one)
            layers.append(_read_layer(state, one, layout, depth, is_last=one == linear[-1]))
            if activations is not None and one != linear[-1]:
                chosen = activations[depth]
                if isinstance(chosen, Squeezed):
                    squeezed[len(layers) - 1] = chosen
                else:
                    layers[-1] = layers[-1]._replace(activation=chosen)
        elif f"{one}.running_mean" in state:
            factor, offset = normalisation(state, one, layout.epsilon)
            if layers and layout.norm == "before":
                layers[-1] = _scaled(layers[-1], factor, offset)
            else:
                layers.append(Layer(np.diag(factor), offset, None, Activation.identity()))
        elif f"{one}.bias" in state or not layers:
            raise AdapterError(f"the layer at {one!r} is neither linear nor batch normalisation; it is not supported")
        else:  # the slopes of a PReLU
            slopes = Activation.leaky_relu(state.take(f"{one}.weight"))
            layers[-1] = layers[-1]._replace(activation=slopes)
    return [squeeze(layer, squeezed[k]) if k in squeezed else layer for k, layer in enumerate(layers)]


def _layers(state: State, place: str, layer: str | tuple[str, ...]) -> list[str]:
    if not isinstance(layer, str):
        return [f"{place}.{name}" for name in layer]
    pattern = f"{place}.{layer.replace('{k}', '{}')}"
    places = [pattern.replace("{}", str(k)) for k in state.numbers(pattern)]
    if not places:
        raise AdapterError(f"there is no layer at {pattern.replace('{}', '0')!r}; the model has another layout")
    return places


def squeeze(layer: Layer, how: Squeezed) -> Layer:
    """Return a layer with an activation that scales what it gets."""
    if layer.centre is not None:
        raise AdapterError("a Hardsigmoid after a layer that is centred is not read; use Hardtanh")
    units = np.ones(layer.weight.shape[0])
    return _scaled(layer, how.factor * units, how.offset * units)._replace(activation=how.activation)


def _read_layer(state: State, place: str, layout: Layout, depth: int, *, is_last: bool) -> Layer:
    called = "weights" if f"{place}.weights" in state else "weight"
    weight = state.take(f"{place}.{called}")
    while weight.ndim > 2 and weight.shape[-1] == 1:  # a convolution of width 1 is a matrix
        weight = weight[..., 0]
    if weight.ndim != 2:
        raise AdapterError(f"{place}.{called} has shape {weight.shape}; a linear layer has a matrix")
    bias = state.take_if_there(f"{place}.bias")
    is_centred = (layout.centred == "weights" and called == "weights") or (layout.centred == "hidden" and not is_last)
    is_exu = not is_last and (layout.exu == "hidden" or (layout.exu == "first" and depth == 0))
    activation = Activation.relu_n(1.0) if is_exu else _activation_of(layout.activation)
    if is_centred:
        weight = weight.T
    if is_exu:
        weight = rounded_exp(weight)
    if is_centred:
        return Layer(weight, None, bias, activation)
    return Layer(weight, bias, None, activation)


def normalisation(state: State, place: str, epsilon: float) -> tuple[Array, Array]:
    """Return the factor and the offset of inference batch normalisation for each unit, rounded to float64 once."""
    mean, variance = state.take(f"{place}.running_mean"), state.take(f"{place}.running_var")
    gamma, beta = state.take_if_there(f"{place}.weight"), state.take_if_there(f"{place}.bias")
    # Square roots are irrational: the factor counts at the float64 that NumPy gives for it.
    factor = 1 / np.sqrt(variance.astype(np.float64) + epsilon)
    factor = factor if gamma is None else factor * gamma.astype(np.float64)
    shift = np.zeros_like(mean) if beta is None else beta
    return factor, _multiply_add(-factor, mean, shift)


def _scaled(layer: Layer, factor: Array, offset: Array) -> Layer:
    """Return a layer with its outputs scaled and shifted before the activation, each number rounded to float64 once."""
    bias = np.zeros(len(factor)) if layer.bias is None else layer.bias
    return layer._replace(
        weight=factor[:, None] * layer.weight.astype(np.float64), bias=_multiply_add(factor, bias, offset)
    )


def _multiply_add(a: Array, b: Array, c: Array) -> Array:
    """Return `a * b + c` for each entry, rounded to float64 once."""
    exact = (rational(x) * rational(y) + rational(z) for x, y, z in zip(a, b, c, strict=True))
    return np.array([nearest_float(value) for value in exact])


def _activation_of(given: str | Activation | SmoothFunction) -> Activation | SmoothFunction:
    """Return an activation, piecewise linear or smooth, by its name or as it is."""
    if isinstance(given, SmoothFunction) or given in KINDS:
        return SmoothFunction.of(given)
    return Activation.of(given)


def to_shape(layers: Iterable[Layer], place: str, *, keeps_last: bool = False) -> Network:
    """Return layers as a network of one input; a centre becomes a layer of its own, which is exact.

    Parameters
    ----------
    keeps_last : bool
        Whether the last layer has its activation too, as that of a shared basis does.
    """
    weights: list[Array] = []
    biases: list[Array | None] = []
    activations: list[Activation | SmoothFunction] = []
    for layer in layers:
        if layer.centre is not None:
            weights.append(np.eye(layer.weight.shape[1], dtype=np.float32))
            biases.append(np.broadcast_to(-layer.centre, (layer.weight.shape[1],)))
            activations.append(Activation.identity())
        weights.append(layer.weight)
        biases.append(layer.bias)
        activations.append(layer.activation)
    if keeps_last:
        weights.append(np.eye(weights[-1].shape[0], dtype=np.float32))
        biases.append(None)
        activations.append(Activation.identity())
    lines = [one for one in activations[:-1] if isinstance(one, Activation)]
    try:
        if len(lines) < len(activations) - 1:
            return SmoothNetwork(weights, biases, activations[:-1])
        return ReluNetwork(weights, biases, lines)
    except ShapeError as error:
        raise AdapterError(f"the network at {place!r}: {error}") from None

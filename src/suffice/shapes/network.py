"""Networks of one input with piecewise-linear activations, the shape functions of neural additive models."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.errors import PieceBudgetError, ShapeError
from suffice.shapes.activations import Activation
from suffice.shapes.function import Function
from suffice.shapes.parameters import as_integers, as_whole, exact_array, rounded_exp
from suffice.shapes.shape import DEFAULT_BUDGET, PieceBudget, Shape, Support
from suffice.shapes.tabulate import IntegerLayer, Lines, propagate, tabulate, to_pieces


class Network(Shape):
    """What networks of one input have in common: layers of exact parameters that fit together.

    Attributes
    ----------
    weights, biases, activations, skips, exu
        See `ReluNetwork`.
    """

    weights: tuple[NDArray[Any], ...]
    biases: tuple[NDArray[Any] | None, ...]
    activations: tuple[Any, ...]
    skips: Mapping[int, int]
    exu: bool

    @staticmethod
    @abstractmethod
    def _activation(given: Any) -> Any:
        """Return an activation, given by name or as it is."""

    def _set(
        self, weights: Any, biases: Any, activations: Any, skips: Mapping[int, int] | None, exu: bool = False
    ) -> None:
        """Check and keep the parameters."""
        if not all(isinstance(part, (Sequence, np.ndarray)) for part in (weights, biases)):
            raise ShapeError("weights and biases must be lists with an array for each layer")
        if not len(weights) == len(biases) >= 1:
            raise ShapeError(
                f"need weights and biases for the same 1 or more layers, got {len(weights)} and {len(biases)} "
                "(None stands for a layer without bias)"
            )
        if isinstance(activations, str) or hasattr(activations, "fits"):
            activations = [activations] * (len(weights) - 1)
        if not isinstance(activations, Sequence):
            raise ShapeError(f"activations must be a name, an Activation or a list of these, got {activations!r}")
        if len(activations) != len(weights) - 1:
            raise ShapeError(
                f"{len(weights)} layers have {len(weights) - 1} activations between them, got {len(activations)}"
            )
        exact = tuple(exact_array(f"weights[{k}]", weight) for k, weight in enumerate(weights))
        offsets = tuple(None if b is None else exact_array(f"biases[{k}]", b) for k, b in enumerate(biases))
        object.__setattr__(self, "weights", exact)
        object.__setattr__(self, "biases", offsets)
        object.__setattr__(self, "activations", tuple(self._activation(given) for given in activations))
        if not isinstance(skips or {}, Mapping):
            raise ShapeError(f"skips must be a mapping {{to: source}} of layer numbers, got {skips!r}")
        object.__setattr__(self, "skips", dict(skips or {}))
        object.__setattr__(self, "exu", bool(exu))
        self._check_widths()
        self._check_skips()

    def __repr__(self) -> str:
        units = "-".join(str(weight.shape[0]) for weight in self.weights)
        return f"<{type(self).__name__}: 1-{units}>"

    @property
    def outputs(self) -> int:
        return int(self.weights[-1].shape[0])

    @property
    def support(self) -> Support:
        return Support(is_everywhere=True)

    def _check_widths(self) -> None:
        width = 1
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if weight.ndim != 2 or weight.shape[1] != width or weight.shape[0] < 1:
                before = "the input is one number" if k == 0 else f"layer {k} has {width} units"
                turned = "; it looks transposed" if weight.ndim == 2 and weight.shape[0] == width else ""
                raise ShapeError(
                    f"weights[{k}] has shape {weight.shape}, but {before}: give an array of shape "
                    f"(units, {width}){turned}"
                )
            width = weight.shape[0]
            allowed = {(width,), (1,)} if self.exu and k == 0 else {(width,)}
            if bias is not None and bias.shape not in allowed:
                raise ShapeError(f"biases[{k}] has shape {bias.shape}, but layer {k + 1} has {width} units")
            if k < len(self.activations) and not self.activations[k].fits(width):
                slopes = self.activations[k].slopes.shape[1]
                raise ShapeError(f"activations[{k}] has {slopes} slopes, but layer {k + 1} has {width} units")

    def _check_skips(self) -> None:
        widths = [1, *(weight.shape[0] for weight in self.weights)]
        for to, source in self.skips.items():
            if type(to) is not int or type(source) is not int:
                raise ShapeError(f"skip {{{to!r}: {source!r}}} must name two layers by their numbers")
            if not 0 <= source < to <= len(self.weights):
                raise ShapeError(
                    f"skip {{{to}: {source}}} does not lead forward within layers 0 to {len(self.weights)}"
                )
            if widths[source] != widths[to]:
                raise ShapeError(
                    f"skip {{{to}: {source}}} adds {widths[source]} numbers to {widths[to]}; "
                    "both layers need as many units"
                )


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ReluNetwork(Network):
    """Network of one real input; the function it computes in exact arithmetic.

    Parameters
    ----------
    weights : sequence of arrays
        One for each layer, in PyTorch's layout `(units out, units in)`; the first has one column.
    biases : sequence of arrays
        One for each layer, a number for each unit; None for a layer without bias.
    activations : str, Activation, or sequence of these
        After each layer but the last: one for all, or one for each ("relu", "relu1", "relu6", "leaky_relu",
        "hard_tanh", "abs", "identity", or the constructors of `Activation`).
    skips : mapping of int to int
        `{to: source}` adds the output of layer `source` to that of layer `to`. Layer 0 is the input, layer `k` the
        output of the k-th layer after its activation.
    exu : bool
        Whether the first layer has exponential units `exp(w) * (x - b)`. `exp(w)` counts at its correctly rounded
        value in the type of the weights.

    Raises
    ------
    ShapeError
        If the arrays do not fit together, or hold anything but finite binary floats.

    Examples
    --------
    `relu(x) - 2 relu(x - 1)`, a hat without a right brim:

    >>> hat = ReluNetwork(weights=[[[1.0], [1.0]], [[1.0, -2.0]]], biases=[[0.0, -1.0], [0.0]])
    >>> pieces, = hat.compile()
    >>> pieces.knots, pieces.slopes
    ((0, 1), (0, 1, -1))
    """

    is_straight: ClassVar[bool] = True

    activations: tuple[Activation, ...]

    def __init__(
        self,
        weights: Sequence[ArrayLike],
        biases: Sequence[ArrayLike | None],
        activations: str | Activation | Sequence[str | Activation] = "relu",
        skips: Mapping[int, int] | None = None,
        exu: bool = False,
    ) -> None:
        self._set(weights, biases, activations, skips, exu)
        if exu:
            self._check_exponents()

    @staticmethod
    def _activation(given: Any) -> Activation:
        return Activation.of(given)

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[Function, ...]:
        if budget.enclose is None:
            return to_pieces(self.lines(budget))
        found: tuple[Function, ...] = self.enclosed(budget).compile(budget)
        return found

    def enclosed(self, budget: PieceBudget) -> Any:
        """Return the same network as one whose values are found by bisection."""
        if self.exu or budget.enclose is None:
            raise PieceBudgetError(budget.feature, budget.most, len(self.weights))
        return budget.enclose(self)

    def lines(self, budget: PieceBudget) -> Lines:
        """Return the outputs as exact lines; made once and kept, for shapes that share this network and for proofs.

        Over an interval, if the budget has one, they are made anew.
        """
        if budget.is_restricted:
            return tabulate(self._integer_layers(), self.skips, budget)
        if "_lines" not in self.__dict__:
            object.__setattr__(self, "_lines", tabulate(self._integer_layers(), self.skips, budget))
        lines: Lines = self.__dict__["_lines"]
        budget.check(len(lines.knots) + 1, len(self.weights))
        return lines

    def _integer_layers(self) -> list[IntegerLayer]:
        activations = (*self.activations, Activation.identity())
        layers = []
        for k, (weight, bias, activation) in enumerate(zip(self.weights, self.biases, activations, strict=True)):
            is_exu = self.exu and k == 0
            whole, scale = as_whole(rounded_exp(weight) if is_exu else weight)
            offset, offset_scale = as_integers(np.zeros(weight.shape[0]) if bias is None else bias)
            if is_exu:  # exp(w) * (x - b) = exp(w) * x - exp(w) * b
                offset, offset_scale = -whole[:, 0].astype(object) * offset, scale + offset_scale
            layers.append(IntegerLayer(whole, scale, offset, offset_scale, activation))
        return layers

    def _check_exponents(self) -> None:
        grown = rounded_exp(self.weights[0])
        if not np.all(np.isfinite(grown)):
            unit = int(np.argwhere(~np.isfinite(grown))[0, 0])
            raise ShapeError(f"weights[0][{unit}, 0] = {self.weights[0][unit, 0]} is too large: its exp overflows")


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Readout(Shape):
    """Linear combinations of the outputs of a network, which other shapes may share.

    Parameters
    ----------
    basis : ReluNetwork
        Tabulated once, however many shapes read from it.
    weights : array of shape (outputs, outputs of the basis)
        One row for each output.

    Examples
    --------
    >>> basis = ReluNetwork([[[1.0], [1.0]], [[1.0, 0.0], [0.0, 1.0]]], [[0.0, -1.0], None])
    >>> pieces, = Readout(basis, [[1.0, -2.0]]).compile()
    >>> pieces.slopes
    (0, 1, -1)
    """

    is_straight: ClassVar[bool] = True

    basis: ReluNetwork
    weights: NDArray[Any]

    def __init__(self, basis: ReluNetwork, weights: ArrayLike) -> None:
        exact = exact_array("the weights of a readout", weights)
        if not isinstance(basis, ReluNetwork):
            raise ShapeError(f"a readout reads from a ReluNetwork, got a {type(basis).__name__}")
        if exact.ndim != 2 or exact.shape[1] != basis.outputs or exact.shape[0] < 1:
            raise ShapeError(
                f"the weights of a readout have shape {exact.shape}; the basis needs shape (outputs, {basis.outputs})"
            )
        object.__setattr__(self, "basis", basis)
        object.__setattr__(self, "weights", exact)

    @property
    def made_of(self) -> tuple[Shape, ...]:
        return (self.basis,)

    def __repr__(self) -> str:
        return f"<Readout of {repr(self.basis)[1:-1]}>"

    @property
    def outputs(self) -> int:
        return int(self.weights.shape[0])

    @property
    def support(self) -> Support:
        return Support(is_everywhere=True)

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[Function, ...]:
        if budget.enclose is not None:
            found: tuple[Function, ...] = self.basis.enclosed(budget).read_by(self.weights).compile(budget)
            return found
        whole, scale = as_whole(self.weights)
        none, _ = as_integers(np.zeros(self.outputs))
        layer = IntegerLayer(whole, scale, none, 0, Activation.identity())
        return to_pieces(propagate(self.basis.lines(budget), layer))


def is_tabulated(shape: Shape) -> bool:
    """Whether a shape has networks to tabulate, and nothing curved beside them.

    Such a shape takes long to compile, and becomes `Pieces` unless there are too many of them.
    """
    every = [shape]
    for one in every:
        every.extend(one.made_of)
    return all(one.is_straight for one in every) and any(isinstance(one, ReluNetwork) for one in every)

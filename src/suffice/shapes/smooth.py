"""Smooth shapes: functions by name, networks with smooth activations, and shapes put behind one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from flint import arb, arb_mat, fmpq
from numpy.typing import ArrayLike, NDArray

from suffice.errors import ShapeError
from suffice.numbers.exact import ONE, ZERO, Number
from suffice.shapes.activations import Activation
from suffice.shapes.chains import Chain, Chains
from suffice.shapes.combining import combined
from suffice.shapes.curves import curved_form
from suffice.shapes.enclosed import Enclosed, chains_of, summed
from suffice.shapes.float_network import FloatNetwork
from suffice.shapes.function import Function
from suffice.shapes.jets import BallLayer, ExactStage, FormulaStage, NetworkStage, Stage, zones_of
from suffice.shapes.network import Network
from suffice.shapes.pieces import Pieces
from suffice.shapes.shape import DEFAULT_BUDGET, PieceBudget, Shape, Support
from suffice.shapes.smooth_functions import SmoothFunction


@dataclass(frozen=True, init=False)
class Smooth(Shape):
    """A smooth function by its name, where it has a value.

    Parameters
    ----------
    function : str or SmoothFunction
        Such as "log", "sqrt" or "tanh"; `SmoothFunction` lists them.
    parameter : number, optional
        If the function has one.

    Examples
    --------
    >>> from suffice.numbers.exact import rational
    >>> curve, = Smooth("log").compile()
    >>> float(curve.value(rational(2), bits=64))
    0.6931471805599453
    """

    function: SmoothFunction

    def __init__(self, function: str | SmoothFunction, *parameter: Number) -> None:
        made = function if isinstance(function, SmoothFunction) else SmoothFunction(function, *parameter)
        object.__setattr__(self, "function", made)

    @property
    def outputs(self) -> int:
        return 1

    @property
    def support(self) -> Support:
        return Support(is_everywhere=True)

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[Enclosed, ...]:
        return (Enclosed(Chains([Chain(ONE, ZERO, ONE, None, (FormulaStage(self.function),))]), budget.feature),)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class SmoothNetwork(Network):
    """Network of one real input with smooth activations; the function it computes in real numbers.

    Parameters
    ----------
    weights, biases, skips
        As those of `ReluNetwork`.
    activations : str, SmoothFunction, Activation, or sequence of these
        After each layer but the last: one for all, or one for each. The name of a smooth function ("tanh", "sigmoid",
        "elu", "selu", "celu", "gelu", "gelu_tanh", "silu", "hardswish", "softplus", "mish", "sine"), or of one that has
        corners.

    Examples
    --------
    >>> from suffice.numbers.exact import rational
    >>> curve, = SmoothNetwork([[[1.0]], [[2.0]]], [[0.0], [1.0]], "tanh").compile()
    >>> float(curve.value(rational(0), bits=64)), float(curve.value(rational(1), bits=64))
    (1.0, 2.5231883119115297)
    """

    activations: tuple[Activation | SmoothFunction, ...]

    def __init__(
        self,
        weights: Sequence[ArrayLike],
        biases: Sequence[ArrayLike | None],
        activations: str | SmoothFunction | Activation | Sequence[str | SmoothFunction | Activation] = "tanh",
        skips: Mapping[int, int] | None = None,
    ) -> None:
        self._set(weights, biases, activations, skips)

    @classmethod
    def like(cls, network: Network) -> SmoothNetwork:
        """Return a network of piecewise-linear activations as one whose values are found by bisection."""
        return cls(network.weights, network.biases, network.activations, network.skips)

    @staticmethod
    def _activation(given: Any) -> Activation | SmoothFunction:
        if isinstance(given, (Activation, SmoothFunction)):
            return given
        return Activation.of(given) if given in Activation.names() else SmoothFunction(given)

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[Enclosed, ...]:
        each = range(self.outputs)
        known = self, self._layers, self._floats, dict(self.skips)
        stages = (NetworkStage(*known, tuple(fmpq(j == k) for k in each)) for j in each)
        return tuple(Enclosed(Chains([Chain(ONE, ZERO, ONE, None, (one,))]), budget.feature) for one in stages)

    def read_by(self, weight: ArrayLike) -> SmoothNetwork:
        """Return the network with one more layer, a linear one without bias."""
        activations = (*self.activations, Activation.identity())
        return SmoothNetwork([*self.weights, weight], [*self.biases, None], activations, self.skips)

    @cached_property
    def _floats(self) -> FloatNetwork:
        return FloatNetwork(self.weights, self.biases, (*self.activations, Activation.identity()), self.skips)

    @cached_property
    def _layers(self) -> tuple[BallLayer, ...]:
        activations = (*self.activations, Activation.identity())
        return tuple(
            BallLayer(
                _matrix(weight), None if bias is None else [arb(one) for one in bias.tolist()], _units(activation)
            )
            for weight, bias, activation in zip(self.weights, self.biases, activations, strict=True)
        )


def _matrix(weight: NDArray[Any]) -> arb_mat:
    rows, columns = weight.shape
    return arb_mat(rows, columns, [arb(one) for one in weight.ravel().tolist()])  # a float is a ball of radius 0


def _units(activation: Activation | SmoothFunction) -> Any:
    if isinstance(activation, SmoothFunction):
        return [activation]
    return None if activation.is_identity else zones_of(activation)


@dataclass(frozen=True, init=False)
class Composed(Shape):
    """`x -> outer(inner(x))`.

    Parameters
    ----------
    outer : Shape
        Of one or more outputs.
    inner : Shape
        Of one output; a single shape, not a sum of several smooth ones.

    Examples
    --------
    A broken line in the logarithm:

    >>> from suffice import PiecewiseLinear
    >>> from suffice.numbers.exact import rational
    >>> curve, = Composed(PiecewiseLinear([0], [0], right_slope=1), Smooth("log")).compile()
    >>> float(curve.value(rational(2), bits=64))
    0.6931471805599453
    """

    outer: Shape
    inner: Shape

    def __init__(self, outer: Shape, inner: Shape) -> None:
        if not isinstance(outer, Shape) or not isinstance(inner, Shape):
            raise ShapeError("a composition takes two shapes, the outer one first")
        if inner.outputs != 1:
            raise ShapeError(f"the inner shape of a composition needs one output, got {inner.outputs}")
        object.__setattr__(self, "outer", outer)
        object.__setattr__(self, "inner", inner)

    @property
    def outputs(self) -> int:
        return self.outer.outputs

    @property
    def support(self) -> Support:
        return self.inner.support

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[Function, ...]:
        (inner,) = self.inner.compile(budget)
        return tuple(composed(one, inner, budget.feature) for one in self.outer.compile(budget))


def composed(outer: Function, inner: Function, feature: str = "x") -> Enclosed:
    """Return the composition of two compiled functions, at least one of them smooth."""
    if isinstance(outer, Pieces) and not outer.knots:
        constant = ONE if outer.offsets[0] or not outer.slopes[0] else ZERO
        found = summed([(outer.slopes[0], inner), (constant, Pieces.affine(ZERO, outer.offsets[0]))])
        assert found is not None
        return replace(found, feature=feature)
    if isinstance(outer, Enclosed) and isinstance(inner, Pieces) and not inner.knots and inner.slopes[0]:
        (slope,), (offset,) = inner.slopes, inner.offsets
        return replace(outer.rescaled(-offset / slope, 1 / slope), feature=feature)
    if isinstance(inner, Enclosed):
        if len(inner.chains.each) != 1 or inner.chains.each[0].points or inner.chains.each[0].labels:
            raise ShapeError("the inner shape of a composition is a sum or a table of smooth shapes; give a single one")
        (start,) = inner.chains.each
    else:
        start = Chain(ONE, ZERO, ONE, curved_form(inner), ())
    return Enclosed(Chains(_behind(one, start) for one in chains_of(outer)), feature)


def _behind(outer: Chain, start: Chain) -> Chain:
    """Return a chain of the values of another one."""
    if outer.points or outer.labels:
        raise ShapeError("the outer shape of a composition is a table over a smooth shape; give the shape alone")
    slope, offset = start.factor / outer.scale, -outer.center / outer.scale
    line = Pieces.affine(slope, offset)
    own: tuple[Stage, ...] = outer.stages if outer.first is None else (ExactStage(outer.first), *outer.stages)
    if start.stages:
        middle = () if (slope, offset) == (ONE, ZERO) else (ExactStage(curved_form(line)),)
        return replace(start, factor=outer.factor, stages=(*start.stages, *middle, *own), _jets={})
    first = start.first
    assert first is not None
    mapped = combined([(slope, first), (ONE, Pieces((), (ZERO,), (offset,), (), dict.fromkeys(first.labels, offset)))])
    return replace(start, factor=outer.factor, first=curved_form(mapped), stages=own, _jets={})

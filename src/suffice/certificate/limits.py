"""What the checker refuses to compute, so that no certificate is written which nobody could check."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch

from suffice.errors import CertificateError
from suffice.model.compiled import Compiled
from suffice.model.domain import Domain
from suffice.question.region import Region
from suffice.shapes import PieceBudget, Readout, ReluNetwork, Shape, Table
from suffice.shapes.lazy import Lazy
from suffice.shapes.shape import Rescaled, Scaled, Sum

MOST_BENDS = 2**22  # of the units of a layer together
_ANY_PIECES = PieceBudget(2**62)  # what is counted was compiled before, within the user's own budget


def check_bends(compiled: Compiled, region: Region) -> None:
    """Raise an error if the units of a layer may have more bends than the checker computes, in a region if need be."""
    for name, term, functions, reach in zip(
        compiled.model.names, compiled.model.mains, compiled.pieces, region, strict=True
    ):
        lazy = next((one for one in functions if isinstance(one, Lazy)), None)
        knots = None if lazy is None else knots_in(lazy, reach)
        for network in networks_in(term.shape):
            bends = most_bends(network, knots)
            if bends > MOST_BENDS:
                raise CertificateError(
                    f"the units of a layer of {name!r} may have {bends:,} bends, and the checker computes at most "
                    f"{MOST_BENDS:,}; certify a smaller network"
                )


def knots_in(function: Lazy, reach: Domain) -> int:
    """Return how many knots a function that is compiled over regions has in one."""
    found = 0
    for span in reach.spans:
        if span.low is None or span.high is None:
            raise CertificateError("a network of more than max_pieces pieces is certified over regions with ends only")
        found += sum(len(part.outputs[0].knots) for part in function.region.over(span.low, span.high))
    return found


def most_bends(network: ReluNetwork, knots: int | None) -> int:
    """Return a bound on the bends of the units of any one layer after its activation, or after a skip is added."""
    first, *others = (int(weight.shape[0]) for weight in network.weights)
    inner = others if network.skips else others[:-1]  # the last layer has no activation
    alone = first * max((len(activation.thresholds) for activation in network.activations), default=0)
    count = len(network.lines(_ANY_PIECES).knots) if knots is None else knots
    return max(alone, count * max(inner, default=0))


@singledispatch
def networks_in(shape: Shape) -> Iterator[ReluNetwork]:
    """Yield the networks that a shape is made of."""
    yield from ()


@networks_in.register
def _(shape: ReluNetwork) -> Iterator[ReluNetwork]:
    yield shape


@networks_in.register
def _(shape: Readout) -> Iterator[ReluNetwork]:
    yield shape.basis


@networks_in.register
def _(shape: Table) -> Iterator[ReluNetwork]:
    if shape.otherwise is not None:
        yield from networks_in(shape.otherwise)


@networks_in.register
def _(shape: Sum) -> Iterator[ReluNetwork]:
    for part in shape.parts:
        yield from networks_in(part)


@networks_in.register
def _(shape: Scaled) -> Iterator[ReluNetwork]:
    yield from networks_in(shape.shape)


@networks_in.register
def _(shape: Rescaled) -> Iterator[ReluNetwork]:
    yield from networks_in(shape.shape)

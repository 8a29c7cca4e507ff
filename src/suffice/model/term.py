"""Terms: shapes over one feature or two, and what they say together about a feature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from suffice.errors import FeatureNameError, ModelError
from suffice.model.domain import Domain
from suffice.numbers.exact import ZERO, brief
from suffice.shapes import PairShape, Shape, Steps, Support, Table
from suffice.shapes.pair_shape import PairSum
from suffice.shapes.shape import Sum

if TYPE_CHECKING:
    from suffice.model.additive import Feature


@dataclass(frozen=True, slots=True, init=False)
class Term:
    """A shape over one feature or two, in model units.

    Parameters
    ----------
    features : str, int, or a tuple of one or two of these
        Names, or positions in the model; in a model they are positions.
    shape : Shape or PairShape
        A function of as many variables as there are features, in that order.

    Examples
    --------
    >>> from suffice import PairSteps, Steps
    >>> Term("age", Steps([18], [-1, 1])).features
    ('age',)
    >>> Term(("age", "income"), PairSteps([30], [1000], [[0, 2], [0, 0]])).features
    ('age', 'income')
    """

    features: tuple[Any, ...]
    shape: Any

    def __init__(self, features: str | int | Sequence[str | int], shape: Shape | PairShape) -> None:
        if isinstance(features, (str, int)):
            features = (features,)
        if not isinstance(features, Sequence):
            raise ModelError(f"a term is over a feature or two, got {brief(features)}")
        listed = tuple(features)
        object.__setattr__(self, "features", listed)
        object.__setattr__(self, "shape", shape)
        if len(listed) not in (1, 2):
            raise ModelError(
                f"a term over {len(listed)} features {brief(listed)} cannot be explained exactly; one or two can"
            )
        if len(set(listed)) < len(listed):
            raise ModelError(f"a term over {listed[0]!r} and itself is a shape of one feature: give it as one")
        if len(listed) == 1 and not isinstance(shape, Shape):
            raise ModelError(
                f"the shape of {self} is a {type(shape).__name__}; give a ReluNetwork, Steps, Table, "
                "PiecewiseLinear or a combination of these"
            )
        if len(listed) == 2 and not isinstance(shape, PairShape):
            raise ModelError(
                f"the shape of {self} is a {type(shape).__name__}; give a PairSteps, "
                "PairLinear, Product or a combination of these"
            )

    def __str__(self) -> str:
        return " and ".join(repr(feature) for feature in self.features)

    def support(self, feature: int) -> Support:
        """Return where one of its features may be."""
        supports = (self.shape.support,) if len(self.features) == 1 else self.shape.supports
        found: Support = supports[self.features.index(feature)]
        return found


def domain_of(i: int, feature: Feature, terms: Sequence[Term]) -> Domain:
    """Return the values that a feature can take: those it is given, or all at which each of its terms has a value."""
    supports = [term.support(i).rescaled(feature.center, feature.scale) for term in terms]
    if feature.domain is None:
        common = reduce(Support.meet, supports, Support(is_everywhere=True) if not supports else supports[0])
        if common.is_empty:
            raise ModelError(f"there is no value of {feature.name!r} at which all of its terms have a value")
        return Domain.of_support(common)
    for term, support in zip(terms, supports, strict=True):
        if not feature.domain.lies_in(support):
            whose = "its shape" if len(term.features) == 1 else "a shape of it and another feature"
            raise ModelError(
                f"{feature.name!r} can be {feature.domain}, but {whose} only has values on "
                f"{Domain.of_support(support)}; give the shape a value for the rest, or narrow the domain"
            )
    return feature.domain


def zero_shape(domain: Domain, outputs: int) -> Shape:
    """Return the shape of a feature that has no term of its own: 0 on its domain."""
    zero = Steps([], [[ZERO] * outputs])
    return Table(dict.fromkeys(domain.labels, (ZERO,) * outputs), otherwise=zero) if domain.labels else zero


def _checked(terms: Iterable[Term]) -> Iterator[Term]:
    """Yield terms, and refuse what is none."""
    for term in terms:
        if not isinstance(term, Term):
            raise ModelError(f"a model is made of terms, got {brief(term)}; write Term(name, shape)")
        yield term


def names_in(terms: Iterable[Term]) -> list[str]:
    """Return the names that terms use, in their order; all must be names."""
    found = list(dict.fromkeys(feature for term in _checked(terms) for feature in term.features))
    for feature in found:
        if not isinstance(feature, str):
            raise ModelError(f"a term is over feature {feature!r}, a position; then give the names too: features=[...]")
    return found


def summed(terms: Iterable[Term], names: Sequence[str]) -> tuple[dict[str, Shape], dict[tuple[str, str], PairShape]]:
    """Return the sum of all terms over each feature, and of those over each two features, by name."""
    found: dict[tuple[str, ...], list[Any]] = {}
    for term in _checked(terms):
        found.setdefault(tuple(_name(feature, names) for feature in term.features), []).append(term.shape)
    mains = {key[0]: _sum(shapes, Sum) for key, shapes in found.items() if len(key) == 1}
    pairs = {(key[0], key[1]): _sum(shapes, PairSum) for key, shapes in found.items() if len(key) == 2}
    return mains, pairs


def _sum(shapes: list[Any], kind: Any) -> Any:
    return shapes[0] if len(shapes) == 1 else kind(tuple(shapes))


def _name(feature: Any, names: Sequence[str]) -> str:
    if isinstance(feature, str):
        if feature not in names:
            raise FeatureNameError(feature, names)
        return feature
    if type(feature) is not int or not 0 <= feature < len(names):
        raise ModelError(f"a term is over feature {feature!r}, but there are {len(names)}, numbered from 0")
    return names[feature]

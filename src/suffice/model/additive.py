"""The one representation of a model: an intercept and a sum of terms, over features with names and domains.

Guaranteed of an `AdditiveModel`: every term has a value on the whole domain of its features, so that no later stage can
meet a value without a score. Its terms come in one order: a shape for each feature, then the terms over two features.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np

from suffice.errors import FeatureNameError, ModelError, NumberError, PieceBudgetError, SufficeError
from suffice.model.domain import Domain
from suffice.model.term import Term, domain_of, names_in, summed, zero_shape
from suffice.model.writing import save_model
from suffice.numbers.exact import ONE, ZERO, Number, Rational, brief, rational
from suffice.numbers.values import is_writable
from suffice.shapes import Function, PairPieces, PairShape, PieceBudget, Shape
from suffice.shapes.lazy import Lazy
from suffice.shapes.pair_shape import sum_pairs
from suffice.shapes.smooth import SmoothNetwork

Pair: TypeAlias = tuple[tuple[int, int], tuple[PairPieces, ...]]  # two features, and their pieces for each output


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Feature:
    """A column of the user's data: its name, the values it can take, and how the model scales it.

    Parameters
    ----------
    name : str
        The user's name for it.
    domain : Domain, optional
        Values it can take, in the user's units. Default: wherever its shape has a value.
    center, scale : number
        The shape sees `(x - center) / scale`; labels it sees as they are.
    deviation : number, optional
        Standard deviation in the user's units, for radii given in standard deviations.

    Examples
    --------
    >>> Feature("age", domain=Domain.integers(18, 100), center=40, scale=12.5).scale
    25/2
    """

    name: str
    domain: Domain | None
    center: Rational
    scale: Rational
    deviation: Rational | None

    def __init__(
        self,
        name: str,
        domain: Domain | None = None,
        center: Number = 0,
        scale: Number = 1,
        deviation: Number | None = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ModelError(f"a feature needs a name, got {name!r}")
        if not is_writable(name):
            raise ModelError(f"the name {name!r} has half of a surrogate pair, which cannot be written; rename it")
        if domain is not None and not isinstance(domain, Domain):
            raise ModelError(f"the domain of {name!r} must be a Domain, got {brief(domain)}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "center", _number(f"center of {name!r}", center))
        object.__setattr__(self, "scale", _number(f"scale of {name!r}", scale))
        spread = None if deviation is None else _number(f"deviation of {name!r}", deviation)
        object.__setattr__(self, "deviation", spread)
        if self.scale == 0:
            raise ModelError(f"the scale of {name!r} is 0; a constant column needs scale 1")
        if spread is not None and spread < 0:
            raise ModelError(f"the deviation of {name!r} is {deviation}; it cannot be negative")

    def __repr__(self) -> str:
        return f"<Feature: {self.name!r}{'' if self.domain is None else f', {self.domain}'}>"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class AdditiveModel:
    """`score(x) = intercept + Σ shape_i(z_i) + Σ pair_ij(z_i, z_j)`, and what the score decides.

    A feature enters as `z_i = (x_i - center_i) / scale_i`, a label as it is.

    Parameters
    ----------
    shapes : sequence of Shape or None
        One for each feature; None where a feature only has terms together with others.
    intercept : number, or a sequence of numbers
        Added to the sum; one for each class if there are more than two.
    task : {"binary", "multiclass", "regression"}
        The sign of the score decides between two classes; the largest of several scores wins, the first of them in a
        tie; or the score itself is the answer.
    features : sequence of str or Feature, optional
        Names, or names with domain and scaling. Default: x0, x1, ...
    classes : sequence, optional
        The negative class and the positive one, or one for each score. Default: 0, 1, ...
    ties : {"positive", "negative"}
        The class of a score of exactly 0 in a binary model. A neural additive model gives it to the positive class.
    pairs : mapping of (str, str) to PairShape, optional
        Terms over two features, by their names.
    logit_offset : number or None
        What to add to the score of a binary model to have the logit of its probability: 0 unless its decision
        threshold is another probability than one half. None if its probability is no logistic function of the score,
        or, of a model of several classes, not the softmax of the scores.

    Examples
    --------
    >>> from suffice import PairSteps, Steps
    >>> model = AdditiveModel(shapes=[Steps([18], [-1, 1])], intercept=0, task="binary", features=["age"])
    >>> model.features[0].name
    'age'

    With a term over two features:

    >>> shapes = [Steps([18], [-1, 1]), Steps([1000], [0, 1])]
    >>> rich = {("age", "income"): PairSteps([30], [1000], [[0, 2], [0, 0]])}
    >>> model = AdditiveModel(shapes, features=["age", "income"], pairs=rich)
    >>> [term.features for term in model.pairs]
    [(0, 1)]
    """

    terms: tuple[Term, ...]
    intercept: tuple[Rational, ...]
    task: str
    features: tuple[Feature, ...]
    domains: tuple[Domain, ...]
    classes: tuple[Any, ...]
    ties: Literal["positive", "negative"]
    logit_offset: Rational | None

    def __init__(
        self,
        shapes: Sequence[Shape | None],
        intercept: Number | Sequence[Number] = 0,
        task: str = "binary",
        features: Sequence[str | Feature] | None = None,
        classes: Sequence[Any] | None = None,
        ties: Literal["positive", "negative"] = "positive",
        pairs: Mapping[tuple[str, str], PairShape] | None = None,
        logit_offset: Number | None = 0,
    ) -> None:
        if task not in ("binary", "multiclass", "regression"):
            raise ModelError(f"task must be 'binary', 'multiclass' or 'regression', got {task!r}")
        if ties not in ("positive", "negative"):
            raise ModelError(f"ties must go to the 'positive' or the 'negative' class, got {ties!r}")
        object.__setattr__(self, "features", _features(shapes, features))
        object.__setattr__(self, "intercept", _intercept(intercept))
        object.__setattr__(self, "task", task)
        object.__setattr__(self, "classes", _classes(task, len(self.intercept), classes))
        object.__setattr__(self, "ties", ties)
        object.__setattr__(self, "logit_offset", None if logit_offset is None else rational(logit_offset))
        if self.logit_offset != 0 and task != "binary" and (task == "regression" or self.logit_offset is not None):
            raise ModelError(f"a logit_offset is for models of two classes, and this is a {task} model")
        named = [Term(name, shape) for name, shape in zip(self.names, shapes, strict=True) if shape is not None]
        named += [Term(names, shape) for names, shape in _read_pairs(pairs)]
        for term in named:
            if term.shape.outputs != len(self.intercept):
                raise ModelError(
                    f"the shape of {term} has {term.shape.outputs} outputs, but the model has "
                    f"{len(self.intercept)} (one for each intercept)"
                )
        places = iter(self.indices([name for term in named for name in term.features]))
        terms = [Term(tuple(next(places) for _ in term.features), term.shape) for term in named]
        mine: list[list[Term]] = [[] for _ in self.features]
        for term in terms:
            for i in dict.fromkeys(term.features):
                mine[i].append(term)
        domains = (domain_of(i, one, some) for i, (one, some) in enumerate(zip(self.features, mine, strict=True)))
        object.__setattr__(self, "domains", tuple(domains))
        own = {term.features[0]: term for term in terms if len(term.features) == 1}
        mains = (
            own[i] if i in own else Term(i, zero_shape(domain, len(self.intercept)))
            for i, domain in enumerate(self.domains)
        )
        object.__setattr__(self, "terms", (*mains, *(term for term in terms if len(term.features) == 2)))

    @classmethod
    def of_terms(
        cls,
        terms: Iterable[Term],
        intercept: Number | Sequence[Number] = 0,
        task: str = "binary",
        features: Sequence[str | Feature] | None = None,
        classes: Sequence[Any] | None = None,
        ties: Literal["positive", "negative"] = "positive",
        logit_offset: Number | None = 0,
    ) -> AdditiveModel:
        """Return the model that is the sum of some terms, any number for a feature or a pair of features.

        Parameters
        ----------
        terms : iterable of Term
            Over one feature or two, given by name or by position.
        intercept, task, features, classes, ties, logit_offset
            As for `AdditiveModel`. Without `features` they are the names that the terms use, in their order.

        Examples
        --------
        >>> from suffice import PairSteps, Steps
        >>> terms = [Term("age", Steps([18], [-1, 1])), Term(("age", "income"), PairSteps([30], [9], [[0, 1], [1, 0]]))]
        >>> AdditiveModel.of_terms(terms).names
        ('age', 'income')
        """
        every = list(terms)
        listed = names_in(every) if features is None else list(features)
        names = [one.name if isinstance(one, Feature) else one for one in listed]
        mains, pairs = summed(every, names)
        return cls([mains.get(name) for name in names], intercept, task, listed, classes, ties, pairs, logit_offset)

    def __repr__(self) -> str:
        classes = f" of {len(self.classes)} classes" if self.task == "multiclass" else ""
        pairs = f", {len(self.pairs)} pairs" if self.pairs else ""
        return f"<AdditiveModel: {self.task}{classes}, {len(self.features)} features{pairs}>"

    @property
    def mains(self) -> tuple[Term, ...]:
        """The terms over one feature: one for each, in order; 0 where the feature was given none."""
        return self.terms[: len(self.features)]

    @property
    def pairs(self) -> tuple[Term, ...]:
        """The terms over two features."""
        return self.terms[len(self.features) :]

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, in order."""
        return tuple(feature.name for feature in self.features)

    def index(self, name: object) -> int:
        """Return the position of a feature; `FeatureNameError` if there is none of that name."""
        (position,) = self.indices([name])
        return position

    def indices(self, names: Iterable[object]) -> list[int]:
        """Return the positions of some features, given as a list of names."""
        if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
            raise FeatureNameError(names, self.names, what="list of feature names")
        place = {name: i for i, name in enumerate(self.names)}
        chosen = list(names)
        for name in chosen:
            if not isinstance(name, str) or name not in place:
                raise FeatureNameError(name, self.names)
        return [place[str(name)] for name in chosen]

    def refuse_pairs(self, what: str, error: type[SufficeError] = ModelError) -> None:
        """Raise an error if there are terms over two features, with which something cannot deal yet."""
        if self.pairs:
            i, j = self.pairs[0].features
            raise error(
                f"{what} cannot deal with terms over two features yet, and this model has one over "
                f"{self.names[i]!r} and {self.names[j]!r}"
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one safetensors file, exactly; `suffice.load` reads it back."""
        save_model(self, path)

    @property
    def categorical(self) -> tuple[str, ...]:
        """Names of the features that have categories; as `immutable=model.categorical`, these stay as they are."""
        return tuple(name for name, domain in zip(self.names, self.domains, strict=True) if domain.categories_)

    @property
    def has_probability(self) -> bool:
        """Whether the probabilities of the classes follow from the scores: by the logistic function, or the softmax."""
        return self.task != "regression" and self.logit_offset is not None

    def compile(self, max_pieces: int = 10_000, *, lazily: bool = False) -> tuple[tuple[Function, ...], ...]:
        """Return the exact pieces of each feature (first index) for each output, in the user's units.

        A network with too many pieces is refused; if `lazily`, it is compiled where it is asked about instead.
        """
        return tuple(self.compile_feature(i, max_pieces, lazily=lazily) for i in range(len(self.features)))

    def compile_feature(self, i: int, max_pieces: int = 10_000, *, lazily: bool = False) -> tuple[Function, ...]:
        """Return the exact pieces of one feature for each output, as `compile` does."""
        try:
            return compile_shape(self.features[i], self.mains[i].shape, max_pieces)
        except PieceBudgetError:
            if not lazily:
                raise
            return self.lazy_feature(i, max_pieces)

    def lazy_feature(self, i: int, max_pieces: int) -> tuple[Lazy, ...]:
        """Return one feature as functions that are compiled where they are asked about."""
        feature, shape = self.features[i], self.mains[i].shape
        return Lazy.outputs(shape, feature.center, feature.scale, PieceBudget(checked_pieces(max_pieces), feature.name))

    def enclosed_feature(self, i: int) -> tuple[Function, ...]:
        """Return one feature with its networks as functions that are known between two numbers, by bisection."""
        feature, shape = self.features[i], self.mains[i].shape
        pieces = shape.compile(PieceBudget(feature=feature.name, enclose=SmoothNetwork.like))
        return tuple(one.rescaled(feature.center, feature.scale) for one in pieces)

    def compile_pairs(self, max_pieces: int = 10_000) -> tuple[Pair, ...]:
        """Return the exact pieces of each pair of features for each output, in the user's units.

        Terms over the same two features are one pair, `((i, j), pieces)` with `i < j`; what adds up to 0 is left out.
        """
        found: dict[tuple[int, int], list[tuple[PairPieces, ...]]] = {}
        for term in self.pairs:
            i, j = term.features
            pieces = term.shape.compile(self._pair_budget(i, j, max_pieces))
            centers, scales = zip(*((self.features[k].center, self.features[k].scale) for k in (i, j)), strict=True)
            if (centers, scales) != ((ZERO, ZERO), (ONE, ONE)):
                pieces = tuple(one.rescaled(centers, scales) for one in pieces)
            ordered = pieces if i < j else tuple(one.transposed() for one in pieces)
            found.setdefault((min(i, j), max(i, j)), []).append(ordered)
        sums = ((pair, sum_pairs(parts, self._pair_budget(*pair, max_pieces))) for pair, parts in sorted(found.items()))
        return tuple((pair, pieces) for pair, pieces in sums if not all(one.is_zero for one in pieces))

    def _pair_budget(self, i: int, j: int, max_pieces: int) -> PieceBudget:
        return PieceBudget(checked_pieces(max_pieces), f"{self.names[i]!r} and {self.names[j]!r}")


def compile_shape(feature: Feature, shape: Shape, max_pieces: int) -> tuple[Function, ...]:
    """Return the exact pieces of a feature's shape for each output, in the user's units."""
    pieces = shape.compile(PieceBudget(checked_pieces(max_pieces), feature.name))
    if (feature.center, feature.scale) == (ZERO, ONE):
        return pieces
    return tuple(one.rescaled(feature.center, feature.scale) for one in pieces)


def _read_pairs(given: Mapping[tuple[str, str], PairShape] | None) -> Iterable[tuple[tuple[str, str], PairShape]]:
    if not isinstance({} if given is None else given, Mapping):
        raise ModelError(f"pairs must be a mapping from two names to a shape, got {brief(given)}")
    for names, shape in (given or {}).items():
        if not isinstance(names, tuple) or len(names) != 2:
            raise ModelError(f"a key of pairs is a tuple of two names, got {brief(names)}")
        yield names, shape


def _features(shapes: Sequence[Shape | None], given: Sequence[str | Feature] | None) -> tuple[Feature, ...]:
    if not isinstance(shapes, Sequence):
        raise ModelError(f"shapes must be a list, one for each feature, got a {type(shapes).__name__}")
    if not len(shapes):
        raise ModelError("a model needs at least one shape")
    if given is None:
        given = [f"x{i}" for i in range(len(shapes))]
    if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, np.ndarray)):
        raise ModelError(f"features must be a list of names in the order of the shapes, got {brief(given)}")
    if len(given) != len(shapes):
        raise ModelError(f"{len(shapes)} shapes need {len(shapes)} features, got {len(given)}")
    features = [one if isinstance(one, Feature) else Feature(one) for one in given]
    seen: set[str] = set()
    for feature in features:
        if feature.name in seen:
            raise ModelError(f"two features are called {feature.name!r}; give each its own name")
        seen.add(feature.name)
    return tuple(features)


def _has_twins(names: tuple[Any, ...]) -> bool:
    try:
        return len(set(names)) < len(names)
    except TypeError:  # names that cannot be hashed
        return any(a == b for a, b in combinations(names, 2))


def _intercept(given: Number | Sequence[Number]) -> tuple[Rational, ...]:
    if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str) and getattr(given, "ndim", 1) != 0:
        return tuple(_number(f"intercept[{j}]", one) for j, one in enumerate(given))
    return (_number("the intercept", given),)


def _classes(task: str, scores: int, given: Sequence[Any] | None) -> tuple[Any, ...]:
    """Return the classes of a model, checked against its task and its number of scores."""
    if task == "multiclass" and scores < 2:
        raise ModelError(f"a multiclass model needs an intercept for each of 2 or more classes, got {scores}")
    if task != "multiclass" and scores != 1:
        raise ModelError(f"a {task} model has one score and one intercept, got {scores}")
    wanted = {"binary": 2, "multiclass": scores, "regression": 0}[task]
    if isinstance(given, (str, bytes, set, frozenset)) or not isinstance(
        () if given is None else given, (Sequence, np.ndarray)
    ):
        raise ModelError(f"classes must be a list, got {brief(given)}")
    # Plain Python values, so that a model made with NumPy's is the same model, in files and certificates too.
    classes = tuple(one.item() if isinstance(one, np.generic) else one for one in _listed(given, wanted))
    if len(classes) != wanted or _has_twins(classes):
        raise ModelError(f"a {task} model with {scores} scores has {wanted} different classes, got {classes!r}")
    for one in classes:
        if isinstance(one, str) and not is_writable(one):
            raise ModelError(f"the class {one!r} has half of a surrogate pair, which cannot be written; rename it")
    return classes


def _listed(given: Sequence[Any] | None, wanted: int) -> Iterable[Any]:
    return range(wanted) if given is None else given


def checked_pieces(max_pieces: int) -> int:
    """Return a budget of pieces; `ModelError` if it is none."""
    if type(max_pieces) is not int or max_pieces < 1:
        raise ModelError(f"max_pieces must be a whole number, 1 or more, got {max_pieces!r}")
    return max_pieces


def _number(what: str, value: object) -> Rational:
    try:
        return rational(value)
    except NumberError as error:
        raise ModelError(f"{what}: {error}") from None

"""A model with the exact functions of its features: what every question about it starts from."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from flint import fmpq

from suffice.errors import ModelError, ModelFileError, SufficeError
from suffice.model.additive import AdditiveModel
from suffice.model.compile_cache import CompileCache
from suffice.model.features import Features
from suffice.model.reading import load_model
from suffice.model.writing import to_bytes
from suffice.numbers.enclosure import FIRST_BITS, Real, exactly
from suffice.numbers.exact import ONE, ZERO, Rational, brief
from suffice.numbers.later import Later
from suffice.numbers.values import Value
from suffice.shapes.combining import combined, straight
from suffice.shapes.curves import Curves
from suffice.shapes.function import Function
from suffice.shapes.lazy import Lazy
from suffice.shapes.pair_pieces import PairPieces, combine_pairs
from suffice.shapes.pieces import Pieces

FloatPredict = Callable[[Sequence[Any]], Any]
OrientedPair: TypeAlias = tuple[tuple[int, int], PairPieces]


class Compiled:
    """A model whose shapes are exact functions, in the user's units: `pieces` of each feature, `pairs` of each two.

    Parameters
    ----------
    model : AdditiveModel
    max_pieces : int
        Budget of affine pieces of one network, after each of its layers.
    float_predict : callable, optional
        What the estimator behind the model predicts in its own float arithmetic, for the cells of a row.
    cache : CompileCache, optional
        A folder of compiled models, in which this one is looked up, and kept for the next time.

    Raises
    ------
    ModelError
        If there are terms over two features beside a smooth shape, or beside a network with more pieces than the
        budget, which is compiled over the regions asked about.
    """

    def __init__(
        self,
        model: AdditiveModel,
        *,
        max_pieces: int = 10_000,
        float_predict: FloatPredict | None = None,
        cache: CompileCache | None = None,
    ) -> None:
        self.model = model
        self.float_predict = float_predict
        known = None
        if cache is not None:
            known = cache.features(model, self.content, max_pieces, lambda: tuple(Features(model, max_pieces)))
        self.pieces = Features(model, max_pieces, known)
        self.pairs = model.compile_pairs(max_pieces)
        self.is_bounded = False  # whether networks are enclosed by bisection that have too many pieces
        self._prepare()

    def _prepare(self) -> None:
        """Note what kinds of functions there are, and that nothing is known of them yet."""
        # Features act together where there are pair terms, so that every question needs all of them.
        features = tuple(self.pieces) if self.model.pairs else self.pieces.certain
        every = [one for functions in features for one in functions]
        if not all(isinstance(one, Pieces | Curves) for one in every):
            self.model.refuse_pairs("models with smooth shapes, or with networks of more than max_pieces pieces,")
        self.is_rational = all(isinstance(one, Pieces | Lazy) for one in every)
        self.has_tangents = bool(self.pairs) and self.is_curved  # worst cases lie between places of curves and tangents
        self.is_enclosed = self.has_tangents or not all(one.is_exact for one in every)
        self._oriented: dict[tuple[int, ...], Sequence[Function]] = {}
        self._on_integers: dict[int, tuple[Function, ...]] = {}
        self._oriented_pairs: dict[tuple[int, ...], tuple[OrientedPair, ...]] = {}
        self.landscapes: dict[tuple[int, ...], Any] = {}  # what `core` makes of features that act together, by factors
        self._hashes: set[str] = set()
        self.plans: OrderedDict[Any, Any] = OrderedDict()  # questions compiled for many rows, kept by `batch.run`
        self.chords: dict[Any, Any] = {}  # broken lines in place of curves, by radii, kept by `batch.chords`
        self.asked: dict[int, Any] = {}  # questions asked of single rows, kept by `batch.one_row`
        self.roundings: dict[str, Any] = {}  # bounds on rounding by float type, kept by `core.case`

    @cached_property
    def is_curved(self) -> bool:
        """Whether some function is not known as affine pieces everywhere; what waits is compiled to tell."""
        return not self.is_rational or straight(one for functions in self.pieces for one in functions) is None

    def compile(self, features: Collection[int] | None = None, processes: int | None = None) -> None:
        """Compile what is not compiled yet, of all features or of some; see `Features.make`."""
        self.pieces.make(features, processes)

    @property
    def is_complete(self) -> bool:
        """Whether all features are compiled."""
        return self.pieces.is_complete

    @cached_property
    def bounded(self) -> Compiled | None:
        """The same with networks enclosed by bisection that are not tabulated as a whole; None if there are none.

        It takes the place of this one where a region has too many of their pieces.
        """
        lazy = {i for i, functions in enumerate(self.pieces) if any(isinstance(one, Lazy) for one in functions)}
        if not lazy:
            return None
        found = copy(self)
        each = enumerate(self.pieces)
        known = [self.model.enclosed_feature(i) if i in lazy else one for i, one in each]
        found.pieces = Features(self.model, self.pieces.max_pieces, known)
        found.is_bounded = True
        found.__dict__.pop("is_curved", None)
        found.__dict__.pop("bounded", None)
        found._prepare()
        return found

    def __getstate__(self) -> dict[str, Any]:
        # Plans hold functions and locks; another process makes its own. It gets all features compiled.
        self.compile()
        return self.__dict__ | {"plans": OrderedDict(), "chords": {}, "asked": {}, "_oriented": {}}

    @classmethod
    def of(
        cls, model: Any, *, max_pieces: int = 10_000, predicts: Any = None, cache: CompileCache | None = None
    ) -> Compiled:
        """Return the compiled form of a model, or of an estimator with `to_additive()`.

        `predicts` is the estimator that the model was made of, for its predictions in float arithmetic.
        """
        additive = model.to_additive() if hasattr(model, "to_additive") and not isinstance(model, type) else model
        if not isinstance(additive, AdditiveModel):
            raise ModelError(
                f"an AdditiveModel or a fitted NAM is compiled, got {brief(model)}; "
                "for a fitted model of another package: suffice.from_model(model)"
            )
        estimator = model if predicts is None else predicts
        own = getattr(estimator, "predict_cells", None)
        return cls(additive, max_pieces=max_pieces, float_predict=own, cache=cache)

    @classmethod
    def of_content(cls, content: bytes) -> Compiled:
        """Return a model from the content of its file, as another process gets it."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.safetensors"
            path.write_bytes(content)
            return cls(load_model(path))

    def refuse_smooth(self, what: str, error: type[SufficeError] = ModelError) -> None:
        """Raise an error if values or worst cases are only enclosed, with which something cannot deal yet."""
        if self.is_enclosed:
            shapes = "smooth shapes, whose values are only enclosed"
            if self.has_tangents:
                shapes = "curves beside terms over two features, whose worst cases are only enclosed"
            raise error(f"{what} cannot deal yet with {shapes}, and this model has some")

    @property
    def pieces_by_name(self) -> Mapping[str, tuple[Function, ...]]:
        """The exact pieces of each feature, one for each output."""
        return dict(zip(self.model.names, self.pieces, strict=True))

    def parts(self, row: Sequence[Value], bits: int = FIRST_BITS) -> tuple[tuple[Real, ...], ...]:
        """Return each feature's own part of each score, pairs aside: exact, or enclosed to about so many bits."""
        return tuple(self.pieces.value(i, value, bits) for i, value in enumerate(row))

    def scores(
        self, row: Sequence[Value], parts: Sequence[tuple[Real, ...]] | None = None, bits: int = FIRST_BITS
    ) -> tuple[Real, ...]:
        """Return the scores of a row, pairs included; its features' own parts may be given if they are known."""
        own = self.parts(row, bits) if parts is None else parts
        joint = [tuple(one(row[i], row[j]) for one in pieces) for (i, j), pieces in self.pairs]
        return tuple(sum(column, start) for start, *column in zip(self.model.intercept, *own, *joint, strict=True))

    def exact_scores(self, row: Sequence[Value]) -> tuple[Rational, ...]:
        """Return the scores of a row of a model without smooth shapes."""
        return tuple(exactly(score) for score in self.scores(row))

    def oriented(self, factors: tuple[int, ...]) -> Sequence[Function]:
        """Return each feature's own part of `Σ_j factors[j] · score_j`, made once for each claim, when looked at."""
        if factors not in self._oriented:
            is_sum = sum(factor != 0 for factor in factors) > 1 and not self.pairs
            each = self._where_asked if is_sum else self.pieces.__getitem__
            self._oriented[factors] = Later(len(self.pieces), lambda i: _weighted(factors, each(i)))
        return self._oriented[factors]

    def _where_asked(self, i: int) -> tuple[Function, ...]:
        """Return the functions of a feature, where only integers count without what is between these."""
        if i not in self._on_integers:
            pieces, is_whole = self.pieces[i], self.model.domains[i].is_whole
            self._on_integers[i] = (
                tuple(one.on_integers if isinstance(one, Pieces) else one for one in pieces) if is_whole else pieces
            )
        return self._on_integers[i]

    def oriented_parts(self, factors: tuple[int, ...], row: Sequence[Value], bits: int) -> tuple[Real, ...]:
        """Return what each feature by itself adds to `Σ_j factors[j] · score_j` at a row: exact, or enclosed."""
        if not self.is_rational:
            each = zip(self.oriented(factors), row, strict=True)
            return tuple(one.value(value, bits) for one, value in each)
        return tuple(sum((f * x for f, x in zip(factors, part, strict=True)), ZERO) for part in self.parts(row, bits))

    def lines(self, factors: tuple[int, ...]) -> tuple[Pieces, ...]:
        """Return the same of a model in which nothing is curved."""
        found = straight(self.oriented(factors))
        if found is None:
            raise ModelError(
                "this question cannot deal yet with curved shapes or networks of more than max_pieces pieces, and the "
                "model has some"
            )
        return found

    def oriented_pairs(self, factors: tuple[int, ...]) -> tuple[OrientedPair, ...]:
        """Return what each two features add to `Σ_j factors[j] · score_j`, where that is not 0 everywhere."""
        if factors not in self._oriented_pairs:
            weighted = ((pair, _weighted_pair(factors, pieces)) for pair, pieces in self.pairs)
            self._oriented_pairs[factors] = tuple((pair, one) for pair, one in weighted if not one.is_zero)
        return self._oriented_pairs[factors]

    @cached_property
    def content(self) -> bytes:
        """The content of the file that `model.save` writes."""
        return to_bytes(self.model)

    def file_hash(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the SHA-256 of the model's file: of the one named, if it holds this very model.

        Raises
        ------
        ModelFileError
            If the file holds another model.
        """
        if path is None:
            return self._own_hash
        try:
            found = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except FileNotFoundError:
            raise ModelFileError(path, "there is no such file") from None
        except OSError as error:
            raise ModelFileError(path, f"cannot be read: {error.strerror or error}") from None
        if found not in self._hashes and found != self._own_hash:
            if to_bytes(load_model(path)) != self.content:
                raise ModelFileError(path, "holds a different model from the one explained")
            self._hashes.add(found)
        return found

    @cached_property
    def _own_hash(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def _weighted(factors: tuple[int, ...], pieces: tuple[Function, ...]) -> Function:
    used = [(fmpq(factor), one) for factor, one in zip(factors, pieces, strict=True) if factor]
    if len(used) == 1 and used[0][0] == ONE:
        return used[0][1]
    if len(used) == 1 and used[0][0] == -ONE and isinstance(used[0][1], Pieces):
        return used[0][1].negated
    return combined(used)


def _weighted_pair(factors: tuple[int, ...], pieces: tuple[PairPieces, ...]) -> PairPieces:
    used = [(fmpq(factor), one) for factor, one in zip(factors, pieces, strict=True) if factor]
    return used[0][1] if len(used) == 1 and used[0][0] == ONE else combine_pairs(used)

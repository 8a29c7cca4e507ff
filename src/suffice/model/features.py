"""The exact functions of a model's features, each compiled when it is first asked for.

In: a model and a budget of pieces. Out: a sequence with the functions of each feature, one for each output.
Guaranteed: they are those that compiling all at once gives, and so is every value, whatever was asked for before, in
whichever thread. What takes no time to compile, and what is curved, is compiled when the sequence is made, so that its
kind is known; networks are what waits. Where only values of a network are asked about, at one or two numbers, it is
tabulated at these alone.

Where many networks are asked for at once and those done first say that the others take long, processes share them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from suffice.errors import PieceBudgetError
from suffice.model.additive import AdditiveModel, checked_pieces, compile_shape
from suffice.numbers.enclosure import Real
from suffice.numbers.later import Later
from suffice.numbers.values import Value
from suffice.processes import Worker, available, serve_with, shared_out
from suffice.shapes.function import Function
from suffice.shapes.network import is_tabulated

ALONE_SECONDS = 0.3  # in which features are compiled here before it is asked whether the others take long
WORTH_SECONDS = 1.5  # that the others must take, for a process takes half a second to start
_MOST_POINTS = 2  # at which a network is tabulated alone; with the next one it is compiled as a whole
_TOO_MANY = "too many pieces"  # what a process tells of a network past the budget

Functions = tuple[Function, ...]


class Features(Later[Functions]):
    """The functions of each feature. Looking at one compiles it, iterating compiles all.

    Parameters
    ----------
    model : AdditiveModel
    max_pieces : int
        Budget of affine pieces of one network, after each of its layers.
    known : sequence, optional
        The functions themselves, if they are known.
    """

    def __init__(self, model: AdditiveModel, max_pieces: int, known: Sequence[Functions] | None = None) -> None:
        super().__init__(len(model.features), self._compiled)
        self.model, self.max_pieces = model, checked_pieces(max_pieces)
        self._waiting = {i for i, term in enumerate(model.mains) if known is None and is_tabulated(term.shape)}
        self._made = {
            i: model.compile_feature(i, max_pieces, lazily=True) if known is None else known[i]
            for i in range(len(model.features))
            if i not in self._waiting
        }
        self._at_points: dict[int, dict[Value, tuple[Real, ...]]] = {}
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Features, (self.model, self.max_pieces, tuple(self))  # whoever gets it need not compile again

    def __iter__(self) -> Iterator[Functions]:
        self.make()
        return super().__iter__()

    def _compiled(self, i: int) -> Functions:
        self.make([i])
        return self._made[i]

    @property
    def is_complete(self) -> bool:
        """Whether all features are compiled."""
        return len(self._made) == len(self)

    @property
    def certain(self) -> tuple[Functions, ...]:
        """The functions that did not wait: all whose kind is not known from the model."""
        return tuple(self._made[i] for i in range(len(self)) if i not in self._waiting)

    def value(self, i: int, at: Value, bits: int) -> tuple[Real, ...]:
        """Return the value of a feature for each output: exact, or enclosed to about so many bits."""
        if i not in self._made:
            with self._lock:
                points = self._at_points.setdefault(i, {})
                if at not in points and len(points) < _MOST_POINTS and i not in self._made:
                    points[at] = tuple(one(at) for one in self.model.lazy_feature(i, self.max_pieces))
                if at in points:
                    return points[at]
        return tuple(one.value(at, bits) for one in self[i])

    def make(self, features: Collection[int] | None = None, processes: int | None = None) -> None:
        """Compile some features, or all: those that are not.

        Parameters
        ----------
        processes : int, optional
            How many may work at once, this one included, where it takes long: as many as cores are idle by default.
        """
        wanted = range(len(self)) if features is None else features
        if all(i in self._made for i in wanted):
            return
        with self._lock:
            left = [i for i in wanted if i not in self._made]
            began, quickest = time.monotonic(), float("inf")
            while left:
                now = time.monotonic()
                # The quickest, and not the mean: the first one may tabulate what all others only read.
                if now - began > ALONE_SECONDS and quickest * len(left) > WORTH_SECONDS and available(processes) > 1:
                    self._make_in_processes(left, min(available(processes), len(left)))
                    return
                i = left.pop(0)
                self._keep(i, self.model.compile_feature(i, self.max_pieces, lazily=True))
                quickest = min(quickest, time.monotonic() - now)

    def _keep(self, i: int, functions: Functions) -> None:
        self._made[i] = functions
        self._at_points.pop(i, None)

    def _make_in_processes(self, features: Sequence[int], processes: int) -> None:
        """Compile features in so many processes, of which this is one."""

        def ask(worker: Worker, i: int) -> Functions | None:
            feature, shape = self.model.features[i], self.model.mains[i].shape
            found = worker.ask((feature, shape, self.max_pieces))
            if found == _TOO_MANY:
                return self.model.lazy_feature(i, self.max_pieces)
            return found if isinstance(found, tuple) else None

        def here(i: int) -> Functions:
            return self.model.compile_feature(i, self.max_pieces, lazily=True)

        workers = [Worker(__name__) for _ in range(processes - 1)]
        for i, functions in zip(features, shared_out(features, workers, ask, here, helps=True), strict=True):
            self._keep(i, functions)


def serve() -> None:
    """Compile features that come in, until no more do: what a process of its own runs."""

    def answer(asked: Any) -> Any:
        feature, shape, max_pieces = asked
        try:
            return compile_shape(feature, shape, max_pieces)
        except PieceBudgetError:
            return _TOO_MANY

    serve_with(lambda _: answer)

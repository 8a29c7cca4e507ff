"""Marabou behind the interface (`pip install suffice[marabou]`), with guards against the wrong answers it was seen to
give.

- On weights between 1e-10 and 1e-6, as weight decay leaves them, it answers "unsat" where it should not. Such weights
are
  set to 0, and the most that this can change the output is charged to the margin.
- Before an "unsat" is believed, the same network has to pass a query that is known to be satisfiable.
- It computes in floating point: its "unsat" is `VERIFIED`, and every "sat" is evaluated exactly. A point that only
touches 0
  is followed by a second query, for one that goes clearly below.
- It may overrun its limit and does not heed signals: it runs in a process that the system ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from suffice.errors import VerifierError
from suffice.numbers.exact import nearest_float, rational
from suffice.numbers.values import Value
from suffice.paper.instance import Part, Query
from suffice.paper.layers import Floats, Layers
from suffice.paper.verifiers.interface import HOLDS, Reply, Trust, Verdict, Verifier, unknown
from suffice.paper.verifiers.isolated import Isolated

TINY = 1e-6
_TEST_SLACK = 1e-4  # how far above a value met on a grid the self-test's threshold lies
_CLEARLY = 1e-6  # Marabou's tolerance, as measured


@dataclass(frozen=True, eq=False)
class Encoded:
    """One part of a query as numbers: a ReLU network without tiny weights, its box, and what leaving them out costs."""

    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    low: float
    high: float
    charge: float

    def lowest_on_grid(self) -> float:
        """Return the lowest value at some points: surely reached, up to rounding."""
        values = np.linspace(self.low, self.high, 65)[None, :]
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            values = np.maximum(weight @ values + bias[:, None], 0.0)
        return float((self.weights[-1] @ values + self.biases[-1][:, None]).min())


class MarabouVerifier(Verifier):
    """Asks Marabou whether a point of the box brings the score to 0 or below.

    Parameters
    ----------
    tiny : float
        Smaller weights (in absolute value) are set to 0; 0 leaves all in place, which is known to go wrong.
    self_test : bool
        Whether "unsat" must be earned by a query that is known to be satisfiable.
    """

    name = "Marabou"
    trust = Trust.VERIFIED

    def __init__(self, tiny: float = TINY, self_test: bool = True) -> None:
        super().__init__()
        if find_spec("maraboupy") is None:
            raise VerifierError("Marabou is not installed: pip install 'suffice[marabou]'")
        self.tiny, self.self_test = tiny, self_test
        self._solver = Isolated(solve)
        self._encoded: dict[Part, Encoded] = {}
        self._tested: dict[tuple[Part, ...], bool] = {}

    @property
    def child_seconds(self) -> float:
        """CPU seconds of the process that the solver runs in."""
        return self._solver.cpu_seconds

    def reply(self, query: Query, seconds: float) -> Reply:
        """Return what Marabou says, once it has passed its test on the same network."""
        parts = [self._encode(part) for part in query.parts]
        constant, charge = nearest_float(query.constant), sum(part.charge for part in parts)
        try:
            found, point = self._solver.call((parts, constant - charge), seconds)
            if found == "sat":
                return self._point_below(query, parts, point, constant, charge, seconds)
            if found != "unsat":
                return unknown(f"Marabou: {found}")
            is_trusted = not self.self_test or self._passes_test(query.parts, parts, seconds)
        except TimeoutError:
            return unknown(f"time-out after {seconds:.3g} CPU s")
        return HOLDS if is_trusted else unknown("Marabou fails its self-test on this network")

    def _point_below(
        self, query: Query, parts: list[Encoded], scaled: list[float], constant: float, charge: float, seconds: float
    ) -> Reply:
        """Return a point that breaks the claim: Marabou's own, or one that it finds clearly below 0."""
        point = _unscaled(query, scaled)
        if query.is_broken_by(point):
            return Reply(Verdict.COUNTEREXAMPLE, point, "Marabou: sat")
        if query.at(point) > rational(charge + _CLEARLY):
            return Reply(Verdict.COUNTEREXAMPLE, point, "Marabou: sat")  # wrong by more than its tolerance: on record
        found, lower = self._solver.call((parts, constant + charge + _CLEARLY), seconds)
        if found == "sat" and query.is_broken_by(_unscaled(query, lower)):
            return Reply(Verdict.COUNTEREXAMPLE, _unscaled(query, lower), "Marabou: sat, asked twice")
        return unknown(f"within Marabou's tolerance of 0, or what leaving tiny weights out may change ({charge:.2g})")

    def _passes_test(self, key: tuple[Part, ...], parts: list[Encoded], seconds: float) -> bool:
        if key not in self._tested:
            reached = sum(part.lowest_on_grid() for part in parts)
            found, _ = self._solver.call((parts, -reached - _TEST_SLACK), seconds)
            self._tested[key] = found == "sat"
        return self._tested[key]

    def _encode(self, part: Part) -> Encoded:
        if part not in self._encoded:
            self._encoded[part] = _encode(part, self.tiny)
        return self._encoded[part]


def _unscaled(query: Query, scaled: list[float]) -> tuple[Value, ...]:
    return tuple(part.value_of(rational(t)) for part, t in zip(query.parts, scaled, strict=True))


def _encode(part: Part, tiny: float) -> Encoded:
    layers = part.component.layers.fused
    if not layers.is_relu:
        raise VerifierError(f"Marabou is asked about plain ReLU networks only; {part.component.name!r} has other units")
    low, high = map(nearest_float, part.scaled)
    weights = tuple(np.where(np.abs(weight) < tiny, 0.0, weight) for weight in layers.weights)
    return Encoded(weights, layers.biases, low, high, _charge(layers, weights, low, high))


def _charge(layers: Layers, changed: tuple[Floats, ...], low: float, high: float) -> float:
    """Return the most that changed weights can change the output for inputs of a box.

    With `h` and `h'` the units before a layer, `W h - W' h' = (W - W') h + W' (h - h')`, and a ReLU only shrinks
    differences.
    """
    size, change = np.array([max(abs(low), abs(high))]), np.zeros(1)
    for weight, other, bias in zip(layers.weights, changed, layers.biases, strict=True):
        change = np.abs(weight - other) @ size + np.abs(other) @ change
        size = np.abs(weight) @ size + np.abs(bias)
    return float(change[0]) * (1 + 1e-9)


def solve(question: tuple[list[Encoded], float]) -> tuple[str, list[float]]:
    """Ask Marabou, in a process of its own, whether `constant + Σ networks ≤ 0` somewhere in the box."""
    from maraboupy import MarabouCore

    parts, constant = question
    builder = _Builder(MarabouCore)
    score = MarabouCore.Equation()
    scalar = -constant
    inputs = []
    for part in parts:
        inputs.append(builder.variable(part.low, part.high))
        units = inputs[-1:]
        for weight, bias in zip(part.weights[:-1], part.biases[:-1], strict=True):
            units = [builder.relu(row, units, b) for row, b in zip(weight.tolist(), bias.tolist(), strict=True)]
        for w, unit in zip(part.weights[-1][0].tolist(), units, strict=True):
            if w:
                score.addAddend(w, unit)
        scalar -= float(part.biases[-1][0])
    output = builder.variable(None, 0.0)
    score.addAddend(-1.0, output)
    score.setScalar(scalar)
    builder.equations.append(score)
    options = MarabouCore.Options()
    options._verbosity = 0
    found, values, _ = MarabouCore.solve(builder.query(inputs, output), options, "")
    return found, [values[v] for v in inputs] if found == "sat" else []


class _Builder:
    """Collects variables, bounds and constraints of one Marabou query."""

    def __init__(self, core: Any) -> None:
        self.core = core
        self.bounds: list[tuple[float | None, float | None]] = []
        self.equations: list[Any] = []
        self.relus: list[tuple[int, int]] = []

    def variable(self, low: float | None, high: float | None) -> int:
        self.bounds.append((low, high))
        return len(self.bounds) - 1

    def relu(self, row: list[float], units: list[int], bias: float) -> int:
        """Add `max(row · units + bias, 0)`, and return its variable."""
        before, after = self.variable(None, None), self.variable(0.0, None)
        equation = self.core.Equation()
        for w, unit in zip(row, units, strict=True):
            if w:
                equation.addAddend(w, unit)
        equation.addAddend(-1.0, before)
        equation.setScalar(-bias)
        self.equations.append(equation)
        self.relus.append((before, after))
        return after

    def query(self, inputs: list[int], output: int) -> Any:
        """Return Marabou's own query."""
        query = self.core.InputQuery()
        query.setNumberOfVariables(len(self.bounds))
        for v, (low, high) in enumerate(self.bounds):
            if low is not None:
                query.setLowerBound(v, low)
            if high is not None:
                query.setUpperBound(v, high)
        for k, v in enumerate(inputs):
            query.markInputVariable(v, k)
        query.markOutputVariable(output, 0)
        for equation in self.equations:
            query.addEquation(equation)
        for before, after in self.relus:
            self.core.addReluConstraint(query, before, after)
        return query

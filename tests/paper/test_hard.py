"""The hard instances of benchmarks/hard are what they say."""

import itertools
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import suffice
from suffice.numbers.exact import to_fraction
from suffice.paper import (
    BisectionVerifier,
    ExactVerifier,
    GridSampling,
    Minimality,
    Problem,
    Verdict,
    cardinally_minimal,
)

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "hard"))
import maxsat
import networks

PATIENCE = 20.0


def random_formula(seed, variables, clauses):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(clauses):
        chosen = rng.choice(variables, size=int(rng.integers(1, min(variables, 3) + 1)), replace=False) + 1
        made.append([int(v) * int(rng.choice([-1, 1])) for v in chosen])
    return made


def best_by_trying(variables, clauses):
    return max(maxsat.satisfied(clauses, bits) for bits in itertools.product([False, True], repeat=variables))


def test_dimacs_is_read_with_comments_and_clauses_over_lines():
    text = "c a formula\np cnf 3 3\n1 -2 0\n3\n-1 0\n2 0\n"
    assert maxsat.read_dimacs(text) == (3, [[1, -2], [3, -1], [2]])


@pytest.mark.parametrize("seed", range(4))
def test_the_network_counts_clauses_at_whole_numbers_and_never_more(seed):
    variables = 3
    clauses = random_formula(seed, variables, 5)
    (pieces,) = suffice.ReluNetwork(*maxsat.network_of(variables, clauses)).compile()
    for number in range(2**variables):
        bits = [bool(number >> k & 1) for k in reversed(range(variables))]
        at = pieces(suffice.numbers.exact.rational(Fraction(number, 2**variables - 1)))
        assert at == maxsat.satisfied(clauses, bits)
    best = best_by_trying(variables, clauses)
    assert all(value <= best for knot, value in zip(pieces.knots, pieces.values, strict=True) if 0 <= knot <= 1)


@pytest.mark.parametrize(("seed", "variables", "clauses"), [(0, 2, 3), (1, 3, 4), (2, 4, 5), (3, 3, 5), (4, 5, 4)])
def test_explanation_sizes_give_the_optimum_that_rc2_finds(seed, variables, clauses):
    rc2 = pytest.importorskip("pysat.examples.rc2", reason="PySAT is not installed")
    from pysat.formula import WCNF

    formula = random_formula(seed, variables, clauses)
    model, row, at_row = maxsat.model_of(variables, formula)
    why = suffice.Explainer(model).explain(row, radius=1, unit="raw")
    for verifier in (ExactVerifier(), *([BisectionVerifier()] if clauses < 4 else [])):
        result, _ = cardinally_minimal(Problem(model).instance(row, radius=1), verifier)
        assert (result.size, result.minimality) == (why.size, Minimality.CARDINAL)
    weighted = WCNF()
    for clause in formula:
        weighted.append(clause, weight=1)
    with rc2.RC2(weighted) as solver:
        solver.compute()
        optimum = len(formula) - solver.cost
    assert maxsat.optimum_of(why.size, formula, at_row) == optimum == best_by_trying(variables, formula)


def test_an_optimum_equal_to_the_rows_own_is_told_from_one_above():
    for clauses, best in (([[-1], [-2]], 2), ([[1], [2], [-1]], 2), ([[1, 2], [-1], [-2]], 2)):
        model, row, at_row = maxsat.model_of(2, clauses)
        size = suffice.Explainer(model).explain(row, radius=1, unit="raw").size
        assert maxsat.optimum_of(size, clauses, at_row) == best


def test_printed_bits_are_never_set_by_a_power_of_two():
    """Equation of the appendix: q = max(0, r / 2^k - 1), b = max(0, 2^n q) - max(0, 2^n q - 1). At r = 2^k, b is 0."""

    def bits(x, n):
        found, r = [], Fraction(x)
        for i in range(n):
            q = max(Fraction(0), r / 2 ** (n - 1 - i) - 1)
            b = max(Fraction(0), 2**n * q) - max(Fraction(0), 2**n * q - 1)
            found.append(int(b))
            r -= 2 ** (n - 1 - i) * b
        return found

    assert bits(1, 1) == [0]  # the number 1 has bit 1
    assert [bits(x, 2) for x in range(4)] == [[0, 0], [0, 0], [0, 1], [1, 0]]  # none but 0 is right


def test_printed_intercept_does_not_tell_two_optima_apart():
    """With intercept m² everything may be freed both where clauses can gain nothing and where they gain one."""
    for clauses in ([[-1], [-1]], [[1], [-1, 1]]):
        model, row, _ = maxsat.model_of(1, clauses)
        shapes = [term.shape for term in model.terms]
        printed = suffice.AdditiveModel(shapes, len(clauses) ** 2, "binary", model.features)
        assert suffice.Explainer(printed).explain(row, radius=1, unit="raw").size == 0


def test_a_hidden_spike_is_missed_by_the_grid_and_by_nobody_else():
    model = suffice.AdditiveModel([networks.hidden_spike(depth=2.0)], 1)
    query = Problem(model).instance([0.5], radius={"x0": Fraction(3, 2)}).sides
    spiked = (
        Problem(
            suffice.AdditiveModel(
                [networks.hidden_spike(depth=2.0)], 1, features=[suffice.Feature("x0", suffice.Domain.interval(-1, 1))]
            )
        )
        .instance([0], radius=1)
        .sides
    )
    assert GridSampling().ask(spiked, PATIENCE).holds
    for verifier in (ExactVerifier(), BisectionVerifier()):
        assert verifier.ask(spiked, PATIENCE).verdict is Verdict.COUNTEREXAMPLE
        assert verifier.ask(query, PATIENCE).verdict is Verdict.COUNTEREXAMPLE


@pytest.mark.parametrize("bits", [24, 53])
def test_sums_that_floats_lose_are_not_lost_here(bits):
    model = suffice.AdditiveModel([networks.lost_in_rounding(bits)], Fraction(1, 4))
    query = Problem(model).instance([0], radius=Fraction(2, 5)).sides
    assert ExactVerifier().ask(query, PATIENCE).verdict is Verdict.COUNTEREXAMPLE
    assert not BisectionVerifier().ask(query, 2.0).holds
    layers = query[0].parts[0].component.layers
    near = layers.near(np.array([0.4], dtype=np.float32 if bits == 24 else np.float64))
    assert to_fraction(layers.at(suffice.numbers.exact.rational("0.4"))) == Fraction(-2, 5)
    assert bits == 24 or near[0] == 0.0


def test_weights_that_differ_in_their_last_bits_are_told_apart():
    model = suffice.AdditiveModel([networks.last_bits(30)], Fraction(1, 10**4))
    query = Problem(model).instance([0], radius=Fraction(9, 10)).sides
    for verifier in (ExactVerifier(), BisectionVerifier()):
        assert verifier.ask(query, PATIENCE).verdict is Verdict.COUNTEREXAMPLE
    weights = query[0].parts[0].component.layers.weights
    assert weights[0].astype(np.float32).tolist() == [[1.0], [1.0]]


def test_drops_that_are_nearly_equal_are_told_apart():
    model = suffice.AdditiveModel(networks.near_equal(4, gap=1e-9), 2.5)
    result, sorting = cardinally_minimal(Problem(model).instance([0] * 4, radius=1), BisectionVerifier())
    assert result.size == suffice.Explainer(model).explain([0] * 4, radius=1, unit="raw").size == 2
    assert (sorting.is_total, sorting.ascending) == (True, (0, 1, 2, 3))

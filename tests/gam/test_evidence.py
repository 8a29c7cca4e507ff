"""Normal equations and precisions, against dense linear algebra and a search for the largest marginal likelihood."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize

pytest.importorskip("sklearn", reason="additive models are trained with scikit-learn (pip install 'suffice[gam]')")

from suffice.gam import evidence as evidence_module
from suffice.gam import normal
from suffice.gam.curves import logistic_curve, squared_curve
from suffice.gam.evidence import Evidence, Penalty
from suffice.gam.hats import Grid, Hats
from suffice.gam.mains import _penalties, _summed, _trend
from suffice.gam.normal import NormalEquations
from suffice.gam.surfaces import _logarithm, _roughness

STARTS = [0, 1, 7, 12]


def equations(random, *, rows=60):
    cells = random.normal(size=(rows, STARTS[-1])) * (random.uniform(size=(rows, STARTS[-1])) < 0.4)
    cells[:, 0] = 1.0
    matrix = scipy.sparse.csr_matrix(cells)
    weights = random.uniform(0.5, 2.0, rows)
    blocks = [np.zeros((1, 1))] + [a @ a.T for a in (random.normal(size=(6, 6)), random.normal(size=(5, 5)))]
    chosen = scipy.sparse.block_diag(blocks, format="csr")
    fixed = scipy.sparse.diags(random.uniform(0.1, 1.0, STARTS[-1]), format="csr")
    return matrix, weights, fixed, chosen


@pytest.mark.parametrize("most", [2000, 3])
@pytest.mark.parametrize("seed", range(5))
def test_equations_are_solved_as_plain_algebra_does(monkeypatch, seed, most):
    monkeypatch.setattr(normal, "_DENSE", most)
    monkeypatch.setattr(normal, "_PROBES", 20_000)
    random = np.random.default_rng(seed)
    matrix, weights, fixed, chosen = equations(random)
    dense = matrix.toarray().T @ np.diag(0.7 * weights) @ matrix.toarray()
    whole, right = dense + (fixed + chosen).toarray(), random.normal(size=STARTS[-1])
    solved = NormalEquations(matrix, STARTS).curvature(weights).penalised(0.7, fixed, chosen)
    assert solved.solve(right) == pytest.approx(np.linalg.solve(whole, right), rel=1e-4, abs=1e-6)
    if most == 3:  # shares are then those of a block with the others as they are
        kept = np.zeros_like(whole)
        for a, b in pairwise(STARTS):
            kept[a:b, a:b] = 1.0
        dense, whole = dense * kept, whole * kept
    inverse, tolerance = np.linalg.inv(whole), 1e-6 if most == 2000 else 0.05
    assert solved.influences == pytest.approx(np.diag(inverse @ dense), abs=tolerance)
    assert solved.shares == pytest.approx(np.diag(inverse @ (dense + fixed.toarray())), abs=tolerance)
    block = slice(STARTS[1], STARTS[2])
    assert solved.determinant(block) == pytest.approx(np.linalg.slogdet(whole[block, block])[1])
    values = random.normal(size=6)
    gain = 0.5 * (values @ whole[block, block] @ values - np.linalg.slogdet(whole[block, block])[1] + 1.5)
    gain += 0.5 * 6 * np.log(3.0)
    assert solved.gain(block, values, 3.0, 1.5) == pytest.approx(gain)


def test_parameters_that_stand_for_several_values_have_the_same_equations():
    random = np.random.default_rng(0)
    matrix, weights, fixed, chosen = equations(random)
    onto = scipy.sparse.csr_matrix(random.normal(size=(STARTS[-1], STARTS[-1])))
    one = NormalEquations(matrix, STARTS, onto).curvature(weights).penalised(1.0, fixed, chosen)
    other = NormalEquations((matrix @ onto).tocsr(), STARTS).curvature(weights).penalised(1.0, fixed, chosen)
    assert one.whole == pytest.approx(other.whole)


def random_walk(count):
    steps = np.diff(np.eye(count), axis=0)
    return scipy.sparse.csr_matrix(steps.T @ steps)


def problem(seed, *, is_squared):
    """Return a design of two categories' effects, ordered ones that walk and others, with a penalty for each."""
    random, rows = np.random.default_rng(seed), 90 if is_squared else 400  # Laplace's approximation needs more rows
    first, second = random.integers(0, 10, rows), random.integers(0, 6, rows)
    matrix = np.hstack([np.ones((rows, 1)), np.eye(10)[first], np.eye(6)[second]])
    truth = np.sin(first / 2) + 0.5 * random.normal(size=6)[second]
    noisy = truth + random.normal(size=rows)
    targets = noisy if is_squared else (random.uniform(size=rows) < 1 / (1 + np.exp(-truth))).astype(float)
    penalties = [Penalty(1, 11, random_walk(10), 9), Penalty(11, 17, scipy.sparse.identity(6, format="csr"), 6)]
    return matrix, targets, penalties


def marginal(matrix, targets, penalties, fixed, *, is_squared):
    """Return the negative logarithm of the (Laplace) marginal likelihood as a function of log precisions and noise."""

    def value(parameters):
        precisions, noise = np.exp(parameters[:2]), np.exp(parameters[2]) if is_squared else 1.0
        prior = fixed.toarray().copy()
        for one, precision in zip(penalties, precisions, strict=True):
            prior[one.start : one.end, one.start : one.end] += precision * one.matrix.toarray()
        known = np.zeros(matrix.shape[1])
        for _ in range(1 if is_squared else 30):
            scores = matrix @ known
            chance = 1 / (1 + np.exp(-scores))
            bend = np.full(len(targets), 1 / noise) if is_squared else chance * (1 - chance)
            slope = (scores - targets) / noise if is_squared else chance - targets
            whole = matrix.T @ (bend[:, None] * matrix) + prior
            known = known - np.linalg.solve(whole, matrix.T @ slope + prior @ known)
        scores = matrix @ known
        loss = np.sum((scores - targets) ** 2) / (2 * noise) + len(targets) / 2 * np.log(noise)
        if not is_squared:
            loss = np.sum(np.logaddexp(0, scores) - targets * scores)
        sizes = np.linalg.slogdet(prior[1:, 1:])[1]
        return loss + known @ prior @ known / 2 + np.linalg.slogdet(whole)[1] / 2 - sizes / 2

    return value


@pytest.mark.parametrize("is_squared", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_precisions_make_the_rows_most_probable(monkeypatch, seed, is_squared):
    monkeypatch.setattr(evidence_module, "_STEADY", 1e-4)
    monkeypatch.setattr(evidence_module, "_CLOSE", 1e-6)
    matrix, targets, penalties = problem(seed, is_squared=is_squared)
    fixed = scipy.sparse.diags(np.concatenate([[0.0], np.full(16, 1e-3)]), format="csr")
    curve = squared_curve if is_squared else logistic_curve
    search = Evidence(
        scipy.sparse.csr_matrix(matrix), [0, 1, 11, 17], None, fixed, penalties, curve, is_squared=is_squared
    )
    start = np.zeros((17, 1)), np.array([10.0, 10.0])
    values, found = search.run(np.zeros((len(targets), 1)), targets, np.ones(len(targets)), *start, 200)
    oracle = marginal(matrix, targets, penalties, fixed, is_squared=is_squared)
    ends = [np.append(np.log(found), np.log(search.noise)), np.zeros(3)]
    best = min(
        (minimize(oracle, end, method="Nelder-Mead", options={"maxiter": 4000}) for end in ends), key=lambda r: r.fun
    )
    assert oracle(ends[0]) - best.fun < 0.02
    assert np.isfinite(values).all()


@pytest.mark.parametrize("seed", range(3))
def test_one_line_has_the_penalty_of_its_walk_trend_and_slope_together(seed):
    random = np.random.default_rng(seed)
    numbers = random.normal(size=200)
    hats = Hats(np.unique(np.round(np.quantile(numbers, np.linspace(0, 1, 20)), 6)), 0, 2)
    slots = np.where(random.uniform(size=200) < 0.1, random.integers(0, 2, 200), -1)
    trend = _trend(hats, numbers, slots)
    penalties, size = _penalties(hats, trend, 0), hats.size + trend.onto.shape[1]
    precisions = random.uniform(0.1, 5.0, len(penalties))
    prior = 1e-3 * np.eye(size)
    for one, precision in zip(penalties, precisions, strict=True):
        prior[one.start : one.end, one.start : one.end] += precision * one.matrix.toarray()
    onto = np.hstack([np.eye(hats.size), trend.onto.toarray()])
    spread = onto @ np.linalg.inv(prior) @ onto.T  # of the line, which is a sum of them
    values = random.normal(size=(1 + size, 1))
    found = _summed(values, precisions, [hats], [trend], 1.0)
    assert found.penalty.toarray() @ spread == pytest.approx(np.eye(hats.size), abs=1e-6)
    assert found.values == pytest.approx(onto @ values[1:])


@pytest.mark.parametrize(("first", "second"), [((3, 0), (4, 0)), ((3, 2), (5, 1)), ((0, 3), (0, 2)), ((1, 1), (2, 0))])
def test_the_determinant_of_a_surface_is_that_of_its_matrix(first, second):
    axes = tuple(Hats(np.arange(knots, dtype=float), 0, slots) for knots, slots in (first, second))
    grid = Grid((0, 1), axes)
    assert _logarithm(grid) == pytest.approx(np.linalg.slogdet(_roughness(grid).toarray())[1])

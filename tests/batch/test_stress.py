"""Rows of batches against the same rows alone, on models, values and options made to be awkward: a reduced run."""

import importlib.util
import sys
from pathlib import Path

import pytest

PLACE = Path(__file__).parents[2] / "benchmarks" / "identity.py"


@pytest.fixture(scope="module")
def identity():
    spec = importlib.util.spec_from_file_location("identity_benchmark", PLACE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("first", [0, 20, 40])
def test_a_batch_fixes_what_each_row_fixes_alone(identity, first):
    found = [identity.compare(seed, count=12) for seed in range(first, first + 20)]
    settled = sum(by_bounds for _, by_bounds, *_ in found)
    assert 50 < settled < sum(rows for rows, *_ in found)  # both ways are tried


def test_threads_give_the_same_bytes(identity):
    rng = identity.np.random.default_rng(1)
    shapes = [identity.PiecewiseLinear([0, 1, 2], rng.normal(size=3).tolist()) for _ in range(5)]
    explainer = identity.Explainer(identity.suffice.AdditiveModel(shapes, 0.5))
    rows = rng.normal(size=(14_000, 5))
    rows[::100] = rng.choice([-1, 0, 0.5, 1, 2, 1 / 3], size=(140, 5))
    for options in ({}, {"fix": ["x1"]}, {"max_changed": 2}, {"norm": 1}):
        question = explainer.question(0.5, unit="raw", **options)
        told = {identity.digest(explainer.explain_batch(rows, question, threads=n)) for n in (1, 2, 3)}
        assert len(told) == 1

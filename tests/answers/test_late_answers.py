"""What an explanation says when the worst case of its free features takes too long to find."""

import random
from itertools import combinations

import pytest
from matplotlib import pyplot as plt

from suffice import AdditiveModel, Bins, ClaimError, Explainer, Explanation, PairSteps, Table
from suffice.core.joint import Joint
from suffice.errors import BudgetEnded
from suffice.present import plots


@pytest.fixture
def tangled() -> Explanation:
    rng, labels, names = random.Random(3), list("abcd"), [f"x{i}" for i in range(9)]
    bins = Bins(keys=labels)
    model = AdditiveModel(
        [Table({label: rng.gauss(0, 1) for label in labels}) for _ in names],
        intercept=12,
        features=names,
        pairs={
            (one, other): PairSteps(bins, bins, [[rng.gauss(0, 1) for _ in labels] for _ in labels])
            for one, other in combinations(names, 2)
        },
    )
    return Explainer(model).explain(["a"] * len(names), radius="inf")


def make_late(why: Explanation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no work for anything that is asked from now on, and forget what was found."""
    monkeypatch.setattr("suffice.core.joint.LEAST_WORK", 0)
    monkeypatch.setattr("suffice.core.worst_case.LEAST_WORK", 0)
    for constraint in why.case.constraints:
        assert isinstance(constraint, Joint)
        constraint.ground.deadline = 0.0
        constraint.ground.known.clear()


def test_a_late_explanation_says_what_is_known(tangled: Explanation, monkeypatch: pytest.MonkeyPatch) -> None:
    known = tangled.slack
    assert tangled.has_exact_slack
    assert 0 < tangled.size < 9
    assert "Slack: in the worst case the free features use" in str(tangled)
    late = Explanation(tangled.case, tangled.fixed, tangled.bound, tangled.proof, tangled.caveat)
    make_late(late, monkeypatch)
    assert not late.has_exact_slack
    assert 0 <= late.slack < known
    assert "Slack: the free features use at most" in str(late)
    assert "at least" in str(late)
    assert late.document()["has_exact_slack"] is False
    assert str(late).count("could also change") == late.size  # the first that breaks it will do
    assert "slack at least" in plots.waterfall(late).get_xlabel()
    plots.pairs(late)
    plt.close("all")


def test_a_counterexample_that_takes_too_long_is_left_out(
    tangled: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise BudgetEnded

    monkeypatch.setattr(Joint, "broken_by", never)
    assert "could also change" not in str(tangled)
    for name in tangled.features:
        with pytest.raises(ClaimError, match=f"without '{name}': what .* takes too long to find"):
            tangled.counterexample(name)


def test_bars_of_bounds_stay_within_the_margin(tangled: Explanation, monkeypatch: pytest.MonkeyPatch) -> None:
    make_late(tangled, monkeypatch)
    free = [bar for bar in plots._bars(tangled) if not bar.is_fixed]
    assert all(bar.length is not None and bar.length >= 0 for bar in free)
    assert free[-1].start + (free[-1].length or 0) <= float(tangled.margin)

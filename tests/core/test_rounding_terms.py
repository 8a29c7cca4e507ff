"""What is charged for the sum of a score: across features and members of ensembles, for tables, and from kept cells.

Deployed sums are computed here in NumPy floats, exact ones in fractions.
"""

from fractions import Fraction

import numpy as np
import pytest
from oracles import fraction

import suffice
from suffice import MISSING, AdditiveModel, Domain, Explainer, Feature, PiecewiseLinear, ReluNetwork, Table
from suffice.core.rounding import Rounding
from suffice.numbers.exact import rational


def constant(value):
    return ReluNetwork([np.zeros((1, 1))], [np.array([value])])


def charge(model, region=None, kind="float32"):
    still = [domain.around(rational(0), rational(0)) for domain in model.domains] if region is None else region
    return fraction(Rounding(model, kind).errors(still)[0])


def ensemble(members, factor):
    """A model whose features are multiples of sums over members; each is a constant."""
    columns = zip(*members, strict=True)
    return AdditiveModel([sum_of([constant(v) for v in column]) * factor for column in columns], 0, "regression")


def sum_of(shapes):
    total, *others = shapes
    for shape in others:
        total = total + shape
    return total


@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(3), Fraction(-1, 3)])
def test_members_of_an_ensemble_may_each_be_summed_over_the_features(factor):
    """Each member loses 39 ones beside 2^24; feature by feature the members would have cancelled first."""
    members = [[2.0**24, *[1.0] * 39], [-(2.0**24), *[0.0] * 39]]
    sums = []
    for member in members:
        total = np.float32(0)
        for part in member:
            total = np.float32(total + np.float32(part))
        sums.append(total)
    deployed = np.float32(np.float32(factor) * np.float32(sums[0] + sums[1]))
    true = sum((Fraction(part) for member in members for part in member), Fraction(0)) * factor
    assert abs(true - Fraction(float(deployed))) == abs(39 * factor)
    assert abs(39 * factor) <= charge(ensemble(members, factor)) <= 200 * abs(factor)


def test_sums_that_overflow_before_their_factor_are_refused():
    members = [[3e37] * 4, [3e37] * 4]  # 2.4e38 in all, which a partial sum with errors of its own may not reach
    model = ensemble(members, Fraction(1, 10**20))
    with pytest.raises(suffice.ClaimError, match="may overflow"):
        charge(model)


LINE = ReluNetwork([[[1.0], [1.0]], [[0.5, -0.4]]], [[-2.0, -6.0], [1.0]])


def test_a_special_code_is_looked_up_as_it_is_written_however_its_feature_is_scaled():
    center, scale = Fraction(1, 3), Fraction(7, 10)
    domain = Domain.interval(0, 10) | Domain.codes(-9, MISSING)
    table = Table({(-9 - center) / scale: 0.25, MISSING: -0.5}, otherwise=LINE)
    model = AdditiveModel([table], 1, "regression", [Feature("a", domain, center, scale)])
    for code in (-9, MISSING):
        region = [domain.around(code if code is MISSING else rational(code), rational(1))]
        assert charge(model, region) < Fraction(1, 10**6)  # a quarter and a half are floats; one addition rounds
    assert charge(model, [Domain.interval(2, 3)]) < Fraction(1, 10**5)
    with pytest.raises(suffice.ClaimError, match="jumps"):  # a number that rounding may make the code
        charge(model, [Domain.interval(-9, 3)])


def test_a_constant_column_is_an_entry():
    flat = PiecewiseLinear([0], [0.1])
    model = AdditiveModel([flat, LINE], 0, "regression", ["a", "b"])
    alone = AdditiveModel([constant(0.1), LINE], 0, "regression", ["a", "b"])
    region = [Domain.interval(-1, 1), Domain.interval(2, 3)]
    assert charge(model, region) == pytest.approx(charge(alone, region), rel=0.01)
    with pytest.raises(suffice.ClaimError, match="jumps or is not a network"):
        charge(AdditiveModel([PiecewiseLinear([0], [0], right_slope=1)], 0, "regression"), region[:1])


def test_a_charge_depends_on_the_region_alone():
    """Cells are kept; whatever was asked before, the next charge is that of a fresh start."""
    rng = np.random.default_rng(0)
    net = ReluNetwork([rng.normal(size=(8, 1)), rng.normal(size=(1, 8))], [rng.normal(size=8), None])
    model = AdditiveModel([net, net * "1/3"], 0, "regression", [Feature("a", center=2, scale=3), Feature("b")])
    kept = Rounding(model, "float32")
    for _ in range(60):
        ends = sorted(rng.uniform(-40, 40, size=2)), sorted(np.ldexp(rng.uniform(-1, 1, size=2), rng.integers(-20, 20)))
        region = [Domain.interval(*ends[0]), Domain.interval(*ends[1])]
        assert kept.errors(region) == Rounding(model, "float32").errors(region)
    assert len(kept._cells) > 10


def test_kept_cells_do_not_refuse_what_lies_within_the_limits():
    """The cells of the grid reach beyond the region, where float32 would overflow."""
    line = ReluNetwork([[[1.0]]], [[0.0]])
    high = 2.0**127 * (1 - 2.0**-10)
    model = AdditiveModel([line], 0, "regression")
    assert charge(model, [Domain.interval(0, high)]) < Fraction(2) ** 106
    with pytest.raises(suffice.ClaimError, match="may overflow"):
        charge(model, [Domain.interval(0, high * 1.01)])


def test_a_fitted_model_with_codes_missing_cells_and_a_flat_column_can_be_charged():
    nam = pytest.importorskip("suffice.nam")
    rng = np.random.default_rng(1)
    table = rng.normal(size=(120, 3))
    table[:, 1] = 5.0
    table[::7, 0], table[::5, 2] = -9.0, np.nan
    target = (np.nan_to_num(table).sum(axis=1) > 5).astype(int)
    fitted = nam.NAMClassifier(hidden_layers=(8,), n_members=2, max_epochs=3, special_codes=[-9], random_state=0)
    explainer = Explainer(fitted.fit(table, target))
    for row in ([-9.0, 5.0, 0.3], [0.4, 5.0, None], [0.4, 5.0, 0.3]):
        scores = fitted._score(fitted._read_table(np.array([row], dtype=float), is_new=False))
        case = explainer.sufficiency(row, explainer.model.names, 1, arithmetic="float64").case
        assert abs(Fraction(float(scores[0, 0])) - explainer.score(row)) <= fraction(case.charges[0])

"""Scores whose sigmoids are compared: what two features do together counts too."""

import pytest

from suffice import AdapterError, AdditiveModel, Domain, Feature, PairSteps, PiecewiseLinear, Product
from suffice.adapters.saturation import check_unsaturated


def model(pair, domain=None):
    features = [Feature("a", domain), Feature("b", domain)]
    return AdditiveModel([None, None], [0, 0], "multiclass", features, pairs={("a", "b"): pair})


@pytest.mark.parametrize(("height", "is_large"), [(15, False), (16, False), (17, True)])
def test_a_table_counts_at_its_largest(height, is_large):
    pair = PairSteps([0], [0], [[[0, 0], [height, height]], [[1, 2], [3, 4]]])
    if not is_large:
        check_unsaturated(model(pair), "the model", "above")
        return
    with pytest.raises(AdapterError, match="several scores can pass 16"):
        check_unsaturated(model(pair), "the model", "above")


def test_a_product_counts_at_the_corners_of_its_domain():
    two = PiecewiseLinear([0], [[0, 0]], left_slope=1, right_slope=1)
    check_unsaturated(model(Product(two, two), Domain.interval(-4, 4)), "the model", "both")
    for domain in (Domain.interval(-5, 4), Domain.reals()):
        with pytest.raises(AdapterError, match="several scores can pass 16"):
            check_unsaturated(model(Product(two, two), domain), "the model", "both")


def test_scores_that_are_too_small_together_count_where_that_matters():
    pair = PairSteps([0], [0], [[[0, 0], [-17, -17]], [[0, 0], [0, 0]]])
    check_unsaturated(model(pair), "the model", "above")
    with pytest.raises(AdapterError, match="several scores can pass -16"):
        check_unsaturated(model(pair), "the model", "both")

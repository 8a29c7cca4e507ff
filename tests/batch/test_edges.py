"""Single rows at which look-up tables, cells or sorting are easily wrong: each is answered as one row is."""

from fractions import Fraction

import numpy as np
import pytest

from suffice import (
    MISSING,
    AdditiveModel,
    DataError,
    Domain,
    Explainer,
    Feature,
    OptionError,
    PiecewiseLinear,
    ProbabilityAtLeast,
    Steps,
    SufficeError,
    Table,
)

arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

LINE = PiecewiseLinear([0], [0], 1, 1)


def assert_as_one_row(explainer, row, radius, **options):
    options = {"unit": "raw", **options}
    result = explainer.explain_batch(np.array([row]), radius, **options)
    if result.messages:
        with pytest.raises(SufficeError) as refused:
            explainer.explain(row, radius, **options)
        assert result.messages == {0: str(refused.value)}
        return
    why = explainer.explain(row, radius, **options)
    assert (result.fixed_of(0), result.statuses[0]) == (why.fixed, why.status.value)


@pytest.mark.parametrize(
    "shape",
    [
        Table({10: 5}, otherwise=Steps([0, 10], [0, 5, 0])),
        Steps([0], [0, 5], "left") + Steps([10], [0, -5], "right"),
    ],
)
def test_a_row_between_two_low_stretches_that_it_just_does_not_reach(shape):
    # Rows on either side reach one of the stretches, and have the same drop; the row itself reaches neither.
    explainer = Explainer(AdditiveModel([shape, LINE], intercept=-3))
    assert explainer.explain([5.0, 0.0], [5, 1], unit="raw").fixed == ()
    for x in (4.5, 5.0, 5.5):
        assert_as_one_row(explainer, [x, 0.0], [5, 1])


@pytest.mark.parametrize("radius", [{"a": 0, "b": 0.5}, np.inf, 1])
def test_a_number_between_the_integers_of_a_mixed_domain_is_outside(radius):
    domain = Domain.interval(0, 3) | Domain.integers(7, 9)
    explainer = Explainer(AdditiveModel([LINE, LINE], -1, features=[Feature("a", domain), "b"]))
    for immutable in ([], ["a"]):
        for x in (8.5, 8.0, 7.0, 2.5, 5.0):
            assert_as_one_row(explainer, [x, 0.0], radius, immutable=immutable)
        assert explainer.explain_batch(
            np.array([[8.5, 0.0]]), radius, immutable=immutable, unit="raw"
        ).failed_rows.tolist() == [0]


def test_a_drop_without_bound_on_its_error_leaves_the_order_of_what_is_kept_open():
    third = Fraction(31, 3)  # a break 10 above the row, which is no float
    first = Steps([1, 5, third], [[0, 0, 0], [0, 0, 30], [0, 15, 30], [0, 15, 31]])
    second = Steps([1], [[0, 0, 0], [0, 0, 20]])
    explainer = Explainer(AdditiveModel([first, second], [10, 2, 0], "multiclass", features=["A", "B"]))
    assert explainer.explain([1 / 3, 0.0], 10, unit="raw").features == ("A", "B")
    assert_as_one_row(explainer, [1 / 3, 0.0], 10)


@pytest.mark.parametrize("radius", [1e302, 1e300, 4e300, 1e308, 2.0**999])
def test_radii_near_the_largest_float(radius):
    explainer = Explainer(AdditiveModel([Steps([0.0], [-1, 1])]))
    for x in (1.0, -1.0, 0.0, 1e300, -1e307):
        assert_as_one_row(explainer, [x], radius)


def test_knots_near_the_largest_float():
    shape = Table({MISSING: -1}, otherwise=Steps([1e305], [-1, 1]))
    explainer = Explainer(AdditiveModel([shape]))
    for x in (1.0, 2e305, np.nan, 2.0**1000):
        for radius in (1, np.inf):
            assert_as_one_row(explainer, [x], radius)


@pytest.mark.parametrize("cells", [["1.5", None], [None, None], [None, "1.5", "3/2"]])
def test_an_empty_cell_of_a_text_column_fails_alone(cells):
    explainer = Explainer(AdditiveModel([LINE, LINE], features=["a", "b"]))
    table = arrow.table({"a": arrow.array(cells, arrow.string()), "b": ["1"] * len(cells)})
    result = explainer.explain_batch(table, radius=1, unit="raw")
    assert result.failed_rows.tolist() == [k for k, cell in enumerate(cells) if cell is None]
    coded = AdditiveModel([Table({MISSING: -1}, otherwise=LINE), LINE], 0.5, features=["a", "b"])
    result = Explainer(coded).explain_batch(table, radius=1, unit="raw")
    assert result.predictions.tolist() == [Explainer(coded).predict([cell, "1"]) for cell in cells]


def test_an_index_of_8_bits_with_all_its_numbers_in_use_and_a_missing_cell():
    names = [f"n{k}" for k in range(128)]
    column = arrow.DictionaryArray.from_arrays(arrow.array([*range(128), None], arrow.int8()), names)
    shape = Table({**{name: k % 3 - 1 for k, name in enumerate(names)}, MISSING: 2})
    explainer = Explainer(AdditiveModel([shape], 0.5))
    result = explainer.explain_batch(arrow.table({"x0": column}), radius=0, unit="raw")
    assert result.predictions.tolist() == [explainer.predict([name]) for name in [*names, None]]


def test_a_masked_array_is_refused():
    with pytest.raises(DataError, match="the array is masked"):
        Explainer(AdditiveModel([LINE])).explain_batch(np.ma.masked_array([[1.0]], [[True]]), radius=1, unit="raw")


WISHES = [
    {"fix": ["a"]},
    {"free": ["c"]},
    {"free": ["a", "c"]},
    {"cost": {"c": 5}},
    {"cost": {"a": 2, "b": 2, "c": 2}},
    {"groups": [["a", "b"]]},
    {"groups": {"both": ["a", "c"]}},
    {"max_changed": 1},
    {"norm": 1},
    {"norm": 2},
    {"arithmetic": "float32"},
    {"fix": ["b"], "free": ["a"]},
]


def sloped():
    shapes = [PiecewiseLinear([0], [0], slope, slope) for slope in (1, 2, 4)]
    return Explainer(AdditiveModel(shapes, 2.5, features=["a", "b", "c"]))


@pytest.mark.parametrize("wish", WISHES)
def test_wishes_are_those_of_one_row(wish):
    rows = [[0.0, 0.0, 0.0], [0.5, -0.25, 1.0], [-3.0, 1.0, 0.0]]
    once = {name: iter(given) if isinstance(given, list) else given for name, given in wish.items()}
    result = sloped().explain_batch(np.array(rows), 1, unit="raw", **once)
    for k, row in enumerate(rows):
        try:
            why = sloped().explain(row, 1, unit="raw", **wish)
        except SufficeError as error:
            expected = ((), "failed", str(error), -1)
        else:
            expected = (why.fixed, why.status.value, None, why.size)
        assert (result.fixed_of(k), result.statuses[k], result.messages.get(k), result.sizes[k]) == expected


def test_wishes_that_fit_no_row_and_unknown_names_are_refused():
    rows = np.zeros((0, 3))
    with pytest.raises(OptionError, match="'wrong' is not an option of a question"):
        sloped().explain_batch(rows, 1, wrong=1, unit="raw")
    for wish in (
        {"fix": ["z"]}, {"fix": "a"}, {"immutable": "a"}, {"free": ["a"], "fix": ["a"]}, {"cost": {"a": -1}},
        {"groups": [[]]}, {"max_changed": 0}, {"norm": 3}, {"arithmetic": "float8"}, {"max_nodes": -1},
        {"max_seconds": "long"},
    ):  # fmt: skip
        with pytest.raises(SufficeError):
            sloped().explain_batch(rows, 1, unit="raw", **wish)


def test_lower_bounds_count_features_or_say_nothing():
    row = np.array([[0.0, 0.0, 0.0]])
    assert sloped().explain_batch(
        row, 1, cost=dict.fromkeys("abc", 3), fix=["a"], unit="raw"
    ).lower_bounds.tolist() == [2]
    assert sloped().explain_batch(row, 1, cost={"c": 5}, unit="raw").lower_bounds.tolist() == [0]


def test_a_drop_far_less_sure_than_its_neighbours_may_come_before_all_of_them():
    # The drop of "c" is x itself, looked up on a stretch of 1e8: by its bounds it may be above or below others.
    steps = [Steps([0], [0, height]) for height in (1 + 2.0**-26, 1, 998)]
    features = ["a", "b", "d", Feature("c", Domain.interval(0, 1e8))]
    model = AdditiveModel([*steps, PiecewiseLinear([0, 1e8], [0, 1e8])], intercept=-0.5, features=features)
    explainer, cost = Explainer(model), {"b": 2, "d": 2}
    for x in (1 + 2.0**-25, 1 + 2.0**-27, 1 - 2.0**-25):
        row = [1.0, 1.0, 1.0, x]
        assert_as_one_row(explainer, row, np.inf, cost=cost)
        assert explainer.explain(row, np.inf, cost=cost).features == (("c",) if x > 1 + 2.0**-26 else ("a",))


def test_groups_whose_drops_add_up_beyond_floats_keep_their_order():
    shapes = [Steps([0], [-depth, 0]) for depth in (1e308, 1e308, 1.5e308, 1.5e308)]
    explainer = Explainer(AdditiveModel(shapes, 1, features=["a", "b", "c", "d"]))
    assert_as_one_row(explainer, [1.0] * 4, np.inf, groups={"small": ["a", "b"], "large": ["c", "d"]})


@pytest.mark.parametrize("p", ["0.1", "0.3", "0.5", "0.6"])
@pytest.mark.parametrize("offset", [0, 1, -1])
def test_the_probability_is_that_of_the_predicted_class_whatever_the_other_one_is(p, offset):
    # Of a score near 0 both classes are more probable than 0.3; and with an offset the less probable one is predicted.
    shapes = [Steps([0], [0, 1]), Steps([0], [0, -2]), LINE]
    explainer = Explainer(AdditiveModel(shapes, logit_offset=offset))
    for x in (-3.0, -0.75, -0.25, 0.25, 0.75, 3.0):
        for others in ([1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]):
            assert_as_one_row(explainer, [*others, x], 2, claim=ProbabilityAtLeast(p))

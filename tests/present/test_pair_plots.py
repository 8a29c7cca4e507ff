"""Maps of what two features do together: the numbers drawn are the exact ones, and no text overlaps."""

from fractions import Fraction
from itertools import product

import pytest

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")

from present.models import MIXED_ROW, paired  # noqa: E402
from present.test_plots import assert_no_text_overlaps  # noqa: E402

import suffice  # noqa: E402
from suffice import MISSING, AdditiveModel, Bins, Domain, Explainer, Feature, PairLinear, PairSteps  # noqa: E402
from suffice.numbers.exact import rational  # noqa: E402
from suffice.present import plots  # noqa: E402
from suffice.present.pair_outline import pair_outline, strongest_pairs  # noqa: E402

PAIRED = paired()
RADII = {"income": 1, "age": 15, "colour": 1, "months": 3}
WHY = PAIRED.explain(MIXED_ROW, RADII, unit="raw")
NAMES = list(PAIRED.pairs)


def part_of(names, cells):
    """What the term over two features adds to the score."""
    (pieces,) = PAIRED.pairs[names]
    found = pieces(*(cell if isinstance(cell, str) or cell is MISSING else rational(cell) for cell in cells))
    return Fraction(int(found.p), int(found.q))


@pytest.mark.parametrize("names", NAMES)
def test_every_strip_has_the_exact_change_of_the_margin_at_its_middle(names):
    drawn = pair_outline(WHY, names)
    assert [side.name for side in drawn.sides] == list(names)
    here = part_of(names, [row if (row := MIXED_ROW[name]) == "green" else Fraction(row) for name in names])
    sign = 1 if WHY.prediction == "yes" else -1
    inside = []
    for side in drawn.sides:
        labels = {tick.x: tick.text for tick in side.ticks}
        values = []
        for left, right in side.edges:
            middle = (left + right) / 2
            text = next((text for x, text in labels.items() if abs(x - middle) < 1e-9), None)
            values.append({"missing": MISSING, "-9": Fraction(-9)}.get(text, text) if text else Fraction(middle))
        inside.append(values)
    for (i, x), (j, y) in product(enumerate(inside[0]), enumerate(inside[1])):
        expected = sign * (part_of(names, (x, y)) - here)
        assert drawn.heights[i][j] == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("names", NAMES)
def test_the_worst_case_marked_is_one_input_for_all_pairs(names):
    drawn = pair_outline(WHY, names)
    for side in drawn.sides:
        assert side.is_fixed == (side.name in WHY.features)
        if side.is_fixed:
            assert side.worst == side.row
        assert side.window[0] <= side.row <= side.window[1]
    again = {}
    for pair in NAMES:
        for side in pair_outline(WHY, pair).sides:
            again.setdefault(side.name, set()).add(side.worst)
    in_numbers = {name: places for name, places in again.items() if name in ("income", "age")}
    assert all(len(places) == 1 for places in in_numbers.values())


def test_the_worst_case_is_as_low_as_the_free_features_can_go():
    """The sum of what all shapes and pairs lose at the marked places is the margin less the slack."""
    model = AdditiveModel(
        [None, None, None],
        3,
        features=[Feature(name, Domain.interval(-3, 3)) for name in "abc"],
        pairs={
            ("a", "b"): PairSteps([0], [0], [[0, -1], [1, 0]]),
            ("b", "c"): PairSteps([1], [1], [[0, "-1/2"], [-1, 2]]),
        },
    )
    explainer = Explainer(model)
    why = explainer.explain([-1, -1, 0], 3, unit="raw")
    assert not why.features
    drawn = [pair_outline(why, pair) for pair in (("a", "b"), ("b", "c"))]
    assert sum(one.worst for one in drawn) == pytest.approx(float(why.slack - why.margin))
    point = {side.name: side.worst for one in drawn for side in one.sides}
    assert explainer.score([point[name] for name in "abc"]) == why.slack


def test_a_surface_is_drawn_in_smaller_cells():
    model = AdditiveModel(
        [None, None], 5, features=["a", "b"], pairs={("b", "a"): PairLinear([0, 1], [0, 2], [[0, 0], [0, 1]])}
    )
    drawn = pair_outline(Explainer(model).explain([0, 0], 1, unit="raw"), ("b", "a"))
    assert len(drawn.heights) > 8
    assert len({height for row in drawn.heights for height in row}) > 8


def test_pairs_that_vary_most_come_first():
    model = AdditiveModel(
        [None] * 3,
        9,
        features=["a", "b", "c"],
        pairs={
            ("a", "b"): PairSteps([5], [5], [[0, 9], [9, 9]]),  # far away
            ("a", "c"): PairSteps([0], [0], [[0, 1], [0, 0]]),
            ("b", "c"): PairSteps([0], [0], [[0, 2], [0, 0]]),
        },
    )
    why = Explainer(model).explain([0, 0, 0], 1, unit="raw")
    assert strongest_pairs(why, 2) == [("b", "c"), ("a", "c")]


@pytest.mark.parametrize("names", NAMES)
def test_one_map_has_no_text_over_another(names):
    assert_no_text_overlaps(plots.pair(WHY, names).figure)


def test_several_maps_have_no_text_over_another():
    assert_no_text_overlaps(plots.pairs(WHY))


def test_the_same_map_is_the_same_file():
    assert plots.to_svg(plots.pairs(WHY), "p") == plots.to_svg(plots.pairs(WHY), "p")


def test_features_without_a_term_over_both_are_named():
    with pytest.raises(suffice.FeatureNameError, match="'income & months' is not a pair of features"):
        pair_outline(WHY, ("income", "months"))
    alone = Explainer(AdditiveModel([suffice.Steps([0], [0, 1])]))
    with pytest.raises(suffice.DataError, match="no terms over two features"):
        plots.pairs(alone.explain([1], 1, unit="raw"))


def test_labels_without_numbers_are_strips_side_by_side():
    table = PairSteps(Bins(keys=["x", "y"]), Bins(keys=["u", "v", MISSING]), [[0, 1, 2], [3, 4, 5]])
    model = AdditiveModel([None, None], 9, features=["a", "b"], pairs={("a", "b"): table})
    drawn = pair_outline(Explainer(model).explain(["x", "u"], 1, unit="raw"), ("a", "b"))
    assert drawn.sides[0].edges == ((-0.5, 0.5), (0.5, 1.5))
    assert drawn.heights == ((0.0, 1.0, 2.0), (3.0, 4.0, 5.0))
    assert [tick.is_in_region for tick in drawn.sides[1].ticks] == [True, True, False]

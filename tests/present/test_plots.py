import math
from itertools import combinations, pairwise

import pytest

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")
from fractions import Fraction  # noqa: E402

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.colors import to_rgb  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from present.models import HOSTILE, HOSTILE_ROW, MIXED_ROW, hostile, mixed, wide  # noqa: E402

from suffice import (  # noqa: E402
    MISSING,
    AdditiveModel,
    Domain,
    Explainer,
    Feature,
    PiecewiseLinear,
    Steps,
    Table,
)
from suffice.errors import DataError  # noqa: E402
from suffice.present import plots  # noqa: E402
from suffice.present.outline import outline  # noqa: E402

MIXED = mixed()
WIDE = wide()
WIDE_WHY = WIDE.explain([0.3] * 60, radius=0.4, unit="raw")


def texts_of(figure):
    """Return every piece of text that is drawn, with the box it takes."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    outside = {  # an axis keeps labels of ticks beyond its ends; they are not drawn
        label
        for ax in figure.axes
        for axis in (ax.xaxis, ax.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for label in (tick.label1, tick.label2)
        if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }
    found = [text for text in figure.findobj(matplotlib.text.Text) if text.get_visible() and text not in outside]
    boxes = [(text, text.get_window_extent(renderer)) for text in found if text.get_text().strip()]
    return [(text, box) for text, box in boxes if box.width]


def assert_no_text_overlaps(figure):
    drawn = texts_of(figure)
    assert drawn
    for said, box in drawn:
        assert figure.bbox.x0 - 1 <= box.x0, said
        assert box.x1 <= figure.bbox.x1 + 1, said
        assert figure.bbox.y0 - 1 <= box.y0, said
        assert box.y1 <= figure.bbox.y1 + 1, said
    for (one, a), (other, b) in combinations(drawn, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        along = min(a.y1, b.y1) - max(a.y0, b.y0)
        if one.get_rotation() and one.get_rotation() == other.get_rotation() and one.get_ha() == "right":
            apart = abs(a.x1 - b.x1) * math.sin(math.radians(one.get_rotation()))  # of two parallel lines of text
            assert apart >= one.get_fontsize() * figure.dpi / 72, f"{one.get_text()!r} overlaps {other.get_text()!r}"
        else:
            assert across <= 1 or along <= 1, f"{one.get_text()!r} overlaps {other.get_text()!r}"


# --- outlines ---------------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(
    knots=st.lists(st.fractions(-5, 5, max_denominator=8), min_size=1, max_size=6, unique=True).map(sorted),
    values=st.lists(st.fractions(-5, 5, max_denominator=8), min_size=7, max_size=7),
    at=st.fractions(-6, 6, max_denominator=8),
    radius=st.fractions(Fraction(1, 8), 4, max_denominator=8),
    has_jumps=st.booleans(),
)
def test_an_outline_is_the_function_itself(knots, values, at, radius, has_jumps):
    """Between neighbouring corners the function is the straight line drawn, so that nothing is left out."""
    shape = Steps(knots, values[: len(knots) + 1]) if has_jumps else PiecewiseLinear(knots, values[: len(knots)])
    explainer = Explainer(AdditiveModel([shape], 100, features=["a"]))
    why = explainer.explain([at], radius=radius, unit="raw")
    drawn = outline(why, "a")
    here = explainer.score([at])

    def height(x):
        return float(explainer.score([x]) - here)

    low, high = drawn.window
    assert (drawn.row.x, drawn.row.y) == (float(at), 0.0)
    assert drawn.region == ((float(at - radius), float(at + radius)),)
    corners = [point.x for line in drawn.lines for point in line]
    assert (corners[0], corners[-1]) == (low, high)
    for line in drawn.lines:
        for left, right in pairwise(line):
            for share in (Fraction(1, 7), Fraction(1, 2), Fraction(6, 7)):
                x = Fraction(left.x) + share * (Fraction(right.x) - Fraction(left.x))
                y = left.y + float(share) * (right.y - left.y)
                assert math.isclose(height(x), y, abs_tol=1e-9)
    for point in drawn.dots:
        assert math.isclose(height(Fraction(point.x).limit_denominator(8)), point.y, abs_tol=1e-9)
    assert drawn.worst is not None
    assert math.isclose(drawn.worst.y, -float(why.drops["a"]), abs_tol=1e-12)


def test_an_outline_has_dots_for_integers_and_places_for_labels():
    why = MIXED.explain(MIXED_ROW, radius=3, unit="raw")
    colour, months = outline(why, "colour"), outline(why, "months")
    assert [tick.text for tick in colour.ticks] == ["red", "blue", "green"]
    assert colour.lines == ()
    assert [tick.is_in_region for tick in colour.ticks] == [True, True, True]
    assert [tick.text for tick in months.ticks] == ["-9", "missing"]
    assert [tick.is_in_region for tick in months.ticks] == [False, False]
    assert months.lines == ()
    assert {point.x for point in months.dots} == {*range(17), *(tick.x for tick in months.ticks)}
    assert months.region == ((4.0, 10.0),)
    assert all(tick.x > 16 for tick in months.ticks)
    everywhere = outline(MIXED.explain({**MIXED_ROW, "months": MISSING}, radius=math.inf, unit="raw"), "months")
    assert [tick.is_in_region for tick in everywhere.ticks] == [True, True]
    assert everywhere.row.x == everywhere.ticks[1].x


def test_an_approached_worst_case_is_told_from_an_attained_one():
    explainer = Explainer(
        AdditiveModel([PiecewiseLinear([0], [0], left_slope=1, right_slope=1) + Steps([1], [0, 9])], 5)
    )
    why = explainer.explain([3], radius=2, unit="raw")
    assert (outline(why, "x0").is_attained, outline(why, "x0").worst.y) == (True, -2)
    why = explainer.explain([3], radius=3, unit="raw")
    drawn = outline(why, "x0")
    assert (drawn.is_attained, drawn.worst.y, drawn.takes) == (True, -12, "12")
    falling = Explainer(
        AdditiveModel([PiecewiseLinear([0], [0], left_slope=-1, right_slope=-1) + Steps([1], [0, 9])], 50)
    )
    drawn = outline(falling.explain([3], radius=3, unit="raw"), "x0")
    assert (drawn.is_attained, drawn.worst.x, drawn.worst.y) == (False, 1, -7)


def test_a_jump_at_an_end_of_the_domain_has_its_dot():
    shape = Steps([0, 2], [5, 1, 7])
    explainer = Explainer(AdditiveModel([shape], features=[Feature("a", Domain.interval(0, 2))]))
    drawn = outline(explainer.explain([1], radius=5, unit="raw"), "a")
    assert drawn.lines == (((0.0, 0.0), (2.0, 0.0)),)
    assert drawn.dots == ((2.0, 6.0),)
    spike = Table({1: 9}, otherwise=PiecewiseLinear([0], [0], left_slope=1, right_slope=1))
    drawn = outline(Explainer(AdditiveModel([spike], 4)).explain([2], radius=2, unit="raw"), "x0")
    assert drawn.dots == ((1.0, 7.0),)


def test_a_fall_without_bound_has_no_worst_case():
    drawn = outline(
        Explainer(AdditiveModel([PiecewiseLinear([0], [0], left_slope=1, right_slope=1)], 5)).explain(
            [3], math.inf, unit="raw"
        ),
        "x0",
    )
    assert (drawn.worst, drawn.takes) == (None, "any amount")


# --- pictures ---------------------------------------------------------------------------------------------------------


def test_a_waterfall_shows_every_drop_and_where_the_margin_ends():
    why = MIXED.explain(MIXED_ROW, radius=2, unit="raw")
    ax = plots.waterfall(why)
    names = [label.get_text() for label in ax.get_yticklabels()]
    bars = {name: (bar.get_x(), bar.get_width()) for name, bar in zip(names, ax.patches, strict=True)}
    fallen = 0.0
    for name in names[: len(why.free)]:
        assert name in why.free
        assert bars[name] == pytest.approx((fallen, float(why.drops[name])))
        fallen += bars[name][1]
    assert fallen <= why.margin
    for name in names[len(why.free) :]:
        assert name in why.features
        assert bars[name][0] == pytest.approx(fallen)
        assert fallen + float(why.drops[name]) > why.margin
    assert ax.lines[0].get_xdata() == [float(why.margin)] * 2


def test_features_that_do_not_move_at_once_are_not_counted():
    why = WIDE.explain([0.3] * 60, radius=0.01, max_changed=2, unit="raw")
    ax = plots.waterfall(why)
    hollow = [bar for bar in ax.patches if bar.get_facecolor()[3] == 0]
    assert len(hollow) == len(why.free) - 2
    assert all(bar.get_x() == 0 for bar in hollow)


def test_a_fall_without_bound_leaves_the_picture_with_an_arrow():
    line = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
    ax = plots.waterfall(Explainer(AdditiveModel([line, line * "1/9"], 5)).explain([3, 3], math.inf, unit="raw"))
    assert "any" in [text.get_text() for text in ax.texts]
    assert ax.patches[-1].get_x() + ax.patches[-1].get_width() == ax.get_xlim()[1]


def test_every_function_draws_on_the_axis_it_is_given():
    why = MIXED.explain(MIXED_ROW, radius=2, unit="raw")
    draw = [
        plots.waterfall,
        lambda _, ax: plots.shape(why, "age", ax),
        lambda _, ax: plots.curve(MIXED.curve(MIXED_ROW, until=5, unit="raw"), ax),
        lambda _, ax: plots.sizes([why], ax),
        lambda _, ax: plots.frequency([why], ax),
    ]
    for one in draw:
        ax = Figure().subplots()
        assert one(why, ax) is ax
        assert ax.lines or ax.patches


def test_a_curve_steps_at_the_exact_radii_with_open_and_closed_ends():
    steps = MIXED.curve(MIXED_ROW, until=5, unit="raw")
    ax = plots.curve(steps)
    ends = [line for line in ax.lines if line.get_marker() == "o"]
    assert [float(line.get_xdata()[0]) for line in ends] == [float(step.limit.radius) for step in steps.steps]
    filled = [line.get_markerfacecolor() != "white" for line in ends]
    assert filled == [step.limit.is_attained for step in steps.steps]
    assert not all(filled)
    assert plots.curve(MIXED.curve(MIXED_ROW, unit="raw")).lines[-1].get_marker() in (">", "o")


def test_sizes_and_frequencies_are_counted():
    found = [("a", "b"), ("a",), (), ("a", "c")]
    bars = plots.sizes(found).patches
    assert {round(bar.get_x() + 0.4): bar.get_height() for bar in bars} == {0: 1, 1: 1, 2: 2}
    ax = plots.frequency(found)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]
    assert [bar.get_width() for bar in ax.patches] == [3, 1, 1]
    with pytest.raises(plots.DataError, match="no explanations"):
        plots.sizes([])
    with pytest.raises(plots.DataError, match="no explanations"):
        plots.frequency([])


def test_no_axes_are_drawn_without_a_shape():
    for most in range(1, 8):
        figure = plots.shapes(WIDE_WHY, most=most)
        assert sum(ax.axison for ax in figure.axes) == most
    with pytest.raises(DataError, match="no features to draw"):
        plots.shapes(WIDE_WHY, features=[])


def test_no_text_overlaps_with_sixty_features_and_names_of_forty_wide_letters():
    assert_no_text_overlaps(plots.waterfall(WIDE_WHY).figure)
    assert_no_text_overlaps(plots.shapes(WIDE_WHY))
    assert_no_text_overlaps(plots.frequency([WIDE.model.names]).figure)
    assert_no_text_overlaps(plots.sizes([WIDE_WHY, *[("a",) * k for k in range(19)]]).figure)
    small = Figure(figsize=(7, 2.5), layout="constrained").subplots()
    assert_no_text_overlaps(plots.waterfall(WIDE_WHY, small).figure)
    assert_no_text_overlaps(plots.shapes(MIXED.explain(MIXED_ROW, radius=2, unit="raw")))


def test_what_does_not_fit_is_added_up():
    ax = plots.waterfall(WIDE_WHY, Figure(figsize=(7, 2.5), layout="constrained").subplots())
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(names) < 20
    free = next(k for k, name in enumerate(names) if name.startswith(f"{len(WIDE_WHY.free)} free"))
    assert ax.patches[free].get_width() == pytest.approx(float(WIDE_WHY.margin - WIDE_WHY.slack))


def test_names_are_taken_as_they_are():
    why = hostile().explain(HOSTILE_ROW, radius=1, unit="raw")
    for figure in (plots.waterfall(why).figure, plots.shapes(why), plots.frequency([HOSTILE]).figure):
        assert_no_text_overlaps(figure)
        svg = plots.to_svg(figure)
        assert "<script" not in svg
        assert "<img" not in svg
        assert "&lt;script" in svg


def test_an_svg_is_the_same_each_time_and_refers_to_nothing_outside():
    def make():
        return plots.to_svg(plots.shapes(MIXED.explain(MIXED_ROW, radius=2, unit="raw")), "one")

    svg = make()
    assert make() == svg
    assert svg.startswith("<svg ")
    assert "http" not in svg.replace("http://www.w3.org/", "")


def test_fixed_and_free_differ_in_greyscale():
    def luminance(colour):
        return sum(weight * part for weight, part in zip((0.299, 0.587, 0.114), to_rgb(colour), strict=True))

    shades = sorted(luminance(colour) for colour in (plots.DARK, plots.LIGHT, "white"))
    assert min(b - a for a, b in pairwise(shades)) > 0.2

"""Lower hulls, compared with what they are for: the lowest of points, whatever affine function is added to heights."""

from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from suffice.core.convex import on_lower_hull

numbers = st.integers(-6, 6).map(lambda k: fmpq(k, 2))


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=9))
def test_a_point_is_on_the_hull_if_some_line_makes_it_a_lowest(points):
    # Slopes of lines through two points, and those between and beyond them, are all that matter.
    slopes = {(b[1] - a[1]) / (b[0] - a[0]) for a in points for b in points if a[0] != b[0]} or {fmpq(0)}
    for slope in sorted(slopes):
        slopes |= {slope - fmpq(1, 1000), slope + fmpq(1, 1000)}
    slopes |= {min(slopes) - 1, max(slopes) + 1}
    lowest = set()
    for slope in slopes:
        heights = [height - slope * place for place, height in points]
        lowest |= {k for k, height in enumerate(heights) if height == min(heights)}
    assert on_lower_hull(points) == [k in lowest for k in range(len(points))]

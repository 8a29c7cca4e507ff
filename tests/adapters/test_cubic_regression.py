"""Cubic regression splines against SciPy's, which solve for slopes at knots where ours solve for second derivatives."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

from suffice.adapters.cubic_regression import CubicRegression
from suffice.numbers.exact import rational

numbers = st.integers(-50, 50).map(lambda k: k / 8)


@pytest.mark.parametrize("is_cyclic", [False, True])
@given(st.lists(numbers, min_size=4, max_size=12, unique=True).map(sorted), st.data())
def test_a_spline_is_the_one_through_its_values(is_cyclic, knots, data):
    values = data.draw(st.lists(numbers, min_size=len(knots) - is_cyclic, max_size=len(knots) - is_cyclic))
    mine = CubicRegression([rational(k) for k in knots], is_cyclic=is_cyclic).through([rational(v) for v in values])
    whole = [*values, values[0]] if is_cyclic else values
    assert [mine(rational(k)) for k in knots] == [rational(v) for v in whole]
    scipy = CubicSpline(knots, whole, bc_type="periodic" if is_cyclic else "natural")
    places = np.linspace(knots[0], knots[-1], 101)
    found = [float(Fraction(str(mine(rational(float(x)))))) for x in places]
    np.testing.assert_allclose(found, scipy(places), rtol=1e-9, atol=1e-9 * (1 + max(map(abs, scipy(places)))))
    if not is_cyclic:
        for end, step in ((knots[0], -1), (knots[-1], 1)):
            away = float(Fraction(str(mine(rational(end + step)))))
            assert away == pytest.approx(float(scipy(end) + step * scipy(end, 1)), rel=1e-9, abs=1e-8)

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st

from suffice import ReluNetwork, ShapeError
from suffice.shapes.parameters import as_integers, exact_array, rounded_exp


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6))
def test_integers_have_the_exact_values_on_the_smallest_scale(values):
    integers, scale = as_integers(np.array(values))
    assert [Fraction(int(n), 2**scale) for n in integers] == [Fraction(v) for v in values]
    assert scale == 0 or any(int(n) % 2 for n in integers)


@given(st.floats(-700, 700) | st.sampled_from([0.0, 1e-300, -744.9, 709.7]))
def test_exp_is_rounded_correctly_to_float64(w):
    got = Fraction(float(rounded_exp(np.array([w]))[0]))
    assert got == nearest_float(w, mantissa=53, lowest=-1074)


@given(st.floats(-80, 80, width=32))
def test_exp_is_rounded_correctly_to_float32(w):
    got = rounded_exp(np.array([w], dtype=np.float32))
    assert got.dtype == np.float32
    assert Fraction(float(got[0])) == nearest_float(w, mantissa=24, lowest=-149)


def nearest_float(w, mantissa, lowest):
    """exp(w) by the decimal module to many digits, then the nearest multiple of the unit in the last place."""
    with localcontext(getcontext()) as context:
        context.prec, context.Emin, context.Emax = 60, -5000, 5000
        value = Fraction(Decimal(w).exp())
    power = value.numerator.bit_length() - value.denominator.bit_length() - mantissa - 2
    while value / Fraction(2) ** power >= 2**mantissa:
        power += 1
    return round(value / Fraction(2) ** max(power, lowest)) * Fraction(2) ** max(power, lowest)


def test_bfloat16_tensors_are_taken_at_their_value():
    torch = pytest.importorskip("torch", reason="bfloat16 tensors are PyTorch's")
    given_ = torch.tensor([0.1, -3.0], dtype=torch.bfloat16)
    taken = exact_array("weights", given_)
    assert taken.dtype == np.float32
    assert taken.tolist() == [float(given_[0]), float(given_[1])]


def test_arrays_are_copied_and_cannot_be_changed():
    weights = np.array([[1.0]])
    network = ReluNetwork([weights], [None])
    weights[0, 0] = 7.0
    assert network.weights[0][0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        network.weights[0][0, 0] = 2.0


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ([[float("nan")]], r"weights\[0\]\[0, 0\] is nan"),
        ([[1.0], [float("inf")]], r"weights\[0\]\[1, 0\] is inf"),
        ([[1.0], [1.0, 2.0]], "not a rectangular array"),
        ([["one"]], "type"),
        ([[2**60 + 1]], "the integer 1152921504606846977, which a float64 cannot hold"),
        ([[2**53 + 1], [0.5]], "the integer 9007199254740993"),
        (np.array([[2**53 + 1]]), "the integer 9007199254740993"),
        (np.ma.array([[1.0]], mask=[[True]]), "masked entries"),
        ([[1j]], "complex"),
        (np.array([[1.0]], dtype=np.longdouble), "float16, bfloat16, float32 or float64"),
        ([[True]], "bool"),
    ],
)
def test_what_is_not_a_finite_float_is_refused(given_, words):
    with pytest.raises(ShapeError, match=words):
        ReluNetwork([given_], [None])


def test_exponents_beyond_all_floats_take_no_time():
    huge = np.array([-1e30, -1e10, 1e10, 1e300])
    assert rounded_exp(huge).tolist() == [0.0, 0.0, np.inf, np.inf]


def test_flints_precision_is_left_alone():
    before = ctx.prec
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(rounded_exp, [np.linspace(-3, 3, 200)] * 8))
    assert ctx.prec == before

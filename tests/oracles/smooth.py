"""Smooth functions in mpmath, at 240 bits: another library than the one under test."""

from __future__ import annotations

from fractions import Fraction

from mpmath import mp, mpf

BITS = 240
CLOSE = Fraction(1, 2**200)


def number(value):
    """A fraction, a float or a rational of flint in many bits."""
    if hasattr(value, "p"):
        return mpf(int(value.p)) / int(value.q)
    exact = Fraction(value)
    return mpf(exact.numerator) / exact.denominator


def fraction(value):
    """A number of mpmath, exactly."""
    mantissa, exponent = value.man_exp
    return Fraction(int(mantissa) * (-1 if value < 0 and mantissa > 0 else 1)) * Fraction(2) ** int(exponent)


def sigmoid(z):
    return 1 / (1 + mp.exp(-z))


def box_cox(z, power):
    return mp.log(z) if power == 0 else (z**power - 1) / power


def yeo_johnson(z, power):
    return box_cox(1 + z, power) if z >= 0 else -box_cox(1 - z, 2 - power)


def elu(z, alpha, scale=1):
    return scale * z if z > 0 else scale * alpha * mp.expm1(z)


FUNCTIONS = {
    "tanh": lambda z: mp.tanh(z),
    "sigmoid": sigmoid,
    "silu": lambda z: z * sigmoid(z),
    "gelu": lambda z: z * mp.ncdf(z),
    "gelu_tanh": lambda z: z / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (z + mpf(44715) / 10**6 * z**3))),
    "mish": lambda z: z * mp.tanh(mp.log(1 + mp.exp(z))),
    "hardswish": lambda z: z * min(max(z + 3, mpf(0)), mpf(6)) / 6,
    "sine": lambda z: mp.sin(z),
    "softplus": lambda z, beta=1: mp.log(1 + mp.exp(beta * z)) / beta,
    "elu": lambda z, alpha=1: elu(z, alpha),
    "celu": lambda z, alpha=1: z if z > 0 else alpha * mp.expm1(z / alpha),
    "selu": lambda z: elu(z, mpf(1.6732632423543772848), mpf(1.0507009873554804934)),
    "exp": lambda z: mp.exp(z),
    "log": lambda z: mp.log(z),
    "sqrt": lambda z: mp.sqrt(z),
    "box_cox": lambda z, power=1: box_cox(z, power),
    "yeo_johnson": lambda z, power=1: yeo_johnson(z, power),
    "normal_quantile": lambda z: mp.sqrt(2) * mp.erfinv(2 * z - 1),
    "relu": lambda z: max(z, mpf(0)),
    "identity": lambda z: z,
}


class PlainNetwork:
    """A network of one input, layer by layer and unit by unit."""

    def __init__(self, weights, biases, activations):
        self.layers = [
            ([[mpf(float(w)) for w in row] for row in weight], [mpf(float(b)) for b in bias])
            for weight, bias in zip(weights, biases, strict=True)
        ]
        self.activations = [FUNCTIONS[name] for name in activations]

    def __call__(self, at):
        units = [at]
        for k, (weight, bias) in enumerate(self.layers):
            units = [
                sum((w * u for w, u in zip(row, units, strict=True)), b) for row, b in zip(weight, bias, strict=True)
            ]
            if k < len(self.activations):
                units = [self.activations[k](z) for z in units]
        return units[0]


def exactly(function, at):
    """The value of a function at a fraction, off by less than `CLOSE`."""
    with mp.workprec(BITS):
        return fraction(function(number(at)))


def samples(low, high, count):
    """Places of an interval, both ends among them."""
    return [low + (high - low) * Fraction(k, count - 1) for k in range(count)]

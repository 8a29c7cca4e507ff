"""Networks of one input, evaluated one number at a time from the definitions of their activations."""

from __future__ import annotations

from fractions import Fraction

ACTIVATIONS = {
    "relu": lambda z: max(z, Fraction(0)),
    "relu1": lambda z: min(max(z, Fraction(0)), Fraction(1)),
    "relu6": lambda z: min(max(z, Fraction(0)), Fraction(6)),
    "leaky_relu": lambda z: z if z > 0 else Fraction(0.01) * z,
    "hard_tanh": lambda z: min(max(z, Fraction(-1)), Fraction(1)),
    "abs": abs,
    "identity": lambda z: z,
}
CORNERS = {"relu": (0,), "relu1": (0, 1), "relu6": (0, 6), "leaky_relu": (0,), "hard_tanh": (-1, 1), "abs": (0,)}


def exact(array):
    """Nested lists of floats (or an array) as nested lists of fractions."""
    if hasattr(array, "tolist"):
        array = array.tolist()
    return [exact(entry) for entry in array] if isinstance(array, list) else Fraction(array)


class PlainNetwork:
    """A network of one input, evaluated one number at a time."""

    def __init__(self, weights, biases, activations, skips=None, exu=None):
        self.weights = [exact(weight) for weight in weights]
        self.biases = [
            [Fraction(0)] * len(w) if b is None else exact(b) for w, b in zip(self.weights, biases, strict=True)
        ]
        if exu is not None:  # the values of exp(w), as fractions
            bias = self.biases[0] * len(exu) if len(self.biases[0]) == 1 else self.biases[0]
            self.weights[0] = [[grown] for grown in exu]
            self.biases[0] = [-grown * b for grown, b in zip(exu, bias, strict=True)]
        self.activations = [*activations, "identity"]
        self.skips = skips or {}

    def __call__(self, x):
        return self.move(x)[1]

    def move(self, x):
        """Evaluate at x, moving right: each layer's pre-activations as (value, slope) pairs, and the outputs."""
        outputs, inner = [[(x, Fraction(1))]], []
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            layer = []
            for row, b in zip(weight, bias, strict=True):
                value, slope = b, Fraction(0)
                for w, (h, dh) in zip(row, outputs[-1], strict=True):
                    value, slope = value + w * h, slope + w * dh
                layer.append((value, slope))
            inner.append(layer)
            h = [push(self.activations[k], value, slope) for value, slope in layer]
            if k + 1 in self.skips:
                h = [(a + c, b + d) for (a, b), (c, d) in zip(h, outputs[self.skips[k + 1]], strict=True)]
            outputs.append(h)
        return inner, [value for value, _ in outputs[-1]]

    def corners(self, low, high):
        """All places in (low, high) where a unit meets a corner of its activation, by walking from left to right."""
        found, at = [], low
        while True:
            inner, _ = self.move(at)
            ahead = [
                at + (corner - value) / slope
                for name, layer in zip(self.activations, inner, strict=True)
                for value, slope in layer
                for corner in CORNERS.get(name, ())
                if (corner - value) * slope > 0
            ]
            if not ahead or min(ahead) >= high:
                return found
            at = min(ahead)
            found.append(at)

    def minimum(self, low, high):
        return min(self(at)[0] for at in (low, *self.corners(low, high), high))


def push(name, z, slope):
    """Value of an activation, and its slope when z moves with the given slope: a step that meets no corner tells."""
    ahead = [(corner - z) / slope for corner in CORNERS.get(name, ()) if (corner - z) * slope > 0]
    step = min(ahead) / 2 if ahead else Fraction(1)
    function = ACTIVATIONS[name]
    return function(z), (function(z + step * slope) - function(z)) / step

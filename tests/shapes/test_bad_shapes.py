"""Shapes that make no sense get one sentence."""

import math

import numpy as np
import pytest
from builders import RISING, sentence

import suffice
from suffice import (
    Activation,
    PiecewiseLinear,
    ReluNetwork,
    Steps,
    Table,
)

SHAPES = [
    (lambda: ReluNetwork([], []), "1 or more layers, got 0 and 0"),
    (lambda: ReluNetwork([[[1.0]]], []), "got 1 and 0"),
    (
        lambda: ReluNetwork([[[1.0, 2.0]]], [None]),
        r"weights\[0\] has shape \(1, 2\).*\(units, 1\); it looks transposed",
    ),
    (lambda: ReluNetwork([[1.0]], [None]), r"weights\[0\] has shape \(1,\)"),
    (
        lambda: ReluNetwork([[[1.0], [1.0]], [[1.0]]], [None, None]),
        r"weights\[1\] has shape \(1, 1\), but layer 1 has 2 units",
    ),
    (lambda: ReluNetwork([[[1.0]]], [[1.0, 2.0]]), r"biases\[0\] has shape \(2,\)"),
    (lambda: ReluNetwork([[[1.0]]], [[math.nan]]), r"biases\[0\]\[0\] is nan"),
    (lambda: ReluNetwork([[[1.0]], [[1.0]]], [None, None], "gelu"), "unknown activation 'gelu'"),
    (lambda: ReluNetwork([[[1.0]], [[1.0]]], [None, None], ["relu", "relu"]), "2 layers have 1 activations"),
    (
        lambda: ReluNetwork([[[1.0]], [[1.0]]], [None, None], Activation.leaky_relu([0.1, 0.2])),
        "has 2 slopes, but layer 1",
    ),
    (lambda: ReluNetwork([[[1.0]]], [None], skips={1: 1}), "does not lead forward"),
    (lambda: ReluNetwork([[[1.0], [1.0]]], [None], skips={1: 0}), "adds 1 numbers to 2"),
    (lambda: ReluNetwork([np.array([[200.0]], np.float32)], [None], exu=True), "exp overflows"),
    (lambda: ReluNetwork(None, None), "must be lists"),
    (lambda: ReluNetwork([[[1.0]], [[1.0]]], [None, None], None), "activations must be a name"),
    (lambda: ReluNetwork([[[1.0]], [[1.0]]], [None, None], [["relu"]]), "unknown activation"),
    (lambda: ReluNetwork([[[1.0]]], [None], skips={"1": 0}), "two layers by their numbers"),
    (lambda: ReluNetwork([[[1.0]]], [None], skips=5), "skips must be a mapping"),
    (lambda: Activation.relu_n(2**53 + 1), "the n of an activation holds the integer"),
    (lambda: Activation.relu_n("6"), "the n of an activation"),
    (lambda: Steps("12", [1, 2, 3]), "cuts must be a list of numbers, got '12'"),
    (lambda: Steps([0], 5), "values must be a list of numbers, got 5"),
    (lambda: Table([1]), "a table takes a mapping"),
    (lambda: Table({"a": 1}, otherwise="x"), "another shape"),
    (lambda: Activation.relu_n(0), "n = 0"),
    (lambda: Activation.hard_tanh(1, -1), r"\[1, -1\]"),
    (lambda: Activation.leaky_relu(math.nan), "nan"),
    (lambda: Activation.leaky_relu([]), r"shape \(0,\)"),
    (lambda: Steps([1, 1], [0, 0, 0]), r"cuts\[0\] = 1 is followed by 1"),
    (lambda: Steps([1], [0]), "1 cuts make 2 bins, got 1 values"),
    (lambda: Steps([1], [0, math.inf]), r"values\[1\]: inf"),
    (lambda: Steps([1], [0, [1, 2]]), "same number of outputs"),
    (lambda: Steps([1], [[], []]), "empty"),
    (lambda: Steps([1], [0, 1], closed="both"), "'left' or 'right', got 'both'"),
    (lambda: PiecewiseLinear([], []), "got 0 and 0"),
    (lambda: PiecewiseLinear([0], [[1, 2]], left_slope=[1, 2, 3]), "left_slope has 3 entries for 2 outputs"),
    (lambda: Table({}), "no entries"),
    (lambda: Table({"a": 1, "b": [1, 2]}), "same number of outputs"),
    (lambda: Table({math.nan: 1}), "table key: nan"),
    (lambda: Table({None: 1}), "table key: None is not a number"),
    (lambda: RISING + Steps([0], [[1, 2], [3, 4]]), "shapes with 1 and 2 outputs"),
    (lambda: RISING.rescaled(0, 0), "scale of 0"),
]


@pytest.mark.parametrize(("build", "words"), SHAPES, ids=lambda v: v if isinstance(v, str) else "given")
def test_shapes(build, words):
    with pytest.raises(suffice.ShapeError, match=words) as error:
        build()
    sentence(error)

"""Functions of one variable: their descriptions, and the exact pieces they compile to."""

from suffice.shapes.activations import Activation
from suffice.shapes.network import Readout, ReluNetwork
from suffice.shapes.pieces import Pieces
from suffice.shapes.shape import PieceBudget, Shape, Support
from suffice.shapes.tables import PiecewiseLinear, Steps, Table

__all__ = [
    "Activation",
    "PieceBudget",
    "Pieces",
    "PiecewiseLinear",
    "Readout",
    "ReluNetwork",
    "Shape",
    "Steps",
    "Support",
    "Table",
]

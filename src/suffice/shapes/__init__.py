"""Functions of one variable and of two: their descriptions, and the exact pieces they compile to."""

from suffice.shapes.activations import Activation
from suffice.shapes.curves import Curves
from suffice.shapes.enclosed import Enclosed
from suffice.shapes.function import Function
from suffice.shapes.network import Readout, ReluNetwork
from suffice.shapes.pair_pieces import PairPieces
from suffice.shapes.pair_shape import PairShape
from suffice.shapes.pair_tables import Bins, PairLinear, PairSteps
from suffice.shapes.pieces import Pieces
from suffice.shapes.polynomial import PiecewisePolynomial
from suffice.shapes.product import Product
from suffice.shapes.shape import PieceBudget, Shape, Support
from suffice.shapes.smooth import Composed, Smooth, SmoothNetwork
from suffice.shapes.smooth_functions import SmoothFunction
from suffice.shapes.tables import PiecewiseLinear, Steps, Table

__all__ = [
    "Activation",
    "Bins",
    "Composed",
    "Curves",
    "Enclosed",
    "Function",
    "PairLinear",
    "PairPieces",
    "PairShape",
    "PairSteps",
    "PieceBudget",
    "Pieces",
    "PiecewiseLinear",
    "PiecewisePolynomial",
    "Product",
    "Readout",
    "ReluNetwork",
    "Shape",
    "Smooth",
    "SmoothFunction",
    "SmoothNetwork",
    "Steps",
    "Support",
    "Table",
]

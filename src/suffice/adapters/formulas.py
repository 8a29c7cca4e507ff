"""Formulas as patsy reads them: each column of a design as a function of one variable, or a product of two of these.

In: what patsy knows of a fitted formula. Out: the columns of its design, over the user's variables. A factor is read
from its code: arithmetic with numbers, NumPy's functions that are known, and of patsy's `center`, `scale`, `bs`, `cr`,
`cc`. The fitted model is asked about all of it afterwards, so what is misread here is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy.linalg import qr

from suffice.adapters.assemble import IDENTITY, compose
from suffice.adapters.b_splines import b_spline
from suffice.adapters.column import Column, Finite, Numeric, Times
from suffice.adapters.cubic_regression import CubicRegression
from suffice.adapters.draft import Cell
from suffice.adapters.functions import known_function
from suffice.errors import AdapterError
from suffice.numbers.exact import ONE, ZERO, Rational, rational
from suffice.shapes import Function, Pieces, PiecewisePolynomial
from suffice.shapes.combining import combined
from suffice.shapes.polynomial import HIGHEST_DEGREE


class Formula(NamedTuple):
    """The variables of a formula, the columns of its design that vary, and those that do not."""

    names: list[str]
    columns: list[Column | Times]
    constants: dict[int, float]
    width: int


def read_formula(spec: Any, known: Collection[str], source: str) -> Formula:
    """Return the design of a formula that patsy has read; `known` are the columns that the user's table has."""
    names: list[str] = []
    factors = {factor: _Factor(factor, info, known, names, source) for factor, info in spec.factor_infos.items()}
    columns: list[Column | Times] = []
    constants: dict[int, float] = {}
    count = 0
    for term in spec.terms:
        for part in spec.term_codings[term]:
            each = [factors[factor].columns(part.contrast_matrices.get(factor)) for factor in part.factors]
            for chosen in product(*reversed(each)):  # the first factor's columns vary fastest
                if chosen:
                    columns.append(_product(chosen[::-1], f"{source} has {term.name()} in its formula, which"))
                else:
                    constants[count] = 1.0
                count += 1
    return Formula(names, columns, constants, count)


def _product(columns: Sequence[Column], what: str) -> Column | Times:
    if len(columns) == 1:
        return columns[0]
    if len(columns) > 2:
        raise AdapterError(f"{what} multiplies {len(columns)} factors; products of two are read, so leave it out")
    first, second = columns
    if first.source == second.source:
        raise AdapterError(f"{what} multiplies two functions of one variable; compute it as a column of its own first")
    return Times(first, second)


class _Value(NamedTuple):
    """A function of a variable, and the numbers between which it is one."""

    function: Function
    low: Rational | None = None
    high: Rational | None = None


_ITSELF = _Value(IDENTITY)


def splines(
    place: int, knots: Any, degree: int, weights: Any, inner: _Value = _ITSELF, what: str = "the formula"
) -> list[Column]:
    """Return B-splines of a variable, one for each column of weights; beyond their knots they are not defined."""
    if not 1 <= degree <= HIGHEST_DEGREE:
        raise AdapterError(f"{what} has splines of degree {degree}; use a degree from 1 to {HIGHEST_DEGREE}")
    every = [rational(float(knot)) for knot in np.sort(np.asarray(knots, dtype=np.float64))]
    within = _within(inner, every[degree], every[-degree - 1], what)
    made: list[Column] = []
    for column in np.asarray(weights, dtype=np.float64).T:
        curve = b_spline(every, degree, [rational(float(weight)) for weight in column], "continue")
        made.append(Numeric(place, compose(curve, inner.function), None, None, "", within.low, within.high))
    return made


def cubic_regressions(
    place: int, state: Any, weights: Any = None, inner: _Value = _ITSELF, what: str = "the formula"
) -> list[Column]:
    """Return the splines of patsy's `cr` or `cc`, one for each column of weights, or for each that it makes itself.

    A cyclic one repeats for ever, which has no end of pieces: it is read over one period.
    """
    knots = [rational(float(knot)) for knot in state._all_knots]
    if len(knots) < 3 + state._cyclic or any(a == b for a, b in pairwise(knots)):
        raise AdapterError(
            f"{what} has splines with {len(knots)} knots, of which some are equal or too few; use another df"
        )
    curves = CubicRegression(knots, is_cyclic=bool(state._cyclic))
    within = _within(inner, knots[0], knots[-1], what) if state._cyclic else inner
    chosen = np.eye(curves.count) if weights is None else np.asarray(weights, dtype=np.float64)
    if state._constraints is not None:
        # The values that obey the constraints, in the coordinates that patsy takes for them.
        chosen = qr(np.transpose(state._constraints))[0][:, len(state._constraints) :]
    made: list[Column] = []
    for column in chosen.T:
        curve = curves.through([rational(float(weight)) for weight in column])
        made.append(Numeric(place, compose(curve, inner.function), None, None, "", within.low, within.high))
    return made


def _within(value: _Value, low: Rational | None, high: Rational | None, what: str) -> _Value:
    """Return a function on the part of the line on which it is between two numbers."""
    line, ends = value.function, [low, high]
    if ends == [None, None]:
        return value
    if not isinstance(line, Pieces) or line.knots or not line.slopes[0]:
        raise AdapterError(f"{what} has a function of something that is no line; compute it as a column of its own")
    slope, offset = line.slopes[0], line.offsets[0]
    found = [None if end is None else (end - offset) / slope for end in ends]
    low, high = found if slope > 0 else found[::-1]
    lows = [end for end in (low, value.low) if end is not None]
    highs = [end for end in (high, value.high) if end is not None]
    return _Value(line, max(lows) if lows else None, min(highs) if highs else None)


class _Factor:
    """One factor of a formula: which variable it is about, and what it makes of it."""

    def __init__(self, factor: Any, info: Any, known: Collection[str], names: list[str], source: str) -> None:
        self._what, self._info, self._known = f"{source} has {factor.code} in its formula, which", info, known
        self._namespace: Mapping[str, Any] = info.state["eval_env"].namespace
        self._variables: set[str] = set()
        tree: Any = ast.parse(info.state["eval_code"], mode="eval").body
        while _calls(tree, "I", "C"):
            tree = tree.args[0]
        self._tree = tree
        self._made = self._numbers(tree) if info.type == "numerical" else self._levels(tree)
        if len(self._variables) != 1:
            self._refuse(f"is made of {' and '.join(sorted(self._variables)) or 'no variable'}")
        (name,) = self._variables
        if name not in names:
            names.append(name)
        self._place = names.index(name)

    def columns(self, coding: Any) -> list[Column]:
        """Return the columns of this factor, those of a categorical one in some coding."""
        return self._made(self._place, None if coding is None else np.asarray(coding.matrix, dtype=np.float64))

    def _refuse(self, why: str) -> NoReturn:
        raise AdapterError(f"{self._what} {why}; compute it as a column of its own first")

    # --- categories ---------------------------------------------------------------------------------------------------

    def _levels(self, tree: Any) -> Callable[[int, Any], list[Column]]:
        if isinstance(tree, ast.Compare) and len(tree.ops) == 1:
            return self._steps(tree)
        value = self._value(tree)
        if not isinstance(value, _Value) or value.function is not IDENTITY:
            self._refuse("makes categories of a variable")
        cells: dict[Cell, Any] = {one if isinstance(one, str) else float(one): one for one in self._info.categories}
        return lambda place, coding: [
            Finite(place, cells, dict(zip(cells, column, strict=True))) for column in coding.T.tolist()
        ]

    def _steps(self, tree: ast.Compare) -> Callable[[int, Any], list[Column]]:
        """Return what a comparison of a variable with a number makes."""
        sides = [self._value(tree.left), self._value(tree.comparators[0])]
        operator = type(tree.ops[0])
        if isinstance(sides[1], _Value):
            sides.reverse()
            operator = _TURNED.get(operator, operator)
        line, place_of_jump = sides
        if not isinstance(line, _Value) or isinstance(place_of_jump, _Value) or line.function is not IDENTITY:
            self._refuse("compares something else than a variable with a number")
        if operator not in _COMPARED:
            self._refuse("compares in a way that is not known here")
        truths = _COMPARED[operator]

        def made(place: int, coding: Any) -> list[Column]:
            columns: list[Column] = []
            for column in coding.T.tolist():
                below, at, above = (rational(column[is_true]) for is_true in truths)
                step = Pieces((place_of_jump,), (ZERO, ZERO), (below, above), (at,))
                columns.append(Numeric(place, step, None, None))
            return columns

        return made

    # --- numbers ------------------------------------------------------------------------------------------------------

    def _numbers(self, tree: Any) -> Callable[[int, Any], list[Column]]:
        state = self._state(tree)
        if state is not None and type(state).__name__ == "BS":
            inner = self._value(tree.args[0])
            assert isinstance(inner, _Value)
            told = {one.arg: ast.literal_eval(one.value) for one in tree.keywords if one.arg == "include_intercept"}
            count = len(state._all_knots) - state._degree - 1
            weights = np.eye(count)[:, 0 if told.get("include_intercept") else 1 :]
            knots, degree = state._all_knots, int(state._degree)
            return lambda place, coding: splines(place, knots, degree, weights, inner, self._what)
        if state is not None and type(state).__name__ in ("CR", "CC"):
            around = self._value(tree.args[0])
            assert isinstance(around, _Value)
            return lambda place, coding: cubic_regressions(place, state, None, around, self._what)
        value = self._value(tree)
        if not isinstance(value, _Value):
            self._refuse("is a constant")
        return lambda place, coding: [Numeric(place, value.function, None, None, "", value.low, value.high)]

    def _state(self, tree: Any) -> Any:
        """Return the transform that patsy keeps the state of, where a call is one of it."""
        is_method = (
            isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute) and tree.func.attr == "transform"
        )
        owner = tree.func.value if is_method else None
        return self._info.state["transforms"].get(owner.id) if isinstance(owner, ast.Name) else None

    def _value(self, tree: Any) -> Rational | _Value:
        """Return what an expression is: a number, or a function of the variable."""
        if isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)):
            return rational(tree.value)
        if isinstance(tree, ast.Name):
            constant = self._namespace.get(tree.id)
            if tree.id not in self._known and isinstance(constant, (int, float, np.number)):
                return rational(float(constant))
            self._variables.add(tree.id)
            return _ITSELF
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, (ast.USub, ast.UAdd)):
            return self._line(self._value(tree.operand), -ONE if isinstance(tree.op, ast.USub) else ONE, ZERO)
        if isinstance(tree, ast.BinOp):
            return self._arithmetic(type(tree.op), self._value(tree.left), self._value(tree.right))
        if _calls(tree, "I"):
            return self._value(tree.args[0])
        if _calls(tree, "Q") and isinstance(tree.args[0], ast.Constant):
            self._variables.add(str(tree.args[0].value))
            return _ITSELF
        if isinstance(tree, ast.Call):
            return self._called(tree)
        return self._refuse("is not known here")

    def _line(self, value: Rational | _Value, slope: Rational, offset: Rational) -> Rational | _Value:
        if not isinstance(value, _Value):
            return slope * value + offset
        return value._replace(function=compose(Pieces.affine(slope, offset), value.function))

    def _arithmetic(self, kind: type, a: Rational | _Value, b: Rational | _Value) -> Rational | _Value:
        if kind is ast.Sub:
            return self._arithmetic(ast.Add, a, self._line(b, -ONE, ZERO))
        if kind is ast.Mult and not isinstance(a, _Value):
            a, b = b, a
        if isinstance(a, _Value) and isinstance(b, _Value):
            if kind is not ast.Add:
                self._refuse("multiplies or divides functions of variables")
            both = _within(_Value(IDENTITY, a.low, a.high), b.low, b.high, self._what)
            return both._replace(function=combined([(ONE, a.function), (ONE, b.function)]))
        if kind is ast.Add:
            return self._line(a, ONE, b) if not isinstance(b, _Value) else self._line(b, ONE, a)  # type: ignore[arg-type]
        if isinstance(b, _Value) or (kind is ast.Div and b == 0):
            return self._refuse("divides by a variable, or is a power of a constant")
        if kind in (ast.Mult, ast.Div):
            return self._line(a, b if kind is ast.Mult else 1 / b, ZERO)
        if kind is ast.Pow and isinstance(a, _Value) and b in range(1, HIGHEST_DEGREE + 1):
            (curve,) = PiecewisePolynomial([], [[0] * int(b.p) + [1]]).compile()
            return a._replace(function=compose(curve, a.function))
        return self._refuse("has an operation that is not known here")

    def _called(self, tree: ast.Call) -> Rational | _Value:
        state, given = self._state(tree), [self._value(one) for one in tree.args]
        if state is not None and len(given) == 1:
            slope, offset = self._standardised(state, tree)
            return self._line(given[0], slope, offset)
        func = self._function(tree.func)
        name = getattr(func, "__name__", "")
        if not (isinstance(func, np.ufunc) or getattr(func, "__module__", "").startswith("numpy")) or not given:
            self._refuse(f"calls {ast.unparse(tree.func)}, which is not known here")
        told = {one.arg: ast.literal_eval(one.value) for one in tree.keywords if one.arg is not None}
        if name in ("power", "square") and isinstance(given[0], _Value):
            return self._arithmetic(ast.Pow, given[0], given[1] if name == "power" else rational(2))
        if name in ("minimum", "maximum", "clip"):
            given, told = self._clip(name, given, told)
            name = "clip"
        value, found = given[0], known_function(name, told) if len(given) == 1 else None
        if found is None or found.pieces is None or not isinstance(value, _Value):
            self._refuse(f"calls {ast.unparse(tree.func)} in a way that is not known here")
        low, high = (None if end is None else rational(end) for end in found.ends)
        within = _within(value, low, high, self._what)
        return within._replace(function=compose(found.pieces, within.function))

    def _clip(self, name: str, given: list[Any], told: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of NumPy's `minimum`, `maximum` and `clip` as those of `clip` by name."""
        numbers = [float(one.p) / float(one.q) for one in given if not isinstance(one, _Value)]
        values = [one for one in given if isinstance(one, _Value)]
        if name == "clip":
            return values, told | dict(zip(("a_min", "a_max"), numbers, strict=False))
        if len(values) != 1 or len(numbers) != 1:
            self._refuse(f"has a {name} of two variables")
        return values, {"a_max" if name == "minimum" else "a_min": numbers[0]}

    def _function(self, tree: Any) -> Any:
        if isinstance(tree, ast.Attribute) and isinstance(tree.value, ast.Name):
            return getattr(self._namespace.get(tree.value.id), tree.attr, None)
        return self._namespace.get(tree.id) if isinstance(tree, ast.Name) else None

    def _standardised(self, state: Any, tree: ast.Call) -> tuple[Rational, Rational]:
        """Return the line that `center`, `scale` or `standardize` is."""
        kind = type(state).__name__
        if kind == "Center":
            return ONE, -rational(float(np.ravel(state._sum / state._count)[0]))
        if kind != "Standardize":
            self._refuse(f"calls {kind.lower()}, which is not known here")
        told = {one.arg: ast.literal_eval(one.value) for one in tree.keywords}
        spread = np.sqrt(state.current_M2 / (state.current_n - told.get("ddof", 0)))
        factor = 1 / rational(float(np.ravel(spread)[0])) if told.get("rescale", True) else ONE
        mean = rational(float(np.ravel(state.current_mean)[0])) if told.get("center", True) else ZERO
        return factor, -mean * factor


# What a comparison is below a number, at it and above it.
_COMPARED: Mapping[type, tuple[bool, bool, bool]] = {
    ast.Gt: (False, False, True),
    ast.GtE: (False, True, True),
    ast.Lt: (True, False, False),
    ast.LtE: (True, True, False),
    ast.Eq: (False, True, False),
    ast.NotEq: (True, False, True),
}
_TURNED: Mapping[type, type] = {ast.Gt: ast.Lt, ast.Lt: ast.Gt, ast.GtE: ast.LtE, ast.LtE: ast.GtE}


def _calls(tree: Any, *names: str) -> bool:
    return isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in names and bool(tree.args)

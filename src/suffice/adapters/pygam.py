"""pyGAM: lines, factors, and splines: of order 0 steps, of order 1 broken lines, of higher orders curves.

A periodic spline (`basis="cp"`) is read over one period, the range of its edge knots. Beyond, the package begins it
anew, but fails next to the seam.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.assemble import IDENTITY, step_pieces, to_shape
from suffice.adapters.b_splines import b_spline
from suffice.adapters.cells import class_places, float_table
from suffice.adapters.draft import Cell, Draft, Link, Live, Options, name_features, part, with_domain
from suffice.adapters.floats import first_at_least
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain
from suffice.numbers.exact import ONE, ZERO, Rational, rational
from suffice.shapes import Function, Pieces, PiecewiseLinear, Shape, Table
from suffice.shapes.combining import combined
from suffice.shapes.polynomial import HIGHEST_DEGREE

_TASKS = {"logit": "binary", "identity": "regression", "log": "regression"}


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a fitted GAM."""
    source = f"the {type(obj).__name__}"
    weights = np.asarray(part(obj, "coef_", source))
    link = str(getattr(obj.link, "_name", obj.link))
    if link not in _TASKS:
        raise AdapterError(f"{source} has the link {link!r}; those read are {', '.join(_TASKS)}")
    count = int(obj.statistics_["m_features"])
    parts: list[list[tuple[Rational, Function]]] = [[] for _ in range(count)]
    domains = [Domain.reals() for _ in range(count)]
    levels: dict[int, dict[float, Rational]] = {}
    intercept = ZERO
    for k, term in enumerate(obj.terms):
        mine = [rational(float(weight)) for weight in weights[obj.terms.get_coef_indices(k)]]
        if type(term).__name__ == "Intercept":
            intercept += mine[0]
        elif type(term).__name__ == "FactorTerm":
            levels[int(term.feature)] = _add(levels.get(int(term.feature)), _levels(term, mine))
        else:
            place = _feature(term, source)
            parts[place].append((ONE, _term(term, mine)))
            domains[place] = _within_period(term, domains[place], source)
    read = [_assemble(parts[k], levels.get(k), domains[k]) for k in range(count)]
    features = [
        with_domain(feature, domain)
        for feature, (_, domain) in zip(name_features(None, count, options.features), read, strict=True)
    ]
    # predict is mu > 0.5, so a tie is the negative class.
    model = AdditiveModel([s for s, _ in read], intercept, _TASKS[link], features, options.classes, ties="negative")
    predicts: Link = "exp" if link == "log" else "score"
    return Draft(model, source, _live(obj), predicts=predicts, answers=_answers(obj, link), table=float_table)


def _feature(term: Any, source: str) -> int:
    kind = type(term).__name__
    if kind not in ("LinearTerm", "SplineTerm") or getattr(term, "by", None) is not None:
        what = "a term with by=" if getattr(term, "by", None) is not None else f"a {kind}"
        raise AdapterError(f"{source} has {what} ({term!r}), which is not a function of one feature; leave it out")
    if kind == "SplineTerm" and (term.spline_order > HIGHEST_DEGREE or term.basis not in ("ps", "cp")):
        raise AdapterError(
            f"{source} has the term {term!r} of order {term.spline_order}, basis {term.basis!r}; those read have "
            f"basis='ps' or 'cp' and spline_order={HIGHEST_DEGREE} or less"
        )
    return int(term.feature)


def _term(term: Any, weights: Sequence[Rational]) -> Function:
    if type(term).__name__ == "LinearTerm":
        return combined([(weights[0], IDENTITY)])
    low, high = sorted(float(edge) for edge in (term.edge_knots_[0], term.edge_knots_[-1]))
    scale = (high - low) or 1.0
    # The first splines of a periodic basis come in again at its end.
    weights = [*weights, *(weights[: term.spline_order] if term.basis == "cp" else ())]
    if term.spline_order == 0:
        # Bins between float knots over the scaled input, the last a little longer; nothing outside.
        knots = np.linspace(0, 1, 1 + len(weights))
        knots[-1] += 1e-9
        cuts = first_at_least(lambda values: (values - low) / scale, knots)
        return step_pieces(cuts, [ZERO, *weights, ZERO], "left")
    if term.spline_order > 1:
        # Knots as the package makes them, in units of the range of the data; beyond it goes on along the tangent.
        base = np.linspace(0, 1, 1 + len(weights) - term.spline_order)
        more = np.arange(1, term.spline_order + 1) * np.diff(base[:2])[0]
        every = np.r_[-more[::-1], base, 1 + more]
        every[-1] += 1e-9
        curve = b_spline([rational(float(knot)) for knot in every], int(term.spline_order), weights, "linear")
        return curve.rescaled(rational(low), rational(scale))
    knots = np.linspace(0, 1, len(weights))
    places = [rational(float(knot)) for knot in knots]
    left, right = ((weights[b] - weights[a]) / (places[b] - places[a]) for a, b in ((0, 1), (-2, -1)))
    (line,) = PiecewiseLinear(places, weights, left, right).compile()
    return line.rescaled(rational(low), rational(scale))


def _levels(term: Any, weights: Sequence[Rational]) -> dict[float, Rational]:
    """Return the value of each level: whole numbers, each in the middle of its bin."""
    first = round(float(term.edge_knots_[0]) + 0.5)
    values = list(weights) if term.coding == "one-hot" else [ZERO, *weights]
    return {float(first + k): value for k, value in enumerate(values)}


def _add(known: dict[float, Rational] | None, more: dict[float, Rational]) -> dict[float, Rational]:
    return more if known is None else {level: known[level] + more[level] for level in known if level in more}


def _within_period(term: Any, domain: Domain, source: str) -> Domain:
    """Return a domain within one period of a term: what repeats for ever has no end of pieces."""
    if getattr(term, "basis", None) != "cp":
        return domain
    low, high = sorted(rational(float(edge)) for edge in (term.edge_knots_[0], term.edge_knots_[-1]))
    span = domain.spans[0].cut(low, high)
    if span is None or low == high:
        raise AdapterError(
            f"{source} has the term {term!r}, whose period shares no numbers with the feature's; leave it out"
        )
    return Domain((span,))


def _assemble(
    parts: Sequence[tuple[Rational, Function]], levels: dict[float, Rational] | None, domain: Domain
) -> tuple[Shape, Domain]:
    summed = combined([(ONE, Pieces.affine(ZERO, ZERO)), *parts])
    if levels is None:
        return to_shape([summed]), domain
    within = [level for level in levels if domain.holds(rational(level))]
    entries: dict[Any, Any] = {level: levels[level] + summed(rational(level)) for level in within}
    return Table(entries), Domain.categories(*entries)


def _live(obj: Any) -> Live:
    def predict(rows: list[list[Cell]]) -> NDArray[Any]:
        return np.asarray(obj._linear_predictor(float_table(rows)))

    return predict


def _answers(obj: Any, link: str) -> Live | None:
    """Return how to ask for labels or means; a plain GAM with the logit link predicts probabilities."""
    if link != "logit":
        return lambda rows: np.asarray(obj.predict(float_table(rows)))
    if not any(kind.__name__ == "LogisticGAM" for kind in type(obj).__mro__):
        return None
    return lambda rows: class_places(obj.predict(float_table(rows)), [False, True])

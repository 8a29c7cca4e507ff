"""APLR: regressors and classifiers; sums of hinges `max(x - t, 0)`, `min(x - t, 0)` and lines, some of them gated.

A term of an interaction is the hinge of one feature where those of some others are not 0, and 0 elsewhere. Where these
gates are about one other feature the term is a product, of a broken line and a step function. APLR takes what is within
2^-52 of 0 for 0 there, so that a gate opens at the first float whose distance from its knot is larger.
The names of terms round their knots to six digits; the terms themselves do not. A regressor's own predictions are cut
to the range of its training target unless it is told otherwise; what is taken over is the sum itself. Of several
classes the one with the largest sigmoid wins, so that all large scores are alike to APLR: see `Draft.saturates`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.adapters.assemble import IDENTITY, to_shape
from suffice.adapters.cells import class_places, float_table, plain_classes
from suffice.adapters.decisions import clipped_logistic
from suffice.adapters.draft import Cell, Draft, Link, Live, Options, name_features, part
from suffice.adapters.floats import first_at_least, last_at_most
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel
from suffice.model.term import Term
from suffice.numbers.exact import ONE, ZERO, Rational, rational
from suffice.shapes import Pieces, Product
from suffice.shapes.pieces import combine

_LINKS: dict[str, Link] = {"identity": "score", "log": "exp", "logit": "sigmoid"}


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a fitted regressor or classifier."""
    source = f"the {type(obj).__name__}"
    count = int(part(obj, "n_features_in_", source))
    is_classifier = hasattr(obj, "get_categories")
    classes = list(obj.get_categories()) if is_classifier else []
    # Of two classes the second one's model decides; of several each has its own, and the most probable wins.
    parts = [obj.get_logit_model(name) for name in (classes[1:] if len(classes) == 2 else classes)] or [obj]
    link = _link(obj, source) if not is_classifier else "score"
    read = [_read(one, count, source) for one in parts]
    shapes = [to_shape([one.alone[k] for one in read]) for k in range(count)]
    terms = [Term(k, shape) for k, shape in enumerate(shapes)]
    terms += [term for j, one in enumerate(read) for term in _products(one.gated, j, len(read))]
    task = "regression" if not is_classifier else "binary" if len(classes) == 2 else "multiclass"
    features = name_features(getattr(obj, "feature_names_in_", None), count, options.features)
    known = options.classes or plain_classes(classes) or None
    model = AdditiveModel.of_terms(terms, [one.intercept for one in read], task, features, known, ties="negative")
    live = _live(obj, parts, is_classifier=is_classifier)
    if not is_classifier:
        return Draft(model, source, live, link, table=float_table, curve=_cut(obj))
    return Draft(
        model,
        source,
        live,
        predicts="sigmoid",
        answers=_answers(obj, classes),
        saturates="both" if len(classes) > 2 else None,
        response=clipped_logistic if len(classes) == 2 else None,
        table=float_table,
    )


def _link(obj: Any, source: str) -> Link:
    if obj.link_function not in _LINKS:
        raise AdapterError(f"{source} has the link {obj.link_function!r}; those read are {', '.join(_LINKS)}")
    return _LINKS[obj.link_function]


class _Sum(NamedTuple):
    """One score: the function of each feature, those under gates of another feature, and the intercept."""

    alone: list[Pieces]
    gated: Mapping[tuple[int, int], Sequence[tuple[Pieces, Pieces]]]  # by both features: functions, and their gates
    intercept: Rational


def _read(obj: Any, count: int, source: str) -> _Sum:
    parts: list[list[tuple[Rational, Pieces]]] = [[(ONE, Pieces.affine(ZERO, ZERO))] for _ in range(count)]
    gated: dict[tuple[int, int], list[tuple[Pieces, list[tuple[Rational, Pieces]]]]] = {}
    for term in _terms(obj, source):
        base, gates = term.base_term, _gates(term, source)
        if any(not 0 <= feature < count for feature in (base, *gates)):
            raise AdapterError(f"{source} has encoded columns of its own; encode categories before fitting it")
        others = [feature for feature in gates if feature != base]
        if len(others) > 1:
            raise AdapterError(
                f"{source} has a term over {len(others) + 1} features ({term.predictor_affiliation}), of which one or "
                "two can be explained exactly; fit it with max_interaction_level=1, or 0"
            )
        weighted = rational(float(term.coefficient)), _through(_hinge(term), gates.get(base, ()))
        if not others:
            parts[base].append(weighted)
            continue
        gate = _through(Pieces.affine(ZERO, ONE), gates[others[0]])
        known = gated.setdefault((base, others[0]), [])
        same = next((functions for one, functions in known if one == gate), None)
        if same is None:
            known.append((gate, [weighted]))
        else:
            same.append(weighted)
    summed = {pair: [(combine(functions), gate) for gate, functions in each] for pair, each in gated.items()}
    return _Sum([combine(each) for each in parts], summed, rational(float(obj.get_intercept())))


def _gates(term: Any, source: str) -> dict[int, list[Pieces]]:
    """Return by feature what must not be 0 for a term to count, as functions that are 1 there and 0 elsewhere."""
    found: dict[int, list[Pieces]] = {}
    for given in term.given_terms:
        if given.given_terms:
            raise AdapterError(f"{source} has gates with gates of their own; fit it with max_interaction_level=1, or 0")
        found.setdefault(given.base_term, []).append(_gate(given))
    return found


def _gate(given: Any) -> Pieces:
    nothing = np.finfo(np.float64).eps
    if np.isnan(given.split_point):
        end = rational(float(nothing))
        return Pieces((-end, end), (ZERO, ZERO, ZERO), (ONE, ZERO, ONE), (ZERO, ZERO))
    knot, least = float(given.split_point), np.array([np.nextafter(nothing, np.inf)])
    if given.direction_right:
        (place,) = first_at_least(lambda values: values - knot, least)
        return Pieces((place,), (ZERO, ZERO), (ZERO, ONE), (ONE,))
    (place,) = last_at_most(lambda values: values - knot, -least)
    return Pieces((place,), (ZERO, ZERO), (ONE, ZERO), (ONE,))


def _through(function: Pieces, gates: Iterable[Pieces]) -> Pieces:
    """Return a function where all gates are 1, and 0 elsewhere."""
    for gate in gates:
        knots = sorted({*function.knots, *gate.knots})
        after = [None, *knots]  # a stretch begins there, or nowhere
        open_ = [gate.offsets[0 if at is None else gate.segment_after(at)] for at in after]
        here = [0 if at is None else function.segment_after(at) for at in after]
        function = Pieces.tidy(
            knots,
            [function.slopes[k] * one for k, one in zip(here, open_, strict=True)],
            [function.offsets[k] * one for k, one in zip(here, open_, strict=True)],
            [function(knot) * gate(knot) for knot in knots],
        )
    return function


def _products(gated: Mapping[tuple[int, int], Sequence[tuple[Pieces, Pieces]]], j: int, outputs: int) -> Iterable[Term]:
    """Return the terms over two features of one of several scores."""
    for pair, each in gated.items():
        for function, gate in each:
            own = [function if k == j else Pieces.affine(ZERO, ZERO) for k in range(outputs)]
            yield Term(pair, Product(to_shape(own), to_shape([gate] * outputs)))


def _terms(obj: Any, source: str) -> Sequence[Any]:
    core = getattr(obj, "APLRRegressor", obj)
    lists = [held for held in core.__getstate__() if isinstance(held, list) and held]
    found = [held for held in lists if type(held[0]).__name__ == "Term"]
    if len(found) != 1:
        raise AdapterError(f"{source} has no terms; it is not fitted, or found nothing to learn")
    return list(found[0])


def _hinge(term: Any) -> Pieces:
    if np.isnan(term.split_point):
        return IDENTITY
    knot = rational(float(term.split_point))
    rising = (fmpq(0), fmpq(1)) if term.direction_right else (fmpq(1), fmpq(0))
    return Pieces((knot,), rising, tuple(-slope * knot for slope in rising), (ZERO,))


def _live(obj: Any, parts: Sequence[Any], *, is_classifier: bool) -> Live:
    def predict(rows: list[list[Cell]]) -> NDArray[Any]:
        table = float_table(rows)
        if not is_classifier:
            return np.asarray(obj.predict(table, False))
        # Its probabilities are cut at scores of -16 and 16; the parts that it adds up are not.
        sums = [one.calculate_local_feature_contribution(table).sum(axis=1) + one.get_intercept() for one in parts]
        return np.stack(sums, axis=1)

    return predict


def _cut(obj: Any) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return what `predict` makes of the sum: no less and no more than in training."""
    core = getattr(obj, "APLRRegressor", obj)
    low, high = (getattr(core, f"{end}_training_prediction_or_response") for end in ("min", "max"))
    return lambda values: np.clip(values, low, high)


def _answers(obj: Any, classes: Sequence[Any]) -> Live:
    def predict(rows: list[list[Cell]]) -> NDArray[Any]:
        return class_places(obj.predict(float_table(rows)), classes)

    return predict

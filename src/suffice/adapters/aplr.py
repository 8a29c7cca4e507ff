"""APLR: regressors and classifiers without interactions; sums of hinges `max(x - t, 0)`, `min(x - t, 0)` and lines.

The names of terms round their knots to six digits; the terms themselves do not. A regressor's own predictions are cut
to the range of its training target unless it is told otherwise; what is taken over is the sum itself. Of several
classes the one with the largest sigmoid wins, so that all large scores are alike to APLR: see `Draft.saturates`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.adapters.assemble import IDENTITY, to_shape
from suffice.adapters.cells import class_places, float_table, plain_classes
from suffice.adapters.draft import Cell, Draft, Link, Live, Options, name_features, part
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel
from suffice.numbers.exact import ONE, ZERO, Rational, rational
from suffice.shapes import Pieces
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
    shapes = [to_shape([functions[k] for functions, _ in read]) for k in range(count)]
    task = "regression" if not is_classifier else "binary" if len(classes) == 2 else "multiclass"
    features = name_features(getattr(obj, "feature_names_in_", None), count, options.features)
    known = options.classes or plain_classes(classes) or None
    model = AdditiveModel(shapes, [offset for _, offset in read], task, features, known, ties="negative")
    live = _live(obj, parts, is_classifier=is_classifier)
    if not is_classifier:
        return Draft(model, source, live, link, table=float_table)
    return Draft(
        model,
        source,
        live,
        predicts="sigmoid",
        answers=_answers(obj, classes),
        saturates="both" if len(classes) > 2 else None,
        table=float_table,
    )


def _link(obj: Any, source: str) -> Link:
    if obj.link_function not in _LINKS:
        raise AdapterError(f"{source} has the link {obj.link_function!r}; those read are {', '.join(_LINKS)}")
    return _LINKS[obj.link_function]


def _read(obj: Any, count: int, source: str) -> tuple[list[Pieces], Rational]:
    """Return the function of each feature, and the intercept."""
    parts: list[list[tuple[Rational, Pieces]]] = [[(ONE, Pieces.affine(ZERO, ZERO))] for _ in range(count)]
    for term in _terms(obj, source):
        if term.given_terms:
            raise AdapterError(
                f"{source} has interaction terms ({term.predictor_affiliation} is one), which are not functions of one "
                "feature; fit it with max_interaction_level=0"
            )
        if not 0 <= term.base_term < count:
            raise AdapterError(f"{source} has encoded columns of its own; encode categories before fitting it")
        parts[term.base_term].append((rational(float(term.coefficient)), _hinge(term)))
    return [combine(each) for each in parts], rational(float(obj.get_intercept()))


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


def _answers(obj: Any, classes: Sequence[Any]) -> Live:
    def predict(rows: list[list[Cell]]) -> NDArray[Any]:
        return class_places(obj.predict(float_table(rows)), classes)

    return predict

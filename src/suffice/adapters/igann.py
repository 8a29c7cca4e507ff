"""IGANN: a linear model and many small networks for each column, added up.

Every network is `coef · act(w · x)` for each number, with one hidden layer and no bias; categories come as one-hot
columns, which the networks only weigh. So each number has one network of all hidden units, and each category a sum of
weights. IGANN computes in float32; what is taken over is the function of its parameters in real numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.cells import class_places, plain_classes, table_maker
from suffice.adapters.column import Column, Raw, used
from suffice.adapters.draft import FLOAT32, Draft, Options, name_features, part
from suffice.adapters.layout import Layer, Squeezed, squeeze, to_shape
from suffice.adapters.parts import Part, assemble, new_model
from suffice.adapters.torch import activation_of
from suffice.adapters.transformers import transform
from suffice.errors import AdapterError
from suffice.numbers.exact import ZERO, Rational, rational
from suffice.shapes import Activation, Pieces, PiecewiseLinear, Shape

_HINT = (
    "; IGANN orders its columns by hashes that differ from process to process: if it was loaded from a file, set "
    "PYTHONHASHSEED=0 for both, or fit it again here"
)


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a fitted IGANN."""
    source = f"the {type(obj).__name__}"
    if type(obj).__name__ not in ("IGANN", "IGANNClassifier", "IGANNRegressor"):
        raise AdapterError(f"{source} edits or averages other models, which is not read here; give the IGANN itself")
    line, places = part(obj, "linear_model", source), list(part(obj, "feature_names", source))
    names = [str(name) for name in obj.raw_X.columns]
    made = _columns(obj, names)
    slopes = np.ravel(line.coef_).astype(np.float32)  # it rounds them so
    parts = [_part(obj, k, slopes[k]) for k in range(len(places))]
    sources, behind = assemble([made[name] for name in places], parts, 1, names)
    features = name_features([names[k] for k in sources], len(sources), options.features)
    classes = _classes(obj)
    task, known = ("regression", None) if classes is None else ("binary", options.classes or classes)
    intercept = [rational(float(np.ravel(line.intercept_)[0]))]
    # A score of 0 is the second class.
    model = new_model([one.part for one in behind], intercept, task, features, known, ties="positive")
    plain = table_maker(names, len(names), sources, [one.originals for one in behind])

    def table(rows: Any) -> Any:
        made = plain(rows)
        return made.astype(dict.fromkeys(categories, object))  # by which it knows categories

    categories = [name for name in names if name in set(obj.categorical_cols)]
    if classes is None:
        return Draft(model, source, lambda rows: _scores(obj, table(rows)), "score", FLOAT32, table=table, hint=_HINT)
    return Draft(
        model,
        source,
        lambda rows: _scores(obj, table(rows)),
        "score",
        FLOAT32,
        chances=lambda rows: np.asarray(obj.predict_proba(table(rows))),
        answers=lambda rows: class_places(obj.predict(table(rows)), classes),
        table=table,
        hint=_HINT,
    )


def _scores(obj: Any, table: Any) -> NDArray[Any]:
    return np.asarray(obj.predict_raw(table)).reshape(len(table))


def _columns(obj: Any, names: Sequence[str]) -> dict[str, Column]:
    """Return by name the columns that come to the networks: numbers as they are, and one-hot ones."""
    step = obj.column_transformer
    given = [Raw(names.index(name)) for name in step.feature_names_in_]
    return dict(zip(step.get_feature_names_out(), used(transform(step, given)), strict=True))


def _part(obj: Any, k: int, slope: np.float32) -> Part:
    """Return what is made of the k-th of the columns, the numbers first."""
    steep = rational(float(slope))
    rated = [(rational(float(rate)), one) for rate, one in zip(obj.boosting_rates, obj.regressors, strict=True)]
    if k >= obj.n_numerical_cols:
        weights = (rate * rational(_coefficients(one)[_place(one, k)].item()) for rate, one in rated)
        return Part((Pieces.affine(sum(weights, steep), ZERO),))
    shapes: list[Shape] = [PiecewiseLinear([0], [0], steep, steep)]
    for rate in dict.fromkeys(rate for rate, _ in rated):  # as a rule there is one
        shapes.append(_network([one for own, one in rated if own == rate], k, rate))
    return Part(reduce(Shape.__add__, shapes).compile())


def _network(several: Sequence[Any], k: int, rate: Rational) -> Shape:
    hidden = [_array(one.hidden_mat)[k, k * one.n_hid : (k + 1) * one.n_hid] for one in several]
    output = [_coefficients(one)[k * one.n_hid : (k + 1) * one.n_hid] for one in several]
    layer = Layer(np.concatenate(hidden)[:, None], None, None, Activation.identity())
    act = activation_of(several[0].act)
    if act is None:
        raise AdapterError(f"IGANN with the activation {several[0].act} is not read; use act='elu' or 'relu'")
    first = squeeze(layer, act) if isinstance(act, Squeezed) else layer._replace(activation=act)
    last = Layer(np.concatenate(output)[None, :], None, None, Activation.identity())
    return to_shape([first, last], f"column {k}") * rate


def _place(one: Any, k: int) -> int:
    return int(one.n_numerical_cols * one.n_hid + k - one.n_numerical_cols)


def _coefficients(one: Any) -> NDArray[np.float32]:
    return np.ravel(_array(one.output_model.coef_))


def _array(tensor: Any) -> NDArray[np.float32]:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float32)


def _classes(obj: Any) -> list[Any] | None:
    if obj.task == "regression":
        return None
    return plain_classes(getattr(obj, "classes_", [0, 1] if obj.target_remapped_flag else [-1, 1]))

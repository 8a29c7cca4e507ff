"""statsmodels: results of linear, generalised linear, logit, probit, multinomial and count models.

The model is the linear predictor over the columns of the design; a constant column belongs to the intercept. With a
formula the features are the variables of the formula (`formulas`); of a GLMGam also those of its splines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.behind import put_behind
from suffice.adapters.cells import float_table
from suffice.adapters.column import Column, Raw, Times
from suffice.adapters.draft import Draft, Link, Options, name_features, with_domain
from suffice.adapters.formulas import cubic_regressions, read_formula, splines
from suffice.adapters.parts import Part, new_model
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel
from suffice.numbers.exact import ZERO, rational
from suffice.shapes import Pieces

# Class of a model -> what its linear predictor decides, and what `predict` makes of it.
_MODELS: Mapping[str, tuple[str, Link]] = {
    "OLS": ("regression", "score"),
    "WLS": ("regression", "score"),
    "GLS": ("regression", "score"),
    "GLSAR": ("regression", "score"),
    "RLM": ("regression", "score"),
    "QuantReg": ("regression", "score"),
    "MixedLM": ("regression", "score"),
    "Logit": ("binary", "sigmoid"),
    "Probit": ("binary", "score"),
    "Poisson": ("regression", "exp"),
    "NegativeBinomial": ("regression", "exp"),
    "NegativeBinomialP": ("regression", "exp"),
    "GeneralizedPoisson": ("regression", "exp"),
    "MNLogit": ("multiclass", "softmax"),
}
_GENERALISED = ("GLM", "GLMGam", "GEE")  # models whose family says what they decide
_LINKS: Mapping[str, Link] = {"Identity": "score", "Log": "exp", "Logit": "sigmoid"}


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of fitted results."""
    model: Any = getattr(obj, "model", None)
    kind = type(obj if model is None else model).__name__
    source = f"the {kind} of statsmodels"
    if not hasattr(obj, "params"):
        raise AdapterError(f"{source} is not fitted; give what its fit() returns")
    task, link = _decides(model, kind, source)
    added = (getattr(model, name, None) for name in ("offset", "exposure", "_offset_exposure"))
    if any(np.any(np.asarray(one) != 0) for one in added if one is not None):
        raise AdapterError(f"{source} has an offset or exposure for each row, which is no column; leave it out")
    spec = getattr(model.data, "model_spec", None) or getattr(model.data, "design_info", None)
    if kind == "GLMGam":
        design = _gam_design(model, source)
    elif spec is None:
        design = _plain_design(model)
    else:
        design = _formula_design(spec, getattr(model.data, "frame", None), source)
    weights = np.asarray(obj.params, dtype=np.float64)
    weights = weights[: np.asarray(model.exog).shape[1]]  # count models have parameters of their variance last
    weights = weights[:, None] if weights.ndim == 1 else np.hstack([np.zeros((len(weights), 1)), weights])
    inner = _over_design(weights, design, task, source, _asking(obj, task))
    classes = options.classes or (_classes(model) if task == "multiclass" else [0, 1] if task == "binary" else None)
    draft = put_behind(inner, design.columns, design.names, len(design.names), design.prepare, source)
    features = name_features(draft.model.names, len(draft.model.names), options.features)
    named = [with_domain(one, domain) for one, domain in zip(features, draft.model.domains, strict=True)]
    offset = None if task == "binary" and link != "sigmoid" else ZERO  # as of a probit
    whole = AdditiveModel.of_terms(
        draft.model.terms, draft.model.intercept, task, named, classes, "negative", logit_offset=offset
    )
    table = draft.table
    assert table is not None

    def predict(rows: Any) -> NDArray[Any]:
        return np.asarray(obj.predict(**design.asking(table(rows))))

    has_chances = task == "multiclass" or (task == "binary" and link == "sigmoid")
    return Draft(
        whole,
        source,
        draft.live,
        predicts=None if link == "score" else link,
        chances=predict if has_chances else None,
        answers=predict if task == "regression" else None,
        table=table,
    )


def _decides(model: Any, kind: str, source: str) -> tuple[str, Link]:
    if kind in _GENERALISED:
        link = type(model.family.link).__name__
        is_binary = type(model.family).__name__ == "Binomial" and set(np.unique(model.endog).tolist()) <= {0.0, 1.0}
        if is_binary and link == "Probit":
            return "binary", "score"
        if link not in _LINKS:
            raise AdapterError(
                f"{source} has the link {link}; those read are {', '.join(_LINKS)}, and Probit for two classes"
            )
        return "binary" if is_binary and link == "Logit" else "regression", _LINKS[link]
    if kind not in _MODELS:
        raise AdapterError(f"{source} is not read here; those that are: {', '.join((*_MODELS, *_GENERALISED))}")
    return _MODELS[kind]


@dataclass(frozen=True, slots=True)
class _Design:
    """The columns of a design, as functions of the user's columns."""

    names: list[str]
    columns: list[Column | Times]
    constants: dict[int, float]  # columns of the design that are always the same
    count: int
    prepare: Callable[[Any], Any]  # what the model makes of a table as the user has it
    asking: Callable[[Any], Mapping[str, Any]]  # the arguments of `predict` for such a table


def _plain_design(model: Any) -> _Design:
    names = [str(name) for name in model.exog_names][: np.asarray(model.exog).shape[1]]
    place = model.data.const_idx
    return _numbered(names, {} if place is None else {int(place): float(np.asarray(model.exog)[0, place])})


def _numbered(names: Sequence[str], constants: dict[int, float]) -> _Design:
    """Return a design of columns as they are, some of which are always the same."""
    kept = [k for k in range(len(names)) if k not in constants]

    def prepare(table: Any) -> NDArray[np.float64]:
        whole = np.empty((len(table), len(names)))
        whole[:, kept] = np.asarray(table, dtype=np.float64)
        for k, value in constants.items():
            whole[:, k] = value
        return whole

    columns: list[Column | Times] = [Raw(k) for k in range(len(kept))]
    return _Design(
        [names[k] for k in kept], columns, constants, len(names), prepare, lambda table: {"exog": prepare(table)}
    )


def _formula_design(spec: Any, frame: Any, source: str) -> _Design:
    if type(spec).__module__.split(".")[0] != "patsy":
        raise AdapterError(f"{source} has a formula that patsy did not read; give it a table of numbers instead")
    found = read_formula(spec, [str(name) for name in getattr(frame, "columns", ())], source)

    def prepare(table: Any) -> NDArray[np.float64]:
        return _matrix(spec, table)

    return _Design(found.names, found.columns, found.constants, found.width, prepare, lambda table: {"exog": table})


def _gam_design(model: Any, source: str) -> _Design:
    """Return the design of a GLMGam: linear columns, then splines."""
    smoother = model.smoother
    kind = type(smoother).__name__
    if kind not in _SMOOTHERS:
        raise AdapterError(f"{source} has {kind}; of its smoothers {' and '.join(_SMOOTHERS)} are read")
    spec = getattr(model, "model_spec_linear", None)
    linear = (
        _linear_design(model) if spec is None else _formula_design(spec, getattr(model.data, "frame", None), source)
    )
    names, columns = list(linear.names), list(linear.columns)
    smooth = [str(name) for name in smoother.variable_names]
    names += [name for name in smooth if name not in names]
    for name, one in zip(smooth, smoother.smoothers, strict=True):
        columns += _SMOOTHERS[kind](names.index(name), one, source)
    places = [names.index(name) for name in smooth]

    def smooth_cells(table: Any) -> NDArray[np.float64]:
        return np.asarray(_columns_of(table, places), dtype=np.float64)

    def prepare(table: Any) -> NDArray[np.float64]:
        before = linear.prepare(_columns_of(table, range(len(linear.names))))
        return np.column_stack([before, smoother.transform(smooth_cells(table))])

    def asking(table: Any) -> Mapping[str, Any]:
        given = linear.asking(_columns_of(table, range(len(linear.names)))) if linear.count else {}
        return {**given, "exog_smooth": smooth_cells(table)}

    return _Design(names, columns, linear.constants, linear.count + smoother.dim_basis, prepare, asking)


def _b_splines(place: int, one: Any, source: str) -> list[Column]:
    weights = np.eye(len(one.knots) - one.degree - 1)[:, 0 if one.include_intercept else 1 :]
    weights = weights if one.ctransf is None else weights @ np.asarray(one.ctransf)
    return splines(place, one.knots, int(one.degree), weights, what=source)


def _cyclic_splines(place: int, one: Any, source: str) -> list[Column]:
    factors = getattr(one.model_spec, "factor_infos", None)
    if factors is None:
        raise AdapterError(f"{source} has splines that patsy did not make; set statsmodels' formula engine to patsy")
    ((state,),) = (info.state["transforms"].values() for info in factors.values())
    return cubic_regressions(place, state, one.ctransf, what=source)


_SMOOTHERS: Mapping[str, Callable[[int, Any, str], list[Column]]] = {
    "BSplines": _b_splines,
    "CyclicCubicSplines": _cyclic_splines,
}


def _columns_of(table: Any, places: Sequence[int]) -> Any:
    return table.iloc[:, list(places)] if hasattr(table, "iloc") else table[:, list(places)]


def _linear_design(model: Any) -> _Design:
    """Return the linear columns of a GLMGam that has no formula."""
    count = int(model.k_exog_linear)
    given = None if count == 0 else np.asarray(model.exog, dtype=np.float64)[:, :count]
    names = [str(name) for name in model.exog_names[:count]]
    constants = {k: float(given[0, k]) for k in range(count) if given is not None and np.ptp(given[:, k]) == 0}
    return _numbered(names, constants)


def _matrix(spec: Any, table: Any) -> NDArray[np.float64]:
    import patsy

    (made,) = patsy.build_design_matrices([spec], table, NA_action="raise")
    return np.asarray(made, dtype=np.float64)


def _over_design(weights: NDArray[np.float64], design: _Design, task: str, source: str, live: Any) -> Draft:
    """Return the linear model over the columns of the design that are not constant."""
    kept = [k for k in range(design.count) if k not in design.constants]
    if len(weights) != design.count:
        raise AdapterError(f"{source} has {len(weights)} parameters for {design.count} columns of its design")
    parts = [Part(tuple(Pieces.affine(rational(float(w)), ZERO) for w in weights[k])) for k in kept]
    intercept = [
        sum((rational(value) * rational(float(weights[k, j])) for k, value in design.constants.items()), ZERO)
        for j in range(weights.shape[1])
    ]
    features = name_features(None, len(kept), None)
    return Draft(new_model(parts, intercept, task, features, None), source, live)


def _asking(obj: Any, task: str) -> Callable[[Any], NDArray[Any]]:
    """Return the linear predictor for rows of the design."""

    def linear(design: Any) -> NDArray[Any]:
        table = float_table(design)
        if _MODELS.get(type(obj.model).__name__) == ("regression", "score"):  # these have no other scale
            return np.asarray(obj.predict(table, transform=False))
        found = np.asarray(obj.predict(table, transform=False, which="linear"))
        if task == "multiclass" and found.shape[1] < len(_classes(obj.model)):
            found = np.hstack([np.zeros((len(found), 1)), found])
        return found

    return linear


def _classes(model: Any) -> Sequence[Any]:
    names = getattr(model, "_ynames_map", {})
    return [_class(names[k]) for k in sorted(names)] if names else list(range(int(model.J)))


def _class(name: Any) -> Any:
    text = str(name)
    return int(float(text)) if text.replace(".", "", 1).lstrip("-").isdigit() and float(text).is_integer() else text

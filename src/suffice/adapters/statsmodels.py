"""statsmodels: results of linear, generalised linear, logit, probit, multinomial and count models.

The model is the linear predictor over the columns of the design; a constant column belongs to the intercept. With a
formula the features are the variables of the formula: a number as it is, or a categorical variable, whose columns in
the design are found by asking for the design of each of its levels.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.behind import put_behind
from suffice.adapters.cells import float_table
from suffice.adapters.column import Column, Finite, Numeric, Raw
from suffice.adapters.draft import Cell, Draft, Link, Options, name_features
from suffice.adapters.parts import Part, new_model
from suffice.errors import AdapterError
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
    "Logit": ("binary", "sigmoid"),
    "Probit": ("binary", "score"),
    "Poisson": ("regression", "exp"),
    "NegativeBinomial": ("regression", "exp"),
    "NegativeBinomialP": ("regression", "exp"),
    "GeneralizedPoisson": ("regression", "exp"),
    "MNLogit": ("multiclass", "softmax"),
}
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
    design = _plain_design(model, source) if spec is None else _formula_design(spec, source)
    weights = np.asarray(obj.params, dtype=np.float64)
    weights = weights[: np.asarray(model.exog).shape[1]]  # count models have parameters of their variance last
    weights = weights[:, None] if weights.ndim == 1 else np.hstack([np.zeros((len(weights), 1)), weights])
    inner = _over_design(weights, design, task, source, _asking(obj, task))
    classes = options.classes or (_classes(model) if task == "multiclass" else [0, 1] if task == "binary" else None)
    draft = put_behind(inner, design.columns, design.names, len(design.names), design.prepare, source)
    features = name_features(draft.model.names, len(draft.model.names), options.features)
    parts = [Part(pieces, domain) for pieces, domain in zip(draft.model.compile(), draft.model.domains, strict=True)]
    offset = None if task == "binary" and link != "sigmoid" else ZERO  # as of a probit
    whole = new_model(parts, draft.model.intercept, task, features, classes, logit_offset=offset)
    table = draft.table
    assert table is not None
    predict = _predicting(obj, design, table)
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
    if kind == "GLM":
        link = type(model.family.link).__name__
        is_binary = type(model.family).__name__ == "Binomial" and set(np.unique(model.endog).tolist()) <= {0.0, 1.0}
        if link not in _LINKS:
            raise AdapterError(f"{source} has the link {link}; those read are {', '.join(_LINKS)}")
        return "binary" if is_binary and link == "Logit" else "regression", _LINKS[link]
    if kind == "GLMGam":
        raise AdapterError(
            f"{source} has smooth splines, which are not read here; those of pyGAM are, and SplineTransformer() before "
            "a linear model"
        )
    if kind not in _MODELS:
        raise AdapterError(f"{source} is not read here; those that are: {', '.join((*_MODELS, 'GLM'))}")
    return _MODELS[kind]


@dataclass(frozen=True, slots=True)
class _Design:
    """The columns of a design, as functions of the user's columns."""

    names: list[str]
    columns: list[Column]
    constants: dict[int, float]  # columns of the design that are always the same
    count: int
    prepare: Callable[[Any], Any]
    is_formula: bool


def _plain_design(model: Any, source: str) -> _Design:
    names = [str(name) for name in model.exog_names][: np.asarray(model.exog).shape[1]]
    place = model.data.const_idx
    constants = {} if place is None else {int(place): float(np.asarray(model.exog)[0, place])}
    kept = [k for k in range(len(names)) if k not in constants]

    def prepare(table: Any) -> NDArray[np.float64]:
        whole = np.empty((len(table), len(names)))
        whole[:, kept] = np.asarray(table, dtype=np.float64)
        for k, value in constants.items():
            whole[:, k] = value
        return whole

    columns: list[Column] = [Raw(k) for k in range(len(kept))]
    return _Design([names[k] for k in kept], columns, constants, len(names), prepare, is_formula=False)


def _formula_design(spec: Any, source: str) -> _Design:
    if type(spec).__module__.split(".")[0] != "patsy":
        raise AdapterError(f"{source} has a formula that patsy did not read; give it a table of numbers instead")
    names: list[str] = []
    variables: dict[Any, str] = {}
    for term in spec.terms:
        if len(term.factors) > 1:
            product = " and ".join(factor.code for factor in term.factors)
            raise AdapterError(
                f"{source} has the product of {product} in its formula, which is not additive; leave it out"
            )
        for factor in term.factors:
            variables[factor] = _variable(factor, spec.factor_infos[factor], source)
            if variables[factor] not in names:
                names.append(variables[factor])
    columns: list[Column] = []
    constants: dict[int, float] = {}
    base = {variables[factor]: _usual(spec.factor_infos[factor]) for factor in variables}
    for term in spec.terms:
        place = spec.term_slices[term]
        if not term.factors:
            constants[place.start] = 1.0
            continue
        (factor,) = term.factors
        info, name = spec.factor_infos[factor], variables[factor]
        if info.type == "numerical":
            columns.append(Numeric(names.index(name), missing=None))
            continue
        cells: dict[Cell, Any] = {one if isinstance(one, str) else float(one): one for one in info.categories}
        made = _matrix(spec, {**{key: [value] * len(cells) for key, value in base.items()}, name: list(cells.values())})
        for k in range(place.start, place.stop):
            values = dict(zip(cells, made[:, k].tolist(), strict=True))
            columns.append(Finite(names.index(name), cells, values))
    count = spec.term_slices[spec.terms[-1]].stop

    def prepare(table: Any) -> NDArray[np.float64]:
        return _matrix(spec, table)

    return _Design(names, columns, constants, count, prepare, is_formula=True)


def _variable(factor: Any, info: Any, source: str) -> str:
    """Return the one variable that a factor of a formula is about."""
    code = factor.code
    tree = ast.parse(code, mode="eval").body
    quoted = isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "Q"
    if quoted and isinstance(tree.args[0], ast.Constant):
        return str(tree.args[0].value)
    if isinstance(tree, ast.Name):
        return tree.id
    if info.type == "categorical" and isinstance(tree, ast.Call) and getattr(tree.func, "id", "") == "C":
        inner = tree.args[0]
        if isinstance(inner, ast.Name):
            return inner.id
    raise AdapterError(
        f"{source} has {code} in its formula; variables as they are and C(variable) are read, so compute it as a "
        "column of its own first"
    )


def _usual(info: Any) -> Any:
    return 1.0 if info.type == "numerical" else info.categories[0]


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
        if task == "regression" and type(obj.model).__name__ in ("OLS", "WLS", "GLS", "GLSAR", "RLM", "QuantReg"):
            return np.asarray(obj.predict(table, transform=False))
        found = np.asarray(obj.predict(table, transform=False, which="linear"))
        if task == "multiclass" and found.shape[1] < len(_classes(obj.model)):
            found = np.hstack([np.zeros((len(found), 1)), found])
        return found

    return linear


def _predicting(obj: Any, design: _Design, table: Callable[[Any], Any]) -> Callable[[Any], NDArray[Any]]:
    if design.is_formula:
        return lambda rows: np.asarray(obj.predict(table(rows)))
    return lambda rows: np.asarray(obj.predict(design.prepare(table(rows))))


def _classes(model: Any) -> Sequence[Any]:
    names = getattr(model, "_ynames_map", {})
    return [_class(names[k]) for k in sorted(names)] if names else list(range(int(model.J)))


def _class(name: Any) -> Any:
    text = str(name)
    return int(float(text)) if text.replace(".", "", 1).lstrip("-").isdigit() and float(text).is_integer() else text

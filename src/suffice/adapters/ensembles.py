"""Wrappers with several models inside, and one that changes the target of its model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.cells import plain_classes, table_maker
from suffice.adapters.decisions import clipped_logistic, restored
from suffice.adapters.draft import Draft
from suffice.adapters.parts import Part, aligned, mains_of, new_model, parts_of, sum_parts, with_parts
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel, Feature
from suffice.model.term import Term
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float, rational
from suffice.shapes import Pieces

# What a target's inverse function makes of a score, where that is not a line: the score is explained as it is.
_CURVES = ("exp", "expm1", "exp2", "sinh", "square")


@dataclass(frozen=True, slots=True)
class Inside:
    """Reads what is inside a wrapper, with reference rows as that is given them; None where there are none."""

    read: Callable[[Any, Any], Draft]
    rows: Any = None

    def __call__(self, obj: Any) -> Draft:
        """Return the draft of what is inside."""
        return self.read(obj, self.rows)

    def after(self, prepare: Callable[[Any], Any]) -> Inside:
        """Return the reader of what comes after transformers; rows that they do not take are left out."""
        if self.rows is None:
            return self
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about categories that were never seen
                return replace(self, rows=prepare(self.rows))
        except Exception:  # whatever a package raises; without rows, what needs them says so
            return replace(self, rows=None)


def one_vs_rest(obj: Any, inside: Inside) -> Draft:
    """Return the draft of a OneVsRestClassifier: a score for each class, the largest wins."""
    source = f"the {type(obj).__name__}"
    if obj.multilabel_:
        raise AdapterError(f"{source} decides several labels at once (multilabel); fit one model for each")
    drafts = [_binary(inside(one), source) for one in obj.estimators_]
    if len(drafts) == 1:  # two classes: above 0, or a probability above one half
        return replace(restored(drafts[0], source, "negative"), chances=drafts[0].chances)
    # The largest decision_function wins where there is one; LightGBM's is another multiple of the score for each.
    has_scores = all(hasattr(one, "decision_function") for one in obj.estimators_)
    factors = [1 / draft.raw if has_scores else ONE for draft in drafts]
    by_class = [[part.times([f]) for part in parts_of(draft)] for draft, f in zip(drafts, factors, strict=True)]
    each = [aligned(parts) for parts in zip(*by_class, strict=True)]
    stacked = [Part(tuple(part.pieces[0] for part in parts), parts[0].domain) for parts in each]
    intercept = [(draft.model.intercept[0] + draft.cut) * f for draft, f in zip(drafts, factors, strict=True)]
    classes = plain_classes(obj.classes_)
    return replace(
        drafts[0],
        model=with_parts(
            drafts[0].model, stacked, intercept, task="multiclass", classes=classes, ties="negative", logit_offset=0
        ),
        source=source,
        live=_stacked(drafts, factors),
        chances=None,
        saturates=None if has_scores else "above" if all(draft.response is None for draft in drafts) else "both",
        precision=max(draft.precision for draft in drafts),
        cut=ZERO,
        raw=ONE,
        response=None,
    )


def _binary(draft: Draft, source: str) -> Draft:
    if draft.model.task != "binary" or draft.response not in (None, clipped_logistic):
        raise AdapterError(f"{source} is read around models with one score each; {draft.source} is none")
    return draft


def _stacked(drafts: Sequence[Draft], factors: Sequence[Rational]) -> Callable[[Any], NDArray[Any]] | None:
    lives = [draft.live for draft in drafts if draft.live is not None]
    lines = [(nearest_float(draft.cut), nearest_float(factor)) for draft, factor in zip(drafts, factors, strict=True)]
    if len(lives) < len(drafts):
        return None
    each = list(zip(lives, lines, strict=True))
    return lambda rows: np.stack([(np.ravel(live(rows)) + cut) * factor for live, (cut, factor) in each], axis=1)


def voting_regressor(obj: Any, inside: Inside) -> Draft:
    """Return the draft of a VotingRegressor: the weighted mean of models, which may leave out some columns each."""
    source = f"the {type(obj).__name__}"
    given = obj._weights_not_none
    weights = [ONE] * len(obj.estimators_) if given is None else [rational(float(weight)) for weight in given]
    drafts = [_numbers(inside(one), source) for one in obj.estimators_]
    named = getattr(obj, "feature_names_in_", None)
    count = int(getattr(obj, "n_features_in_", 0)) or max(len(draft.model.names) for draft in drafts)
    whole = next((draft.model.names for draft in drafts if len(draft.model.names) == count), _numbered(count))
    names = whole if named is None else [str(name) for name in named]
    columns = [_places(draft, names, source) for draft in drafts]
    used = sorted({k for some in columns for k in some})
    places = [[used.index(k) for k in some] for some in columns]
    return _mean(drafts, weights, source, [names[k] for k in used], places, _joined(drafts, places, columns))


def bagging_regressor(obj: Any, inside: Inside) -> Draft:
    """Return the draft of a BaggingRegressor: the mean of models over some of the columns each."""
    source = f"the {type(obj).__name__}"
    each = replace(inside, rows=None)  # a model is given some of the columns, without their names
    drafts = [_numbers(each(one), source) for one in obj.estimators_]
    count, named = int(obj.n_features_in_), getattr(obj, "feature_names_in_", None)
    chosen = [[int(k) for k in some] for some in obj.estimators_features_]
    places = [
        [some[k] for k in _places(draft, _numbered(len(some)), source)]
        for draft, some in zip(drafts, chosen, strict=True)
    ]
    names = _numbered(count) if named is None else [str(name) for name in named]
    table = table_maker(named, count, range(count), [{}] * count)
    return _mean(drafts, [ONE] * len(drafts), source, names, places, table)


def _places(draft: Draft, names: Sequence[str], source: str) -> list[int]:
    """Return which of some columns the features of a model are."""
    mine = draft.model.names
    if len(mine) == len(names):
        return list(range(len(names)))
    unknown = next((name for name in mine if name not in names), None)
    if unknown is not None:
        raise AdapterError(
            f"{source} has {draft.source} inside, whose column {unknown!r} is none of its own; fit it on a table whose "
            "columns have names"
        )
    return [list(names).index(name) for name in mine]


def _joined(
    drafts: Sequence[Draft], places: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]
) -> Callable[[Any], Any] | None:
    """Return how rows become the table that models over some columns each are all given."""
    tables = [draft.table for draft in drafts]
    if all(some == places[0] for some in places) or None in tables:
        return tables[0]

    def joined(rows: Any) -> Any:
        made = [one([[row[k] for k in some] for row in rows]) for one, some in zip(tables, places, strict=True) if one]
        whole = made[0]
        for one, some in zip(made[1:], columns[1:], strict=True):
            for k in some:
                if hasattr(whole, "iloc"):
                    whole[whole.columns[k]] = one.iloc[:, k]
                else:
                    whole[:, k] = one[:, k]
        return whole

    return joined


def _numbers(draft: Draft, source: str) -> Draft:
    is_sum = draft.link == "score" and draft.predicts in (None, "score") and draft.curve is None
    if draft.model.task != "regression" or not is_sum:
        raise AdapterError(
            f"{source} is read around regressors that predict a sum; {draft.source} predicts a function of one (it has "
            "a link, or cuts its predictions as APLR does); convert the model inside"
        )
    return draft


def _mean(
    drafts: Sequence[Draft],
    weights: Sequence[Rational],
    source: str,
    names: Sequence[str],
    places: Sequence[Sequence[int]],
    table: Callable[[Any], Any] | None,
) -> Draft:
    """Return the weighted mean of models, each over the features at some places of the names."""
    shares = [weight / sum(weights, ZERO) for weight in weights]
    parts: list[list[tuple[Rational, Part]]] = [[] for _ in names]
    pairs: list[Term] = []
    for draft, share, some in zip(drafts, shares, places, strict=True):
        for part, k in zip(mains_of(draft.model), some, strict=True):
            parts[k].append((share, part))
        pairs += [Term([some[k] for k in term.features], term.shape * share) for term in draft.model.pairs]
    intercept = [sum((share * draft.model.intercept[0] for draft, share in zip(drafts, shares, strict=True)), ZERO)]
    nothing = Part((Pieces.affine(ZERO, ZERO),))
    summed = [sum_parts(some) if some else nothing for some in parts]
    model = new_model(summed, intercept, "regression", [Feature(name) for name in names], None, pairs=pairs)
    lives, floats = [draft.live for draft in drafts], [nearest_float(share) for share in shares]

    def live(rows: Any) -> NDArray[Any]:
        asked = ([[row[k] for k in some] for row in rows] for some in places)
        found = [np.ravel(one(some)) * share for one, some, share in zip(lives, asked, floats, strict=True) if one]
        return np.asarray(sum(found))

    is_live = all(one is not None for one in lives)
    precision = max(draft.precision for draft in drafts)
    return Draft(model, source, live if is_live else None, precision=precision, table=table)


def _numbered(count: int) -> list[str]:
    return [f"x{k}" for k in range(count)]


# --- targets ----------------------------------------------------------------------------------------------------------


def transformed_target(obj: Any, inside: Inside) -> Draft:
    """Return the draft of a TransformedTargetRegressor.

    A scaler of the target is a line, so that the model predicts in the target's own units. A curve such as the
    exponential is left out: then the score is what the regressor inside predicts.
    """
    source = f"the {type(obj).__name__}"
    inner = _numbers(inside(obj.regressor_), source)
    step = obj.transformer_
    line = _line(step)
    if line is None:
        inverse = getattr(getattr(step, "inverse_func", None), "__name__", "")
        if type(step).__name__ != "FunctionTransformer" or inverse not in _CURVES:
            raise AdapterError(
                f"{source} turns the target by {type(step).__name__}({inverse}); scalers are read, and the inverse "
                f"functions {', '.join(_CURVES)} of NumPy"
            )
        return replace(inner, source=source, curve=step.inverse_func)
    factor, offset = line
    terms = [Term(term.features, term.shape * factor) for term in inner.model.terms]
    intercept = [factor * inner.model.intercept[0] + offset]
    model = AdditiveModel.of_terms(terms, intercept, "regression", inner.model.features)
    a, b, live = nearest_float(factor), nearest_float(offset), inner.live
    return replace(inner, model=model, source=source, live=None if live is None else lambda rows: live(rows) * a + b)


def _line(step: Any) -> tuple[Rational, Rational] | None:
    """Return the factor and the offset of a scaler's way back, None if it is no scaler."""
    name = type(step).__name__
    if name == "FunctionTransformer" and step.inverse_func is None:
        return ONE, ZERO
    if name == "StandardScaler":
        scale, offset = (step.scale_, step.mean_)
    elif name == "RobustScaler":
        scale, offset = (step.scale_, step.center_)
    elif name == "MaxAbsScaler":
        scale, offset = (step.scale_, None)
    elif name == "MinMaxScaler":
        factor = 1 / rational(float(step.scale_[0]))
        return factor, -rational(float(step.min_[0])) * factor
    else:
        return None
    factor = ONE if scale is None else rational(float(scale[0]))
    return factor, ZERO if offset is None else rational(float(offset[0]))

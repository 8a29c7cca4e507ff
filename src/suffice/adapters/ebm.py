"""InterpretML's explainable boosting machines: the JSON export at any detail level, and fitted objects.

A term is a table over one feature or two: in each direction slot 0 for a missing cell, one slot for each bin, the last
for a value that is no number or no known category. A number equal to a cut belongs to the upper bin. Terms over two
features may have coarser bins than those over one. A score of exactly 0 is the negative class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.cells import category_keys, class_places, object_table, plain_classes
from suffice.adapters.draft import UNSEEN, Cell, Draft, Link, Live, Options, name_features, part, with_domain
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain
from suffice.model.term import Term
from suffice.numbers.exact import Rational, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Bins, PairShape, PairSteps, Shape, Steps, Table

_LINKS: Mapping[str, Link] = {"logit": "score", "mlogit": "score", "identity": "score", "log": "exp"}


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a fitted EBM, or of its JSON export as Python's `json` reads it."""
    source = "the EBM's JSON" if isinstance(obj, Mapping) else f"the {type(obj).__name__}"
    document = obj["ebm"] if isinstance(obj, Mapping) else _document(obj, source)
    model = _model(document, options)
    link = _LINKS[document["outputs"][0]["link"]]
    if isinstance(obj, Mapping):
        return Draft(model, source, None, link, doubt=_doubt(document))
    if model.task == "regression":
        return Draft(model, source, _live(obj, model.task), link, doubt=_doubt(document), table=object_table)
    return Draft(
        model,
        source,
        _live(obj, model.task),
        link,
        doubt=_doubt(document),
        chances=lambda rows: np.asarray(obj.predict_proba(object_table(rows))),
        answers=lambda rows: class_places(obj.predict(object_table(rows)), obj.classes_),
        table=object_table,
    )


def _doubt(document: Mapping[str, Any]) -> str | None:
    """Return what is wrong if a feature has no term: it was removed on purpose, or the document has lost it."""
    used = {name for term in document["terms"] for name in term["term_features"]}
    without = [described["name"] for described in document["features"] if described["name"] not in used]
    if not without:
        return None
    shown = ", ".join(map(repr, without[:3])) + (", ..." if len(without) > 3 else "")
    return f"has no term over {shown}, and does not say whether it was removed or is lost"


def _document(ebm: Any, source: str) -> dict[str, Any]:
    """Return a fitted object in the form of its own JSON export."""
    bins = part(ebm, "bins_", source)
    names = [str(name) for name in part(ebm, "feature_names_in_", source)]
    features: list[dict[str, Any]] = []
    for name, kind, resolutions in zip(names, part(ebm, "feature_types_in_", source), bins, strict=True):
        # A feature that no term may use (exclude=) has no bins at all.
        if isinstance(resolutions[0], Mapping) if len(resolutions) else kind in ("nominal", "ordinal"):
            features.append({"name": name, "type": kind, "categories": [_groups(bins) for bins in resolutions]})
        else:
            features.append({"name": name, "type": kind, "cuts": [np.asarray(cuts).tolist() for cuts in resolutions]})
    terms = [
        {"term_features": [names[i] for i in indices], "scores": np.asarray(scores).tolist()}
        for indices, scores in zip(part(ebm, "term_features_", source), part(ebm, "term_scores_", source), strict=True)
    ]
    output: dict[str, Any] = {"link": part(ebm, "link_", source)}
    if getattr(ebm, "classes_", None) is not None:
        output["classes"] = list(ebm.classes_)
    intercept = np.atleast_1d(part(ebm, "intercept_", source)).tolist()
    return {"outputs": [output], "intercept": intercept, "features": features, "terms": terms}


def _groups(bins: Mapping[str, Any]) -> list[list[str]]:
    """Return the categories of each slot, in the order of the slots."""
    groups: dict[int, list[str]] = {}
    for category, slot in bins.items():
        groups.setdefault(int(slot), []).append(category)
    return [groups[k] for k in sorted(groups)]


def _model(document: Mapping[str, Any], options: Options) -> AdditiveModel:
    (output,) = document["outputs"]
    link = output["link"]
    if link not in _LINKS:
        raise AdapterError(
            f"the link {link!r} is not supported; fit with an objective whose link is one of {', '.join(_LINKS)}"
        )
    intercept = [_number(value) for value in document["intercept"]]
    described = {one["name"]: one for one in document["features"]}
    named = name_features(list(described), len(document["features"]), options.features)
    domains = [_domain(_Side.of(one, 1)) for one in described.values()]
    features = [with_domain(feature, domain) for feature, domain in zip(named, domains, strict=True)]
    place = {name: k for k, name in enumerate(described)}
    terms = []
    for term in document["terms"]:
        names = term["term_features"]
        for name in names:
            if name not in described:
                raise AdapterError(f"there is a term over {name!r}, which is not a feature of the model")
        if len(names) > 2:
            raise AdapterError(
                f"the EBM has a term over {len(names)} features ({' & '.join(map(str, names))}); terms over one or two "
                "can be explained exactly: fit it without that one, or remove it: ebm.remove_terms([...])"
            )
        sides = [_Side.of(described[name], len(names)) for name in names]
        terms.append(Term(tuple(place[name] for name in names), _shape(names, sides, term["scores"], len(intercept))))
    task = {"logit": "binary", "mlogit": "multiclass"}.get(link, "regression")
    classes = None if task == "regression" else plain_classes(options.classes or output["classes"])
    # classes_[score > 0]: a tie is the negative class; of several classes the first with the largest score wins.
    return AdditiveModel.of_terms(terms, intercept, task, features, classes, ties="negative")


class _Side(NamedTuple):
    """One direction of a term's table: the bins that matter here, the slot of each, and how many slots there are."""

    bins: Bins
    slots: list[int]
    size: int

    @classmethod
    def of(cls, described: Mapping[str, Any], order: int) -> _Side:
        """Return how a feature is cut up in terms over so many features."""
        is_continuous = "cuts" in described
        if is_continuous == ("categories" in described):
            raise AdapterError(f"{described['name']!r} must have either cuts or categories")
        levels = described["cuts" if is_continuous else "categories"] or [[]]
        chosen = min(len(levels), order) - 1
        if is_continuous:
            cuts = [_number(cut) for cut in levels[chosen]]
            return cls(Bins(cuts, keys=[MISSING]), [*range(1, len(cuts) + 2), 0], len(cuts) + 3)
        grouped = [[group if isinstance(group, list) else [group] for group in level] for level in levels]
        keys = category_keys(list(dict.fromkeys(text for level in grouped for group in level for text in group)))
        slots = {text: k for k, group in enumerate(grouped[chosen], start=1) for text in group}
        unknown = len(grouped[chosen]) + 1  # also the slot of a category that only terms of another order know
        known = {key: slots.get(text, unknown) for text, each in keys.items() for key in each}
        return cls(Bins(keys=[*known, MISSING, UNSEEN]), [*known.values(), 0, unknown], unknown + 1)


def _domain(side: _Side) -> Domain:
    if side.bins.cuts is not None:
        return Domain.reals() | Domain.codes(MISSING)
    *known, _, _ = side.bins.keys
    return Domain(categories_=tuple(known), codes_=(MISSING, UNSEEN))


def _shape(names: Sequence[str], sides: Sequence[_Side], scores: Any, outputs: int) -> Shape | PairShape:
    """Return the shape of a term, from its table of scores."""
    table = np.array(scores, dtype=object)
    wanted = tuple(side.size for side in sides)
    if table.shape not in ((*wanted, outputs), *([wanted] if outputs == 1 else [])):
        raise AdapterError(
            f"the scores of {' & '.join(map(repr, names))} have {' × '.join(map(str, table.shape))} slots, not "
            f"{' × '.join(map(str, wanted))}: in each direction there must be two more than bins, one for missing, one "
            "for unknown"
        )
    every = np.vectorize(_number, otypes=[object])(table.reshape(*wanted, outputs))
    exact = every[np.ix_(*(side.slots for side in sides))]
    if len(sides) == 2:
        return PairSteps(sides[0].bins, sides[1].bins, exact)
    (bins, _, _), rows = sides[0], exact.tolist()
    steps = None if bins.cuts is None else Steps(bins.cuts, rows[: len(bins.cuts) + 1])
    return Table(dict(zip(bins.keys, rows[len(bins) - len(bins.keys) :], strict=True)), otherwise=steps)


def _number(value: Any) -> Rational:
    return rational(float(value) if isinstance(value, str) else value)  # "nan", "+inf": refused as not finite


def _live(ebm: Any, task: str) -> Live:
    def predict(rows: list[list[Cell]]) -> NDArray[Any]:
        table = object_table(rows)
        return np.asarray(ebm.predict(table) if task == "regression" else ebm.decision_function(table))

    return predict

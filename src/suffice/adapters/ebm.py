"""InterpretML's explainable boosting machines: the JSON export at any detail level, and fitted objects.

A term is a table: slot 0 for a missing cell, one slot for each bin, the last for a value that is no number or no known
category. A number equal to a cut belongs to the upper bin. A score of exactly 0 is the negative class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.cells import category_keys, class_places, object_table, plain_classes
from suffice.adapters.draft import UNSEEN, Cell, Draft, Link, Live, Options, name_features, part, with_domain
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain
from suffice.numbers.exact import Rational, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Shape, Steps, Table

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
        main = resolutions[0]  # the later ones belong to interactions
        if isinstance(main, Mapping):
            groups: dict[int, list[str]] = {}
            for category, slot in main.items():
                groups.setdefault(int(slot), []).append(category)
            features.append({"name": name, "type": kind, "categories": [[groups[k] for k in sorted(groups)]]})
        else:
            features.append({"name": name, "type": kind, "cuts": [np.asarray(main).tolist()]})
    terms = [
        {"term_features": [names[i] for i in indices], "scores": np.asarray(scores).tolist()}
        for indices, scores in zip(part(ebm, "term_features_", source), part(ebm, "term_scores_", source), strict=True)
    ]
    output: dict[str, Any] = {"link": part(ebm, "link_", source)}
    if getattr(ebm, "classes_", None) is not None:
        output["classes"] = list(ebm.classes_)
    intercept = np.atleast_1d(part(ebm, "intercept_", source)).tolist()
    return {"outputs": [output], "intercept": intercept, "features": features, "terms": terms}


def _model(document: Mapping[str, Any], options: Options) -> AdditiveModel:
    (output,) = document["outputs"]
    link = output["link"]
    if link not in _LINKS:
        raise AdapterError(
            f"the link {link!r} is not supported; fit with an objective whose link is one of {', '.join(_LINKS)}"
        )
    _check_additive(document)
    intercept = [_number(value) for value in document["intercept"]]
    scores: dict[str, list[Any]] = {}
    for term in document["terms"]:
        (name,) = term["term_features"]
        scores.setdefault(name, []).append(term["scores"])
    shapes, features = [], []
    names = [described["name"] for described in document["features"]]
    given = name_features(names, len(names), options.features)
    for feature, described in zip(given, document["features"], strict=True):
        shape, domain = _shape(described, scores.pop(described["name"], []), len(intercept))
        shapes.append(shape)
        features.append(with_domain(feature, domain))
    if scores:
        raise AdapterError(f"there is a term over {next(iter(scores))!r}, which is not a feature of the model")
    task = {"logit": "binary", "mlogit": "multiclass"}.get(link, "regression")
    classes = None if task == "regression" else plain_classes(options.classes or output["classes"])
    # classes_[score > 0]: a tie is the negative class; of several classes the first with the largest score wins.
    return AdditiveModel(shapes, intercept, task, features, classes, ties="negative")


def _check_additive(document: Mapping[str, Any]) -> None:
    several = [term["term_features"] for term in document["terms"] if len(term["term_features"]) != 1]
    if several:
        shown = ", ".join(" & ".join(map(str, names)) for names in several[:3])
        more = f" and {len(several) - 3} more" if len(several) > 3 else ""
        raise AdapterError(
            f"the EBM has {len(several)} interaction terms ({shown}{more}), which are not functions of one feature; "
            "fit it with interactions=0, or remove them: ebm.remove_terms([...])"
        )


def _shape(described: Mapping[str, Any], terms: Sequence[Any], outputs: int) -> tuple[Shape, Domain]:
    """Return the shape of a feature, the sum of its terms (one as a rule, none if it was removed), and its domain."""
    name = described["name"]
    is_continuous = "cuts" in described
    if is_continuous == ("categories" in described):
        raise AdapterError(f"{name!r} must have either cuts or categories")
    bins = described["cuts" if is_continuous else "categories"][0]
    slots = len(bins) + (3 if is_continuous else 2)
    rows = [[_number(0.0)] * outputs for _ in range(slots)]
    for scores in terms:
        table = [[_number(v) for v in (row if isinstance(row, list) else [row])] for row in scores]
        if len(table) != slots or any(len(row) != outputs for row in table):
            raise AdapterError(
                f"the scores of {name!r} have {len(table)} slots for {slots - 2} bins; there must be two more: "
                "one for missing, one for unknown"
            )
        rows = [[a + b for a, b in zip(x, y, strict=True)] for x, y in zip(rows, table, strict=True)]
    if is_continuous:
        return Table({MISSING: rows[0]}, otherwise=Steps(bins, rows[1:-1])), Domain.reals() | Domain.codes(MISSING)
    groups = [group if isinstance(group, list) else [group] for group in bins]
    texts = [text for group in groups for text in group]
    keys = category_keys(texts)
    entries: dict[Any, Any] = {
        key: row for group, row in zip(groups, rows[1:-1], strict=True) for text in group for key in keys[text]
    }
    domain = Domain.categories(*entries) | Domain.codes(MISSING, UNSEEN)
    return Table({**entries, MISSING: rows[0], UNSEEN: rows[-1]}), domain


def _number(value: Any) -> Rational:
    return rational(float(value) if isinstance(value, str) else value)  # "nan", "+inf": refused as not finite


def _live(ebm: Any, task: str) -> Live:
    def predict(rows: list[list[Cell]]) -> NDArray[Any]:
        table = object_table(rows)
        return np.asarray(ebm.predict(table) if task == "regression" else ebm.decision_function(table))

    return predict

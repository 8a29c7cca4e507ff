"""Models of other packages, taken over exactly and checked against the original.

Each package has a file of its own, imported when a model of it is given; the package itself is never imported here: a
model is recognised by the name of its class's module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from suffice.adapters.cells import plain_classes
from suffice.adapters.dispatch import adapter_of, describe, read
from suffice.adapters.draft import Draft, Options, with_facts
from suffice.adapters.layout import Layout
from suffice.adapters.learned import deviations, learned_domains, named_as, ordered_domains, with_names
from suffice.adapters.saturation import check_unsaturated
from suffice.adapters.verification import Check, read_cells, read_rows, split, verify
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel, Feature
from suffice.model.domain import Domain
from suffice.question.row import Row

ENOUGH_ROWS = 100  # of a reference, to learn from it what features can be
_TASKS = ("binary", "multiclass", "regression")


class Imported(NamedTuple):
    """A model taken over, and what it was checked on."""

    model: AdditiveModel
    source: str
    check: Check


def from_model(
    obj: Any,
    reference: Any = None,
    *,
    features: Sequence[str | Feature] | None = None,
    domains: Mapping[str, Domain] | Literal["reference", "model"] | None = None,
    task: str | None = None,
    classes: Sequence[Any] | None = None,
    layout: str | Layout | None = None,
) -> AdditiveModel:
    """Return the exact additive model of a fitted model of another package.

    Parameters
    ----------
    obj : fitted model, or what it was saved as
        A PyTorch module or state_dict (a list of these is an ensemble), a fitted model of scikit-learn, InterpretML,
        XGBoost, LightGBM, CatBoost, statsmodels, optbinning, dnamite, APLR or pyGAM, inside pipelines, searches and
        other wrappers too, an ONNX model, a scorecard, PMML; their JSON or text; or the path of such a file, or of
        PyTorch weights. See `docs/models.md`.
    reference : rows, or a pair (rows, predictions), optional
        Rows in the user's units, and the scores or probabilities that the original gives for them. A live model is
        asked directly; without rows it is asked at places where its shapes bend or jump. Required where the original
        does not say everything about itself. The rows also give the standard deviations that radii are counted in.
    features : sequence of str or Feature, optional
        For originals without names: names, or features with the scaling that comes before the model.
    domains : mapping of name to Domain, "reference" or "model", optional
        What features can be, where that is less than all values the original takes. Of features not named it is learned
        from 100 reference rows or more: whole numbers where all are whole, the range observed with some slack, missing
        and special codes where they occur (`docs/domains.md`). "reference" learns from fewer rows too; "model" learns
        nothing and keeps every value that the original takes.
    task, classes : optional
        What the score decides, where the original does not say: "binary", "multiclass" or "regression".
    layout : str or Layout, optional
        How a PyTorch code base names and means its parameters, where the keys do not show it.

    Returns
    -------
    AdditiveModel

    Raises
    ------
    AdapterError
        If any part of the model cannot be converted exactly, or the result does not predict what the original does.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> fitted = LogisticRegression().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 0.5], [3.0, 0.0]], ["no", "no", "yes", "yes"])
    >>> model = from_model(fitted, features=["income", "debt"])
    >>> model.task, model.classes, model.names
    ('binary', ('no', 'yes'), ('income', 'debt'))
    """
    named = None if classes is None else plain_classes(classes)
    return convert(obj, reference, Options(features, domains, task, named, layout)).model


def convert(obj: Any, reference: Any, options: Options) -> Imported:
    """Read a model and check it against its original."""
    if isinstance(obj, os.PathLike) or (isinstance(obj, str) and "\n" not in obj):
        obj, reference, options = _from_file(obj, reference, options)
    _check_options(obj, options)
    rows, _ = split(reference)
    draft = _with_known_probability(read(obj, replace(options, rows=rows)))
    if options.features is None:
        said = options.domains if isinstance(options.domains, Mapping) else {}
        draft = replace(draft, model=named_as(draft.model, rows, said))
    if rows is not None:
        draft = replace(draft, model=with_names(draft.model, read_cells(draft.model, rows)))
    if options.task not in (None, draft.model.task):
        raise AdapterError(f"{draft.source} is a {draft.model.task} model, but task={options.task!r} was given")
    read_reference = None if rows is None else read_rows(draft.model, rows)
    stated = with_facts(draft.model, _stated_domains(draft.model, read_reference, options), {})
    model = with_facts(stated, _learned_domains(obj, stated, read_reference or [], options), {})
    if draft.saturates is not None:
        check_unsaturated(model, draft.source, draft.saturates)
    # Compared wherever the original decides by its scores, also where the reference rows are not.
    checked = verify(draft, reference, (stated if draft.saturates is None else model).domains, read_reference)
    said = options.domains if isinstance(options.domains, Mapping) else {}
    if options.domains != "model":
        ordered = ordered_domains(model, rows)
        model = with_facts(model, {name: domain for name, domain in ordered.items() if name not in said}, {})
    spread = deviations(draft.model, read_reference) | deviations(model, read_reference) if read_reference else {}
    model = with_facts(model, {}, spread)
    if not isinstance(obj, AdditiveModel):
        model = with_facts(model, _without_ranks(model, said), {})
    return Imported(model, draft.source, checked)


def _without_ranks(model: AdditiveModel, said: Mapping[str, Domain]) -> dict[str, Domain]:
    """Return the domains whose order an original tells, but no row how far a rank is: they have no distances."""
    return {
        feature.name: replace(domain, is_ordered=False)
        for feature, domain in zip(model.features, model.domains, strict=True)
        if domain.is_ordered and feature.deviation is None and feature.name not in said
    }


def _with_known_probability(draft: Draft) -> Draft:
    """Return a draft whose model says that it has no probability, where the softmax is not known to be one."""
    model = draft.model
    is_softmax = draft.live is None and draft.predicts is None  # a model of our own says itself what it has
    is_softmax = is_softmax or draft.chances is not None or "softmax" in (draft.link, draft.predicts)
    if model.task != "multiclass" or is_softmax or not model.has_probability:
        return draft
    silent = AdditiveModel.of_terms(
        model.terms, model.intercept, model.task, model.features, model.classes, model.ties, None
    )
    return replace(draft, model=silent)


def _stated_domains(model: AdditiveModel, rows: Sequence[Row] | None, options: Options) -> Mapping[str, Domain]:
    """Return what a user says that features can be."""
    given = options.domains
    if not isinstance(given, str):
        return given or {}
    if given not in ("reference", "model"):
        raise AdapterError(f"domains must be a mapping of names to Domain, 'reference' or 'model', got {given!r}")
    if given == "reference" and rows is None:
        raise AdapterError("domains='reference' takes domains from the reference rows, and there are none; give some")
    return learned_domains(model, rows) if given == "reference" and rows is not None else {}


def _learned_domains(obj: Any, model: AdditiveModel, rows: Sequence[Row], options: Options) -> Mapping[str, Domain]:
    """Return what training, or enough reference rows, show of features of which a user says nothing."""
    if isinstance(options.domains, str):
        return {}
    own = getattr(obj, "to_additive", None)
    known = learned_domains(model, rows) if len(rows) >= ENOUGH_ROWS else {}
    if own is not None:
        known = dict(zip(model.names, own().domains, strict=True))
    return {name: domain for name, domain in known.items() if name not in (options.domains or {})}


def _check_options(obj: Any, options: Options) -> None:
    """Refuse what a user says where it means nothing, or the original says otherwise."""
    if options.task not in (None, *_TASKS):
        raise AdapterError(f"task must be one of {', '.join(_TASKS)}, got {options.task!r}")
    if options.layout is not None and (isinstance(obj, AdditiveModel) or adapter_of(obj) != "torch"):
        raise AdapterError(
            f"a layout says how PyTorch's parameters are named; {describe(obj)} has none, so leave it out"
        )
    own = [] if options.classes is None else _own_classes(obj)
    # Other names for the classes are welcome; the original's own names must stay in its order.
    if any(name in own and own[k : k + 1] != [name] for k, name in enumerate(options.classes or ())):
        raise AdapterError(f"{describe(obj)} has the classes {own} in this order, but classes={options.classes!r}")


def _own_classes(obj: Any) -> list[Any]:
    """Return the classes that an original tells, none if it does not."""
    if isinstance(obj, Mapping):
        outputs = obj["ebm"].get("outputs") if isinstance(obj.get("ebm"), Mapping) else None
        found = outputs[0].get("classes") if isinstance(outputs, list) and outputs else None
    else:
        found = getattr(obj, "classes_", None)
    return plain_classes(found) if found is not None else []


def _from_file(path: str | os.PathLike[str], reference: Any, options: Options) -> tuple[Any, Any, Options]:
    """Return what a file holds, with what it says of itself where the user does not say it."""
    from suffice.adapters.files import load_weights, read_file

    if Path(path).suffix in (".pt", ".pth", ".ckpt"):
        return load_weights(path), reference, options
    found = read_file(path)
    told = found.options
    joined = Options(
        options.features or told.features,
        options.domains,
        options.task or told.task,
        options.classes or told.classes,
        options.layout or told.layout,
    )
    return found.obj, found.reference if reference is None else reference, joined


__all__ = ["Imported", "Layout", "Options", "convert", "from_model"]

"""Models of other packages, taken over exactly and checked against the original.

Each package has a file of its own, imported when a model of it is given; the package itself is never imported here: a
model is recognised by the name of its class's module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from suffice.adapters.cells import plain_classes
from suffice.adapters.draft import Draft, Options, with_facts
from suffice.adapters.layout import Layout
from suffice.adapters.saturation import check_unsaturated
from suffice.adapters.verification import Check, deviations, read_rows, split, verify
from suffice.errors import AdapterError, CellBudgetError, FeatureNameError, PieceBudgetError, SufficeError
from suffice.model.additive import AdditiveModel, Feature
from suffice.model.domain import Domain

# Top-level package of a class -> the adapter's file. The first class of the inheritance chain that is known decides, so
# a subclass of a user's own counts as what it derives from.
_ADAPTERS: Mapping[str, str] = {
    "interpret": "ebm",
    "sklearn": "sklearn",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "catboost": "catboost",
    "aplr": "aplr",
    "dnamite": "dnamite",
    "pygam": "pygam",
    "nam": "torch",
    "torch": "torch",
    "onnx": "onnx",
}

# A field at the top of a JSON document -> the adapter's file.
_DOCUMENTS: Mapping[str, str] = {"ebm": "ebm", "learner": "xgboost", "oblivious_trees": "catboost"}


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
    domains: Mapping[str, Domain] | None = None,
    task: str | None = None,
    classes: Sequence[Any] | None = None,
    layout: str | Layout | None = None,
) -> AdditiveModel:
    """Return the exact additive model of a fitted model of another package.

    Parameters
    ----------
    obj : fitted model, or what it was saved as
        A PyTorch module or state_dict (a list of these is an ensemble), a fitted model or pipeline of scikit-learn,
        InterpretML, XGBoost, LightGBM, CatBoost, dnamite, APLR or pyGAM, an ONNX model; their JSON or text; or the path
        of such a file, or of PyTorch weights. See `docs/models.md`.
    reference : rows, or a pair (rows, predictions), optional
        Rows in the user's units, and the scores or probabilities that the original gives for them. A live model is
        asked directly; without rows it is asked at places where its shapes bend or jump. Required where the original
        does not say everything about itself. The rows also give the standard deviations that radii are counted in.
    features : sequence of str or Feature, optional
        For originals without names: names, or features with the scaling that comes before the model.
    domains : mapping of name to Domain, optional
        What features can be, where that is less than all values the original takes.
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
    draft = _draft(obj, options)
    if options.task not in (None, draft.model.task):
        raise AdapterError(f"{draft.source} is a {draft.model.task} model, but task={options.task!r} was given")
    narrowed = with_facts(draft.model, options.domains or {}, {})
    if draft.saturates is not None:
        check_unsaturated(narrowed, draft.source, draft.saturates)
    checked = verify(draft, reference, narrowed.domains)
    rows, _ = split(reference)
    spread = {} if rows is None else deviations(draft.model, read_rows(draft.model, rows))
    return Imported(with_facts(narrowed, {}, spread), draft.source, checked)


def _check_options(obj: Any, options: Options) -> None:
    """Refuse what a user says where it means nothing, or the original says otherwise."""
    if options.task not in (None, *_TASKS):
        raise AdapterError(f"task must be one of {', '.join(_TASKS)}, got {options.task!r}")
    if options.layout is not None and (isinstance(obj, AdditiveModel) or _adapter(obj) != "torch"):
        raise AdapterError(
            f"a layout says how PyTorch's parameters are named; {_describe(obj)} has none, so leave it out"
        )
    own = [] if options.classes is None else _own_classes(obj)
    # Other names for the classes are welcome; the original's own names must stay in its order.
    if any(name in own and own[k : k + 1] != [name] for k, name in enumerate(options.classes or ())):
        raise AdapterError(f"{_describe(obj)} has the classes {own} in this order, but classes={options.classes!r}")


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


def _draft(obj: Any, options: Options) -> Draft:
    if isinstance(obj, AdditiveModel):
        return Draft(obj, "the model")
    if hasattr(obj, "to_additive") and not isinstance(obj, type):  # suffice's own estimators
        return Draft(obj.to_additive(), f"the {type(obj).__name__}")
    name = _adapter(obj)
    read = import_module(f"suffice.adapters.{name}").convert
    try:
        draft: Draft = read(obj, options)
    except (AdapterError, CellBudgetError, FeatureNameError, PieceBudgetError):
        raise
    except SufficeError as error:
        raise AdapterError(f"{_describe(obj)} cannot be converted: {error}") from None
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        text = " ".join(str(error).split())[:120]
        raise AdapterError(
            f"{_describe(obj)} is incomplete or inconsistent ({type(error).__name__}: {text}); it is damaged, or not "
            "what it claims to be"
        ) from error
    return draft


def _describe(obj: Any) -> str:
    if isinstance(obj, (Mapping, str)):
        return "the document" if isinstance(obj, Mapping) else "the text"
    return f"the {type(obj).__name__}"


def _adapter(obj: Any) -> str:
    if isinstance(obj, type):
        raise AdapterError(f"{obj.__name__} is a class; give a fitted object of it")
    if isinstance(obj, (list, tuple)) and obj:
        return _adapter(obj[0])
    for kind in type(obj).__mro__:
        package = kind.__module__.split(".")[0]
        if package in _ADAPTERS:
            return _ADAPTERS[package]
    if isinstance(obj, Mapping):
        return next((name for key, name in _DOCUMENTS.items() if key in obj), "torch")
    if isinstance(obj, str) and obj.startswith("tree\n"):
        return "lightgbm"
    raise AdapterError(
        f"suffice does not know models of type {type(obj).__module__}.{type(obj).__name__}; docs/models.md lists those "
        "it reads. You can also build any additive model by hand: suffice.AdditiveModel"
    )


__all__ = ["Imported", "Layout", "Options", "convert", "from_model"]

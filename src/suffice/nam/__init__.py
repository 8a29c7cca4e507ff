"""Neural additive models to train, in the way of scikit-learn; needs PyTorch (`pip install suffice[nam]`)."""

try:
    import sklearn  # noqa: F401
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError(f"{error}; neural additive models need more packages: pip install 'suffice[nam]'") from None

from suffice.nam.estimators import NAMClassifier, NAMRegressor
from suffice.nam.tuning import choose_explanation_weight

__all__ = ["NAMClassifier", "NAMRegressor", "choose_explanation_weight"]

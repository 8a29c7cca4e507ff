"""Additive models to train, in the way of scikit-learn; needs scikit-learn and pandas (`pip install suffice[gam]`)."""

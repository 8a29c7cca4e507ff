"""Ways to look at results; they read explanations and compute nothing."""

"""Exact numbers, and the values that a feature can take."""

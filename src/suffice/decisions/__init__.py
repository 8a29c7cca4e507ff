"""Decisions: what banks, hospitals and auditors ask of a model, put together from what is proven of its rows."""

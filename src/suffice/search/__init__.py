"""Searches: pure functions of drops and margins."""

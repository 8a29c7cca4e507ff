"""Pure functions of constraints: which sets of features suffice, and how far."""

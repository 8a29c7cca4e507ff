"""Checks certificates of suffice: reads a model file and a certificate, trusts neither, shares no code with the solver.

Standard library only; all arithmetic in integers and fractions. `docs/certificate.md` has the format and the theorems.
"""

from suffice_check.check import check, check_files
from suffice_check.reading import RejectedError, UnreadableError

__all__ = ["RejectedError", "UnreadableError", "check", "check_files"]

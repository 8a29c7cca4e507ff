"""Checks certificates of suffice: reads a model file and a certificate, trusts neither, shares no code with the solver.

Standard library only; all arithmetic in integers and fractions. `docs/certificate.md` has the format and the theorems.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from suffice_check.api import check, check_files, statement
    from suffice_check.reading import RejectedError, UnreadableError

__all__ = ["RejectedError", "UnreadableError", "check", "check_files", "statement"]


def __getattr__(name: str) -> object:
    # Nothing is imported before it is asked for: `python -m` runs this file before `__main__` can mend the path.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from suffice_check import api, reading

    return getattr(reading if name.endswith("Error") else api, name)

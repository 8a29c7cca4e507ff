"""`suffice-check MODEL CERTIFICATE...`: exit 0 saying what is proven, 1 naming the step that fails, 2 if unreadable."""

import os
import sys

if __name__ == "__main__":  # `python -m` looks in the current folder first: no file there may pass for Python's own
    sys.path[:] = [place for place in sys.path if place not in ("", os.getcwd())]

import json

from suffice_check.api import statement
from suffice_check.checker import Checker
from suffice_check.reading import (
    CERTIFICATE_LIMIT,
    MODEL_LIMIT,
    RejectedError,
    UnreadableError,
    printable,
    read_bytes,
    unreadable,
)
from suffice_check.sentence import Sentence

USAGE = "usage: suffice-check [--statement | --json] MODEL CERTIFICATE..."


def main(arguments: list[str] | None = None) -> int:
    """Check certificates of one model; print what is proven, or why not. Return the largest exit code of all."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    given = sys.argv[1:] if arguments is None else arguments
    forms = [one for one in given if one.startswith("--")]
    model, *paths = [one for one in given if one not in forms] or [""]
    if not paths or len(forms) > 1 or not {*forms} <= {"--statement", "--json"}:
        print(USAGE, file=sys.stderr)
        return 2
    codes: list[int] = []
    try:
        checker = Checker(read_bytes(model, MODEL_LIMIT))
    except (UnreadableError, MemoryError) as error:
        return _fail("", error)
    for path in paths:
        label = f"[{len(codes) + 1}/{len(paths)}] {printable(path)}: " if len(paths) > 1 else ""
        try:
            print(label + _proven(checker, path, *forms), flush=True)
            codes.append(0)
        except (RejectedError, UnreadableError, MemoryError) as error:
            codes.append(_fail(label, error))
    if len(paths) > 1:
        kinds = ", ".join(f"{codes.count(k)} {kind}" for k, kind in enumerate(("proven", "rejected", "unreadable")))
        print(f"{len(codes)} certificates: {kinds}", file=sys.stderr)
    return max(codes)


def _proven(checker: Checker, path: str, form: str = "") -> str:
    content = read_bytes(path, CERTIFICATE_LIMIT)
    proven = checker.check(content)
    if form == "--json":
        return json.dumps(statement(proven, content))
    return "\n".join(Sentence(proven, is_full=True).lines()) if form else Sentence(proven).text()


def _fail(label: str, error: Exception) -> int:
    """Say why nothing is proven; return the exit code."""
    if isinstance(error, RejectedError):
        print(f"{label}Rejected: {error}", file=sys.stderr, flush=True)
        return 1
    told = (
        error if isinstance(error, UnreadableError) else unreadable("the files, for there is not enough memory", error)
    )
    print(f"{label}Cannot read {told}", file=sys.stderr, flush=True)
    return 2


if __name__ == "__main__":
    sys.exit(main())

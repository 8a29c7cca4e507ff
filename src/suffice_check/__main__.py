"""`suffice-check MODEL CERTIFICATE...`: exit 0 saying what is proven, 1 naming the step that fails, 2 if unreadable."""

import os
import sys

if __name__ == "__main__":  # `python -m` looks in the current folder first: no file there may pass for Python's own
    sys.path[:] = [place for place in sys.path if place not in ("", os.getcwd())]

import json

from suffice_check.api import statement
from suffice_check.reading import CERTIFICATE_LIMIT, MODEL_LIMIT, RejectedError, UnreadableError, read_bytes, unreadable
from suffice_check.sentence import Sentence
from suffice_check.verdict import Checker

USAGE = "usage: suffice-check [--statement | --json] MODEL CERTIFICATE..."


def main(arguments: list[str] | None = None) -> int:
    """Check certificates of one model; print what is proven, or why not. Return the worst exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    given = sys.argv[1:] if arguments is None else arguments
    forms = [one for one in given if one in ("--statement", "--json")]
    paths = [one for one in given if one not in forms]
    if len(paths) < 2 or len(forms) > 1 or any(path.startswith("--") for path in paths):
        print(USAGE, file=sys.stderr)
        return 2
    model, *certificates = paths
    checker, codes = None, []
    for place, path in enumerate(certificates, start=1):
        label = f"{place}/{len(certificates)} {ascii(path)}: " if len(certificates) > 1 else ""
        try:
            checker = checker or Checker(read_bytes(model, MODEL_LIMIT))
            content = read_bytes(path, CERTIFICATE_LIMIT)
            proven = checker.check(content)
            if "--json" in forms:
                print(json.dumps(statement(proven, content)), flush=True)
            elif "--statement" in forms:
                print("\n".join([f"{label}", *Sentence(proven, is_full=True).lines()] if label else Sentence(proven, is_full=True).lines()))
            else:
                print(label + Sentence(proven).text(), flush=True)
            codes.append(0)
        except RejectedError as error:
            print(f"{label}Rejected: {error}", file=sys.stderr, flush=True)
            codes.append(1)
        except (UnreadableError, MemoryError) as error:
            problem = error if isinstance(error, UnreadableError) else unreadable("the files, for there is not enough memory", error)
            print(f"{label}Cannot read {problem}", file=sys.stderr, flush=True)
            codes.append(2)
            if checker is None:
                return 2
    if len(certificates) > 1:
        told = [f"{codes.count(code)} {what}" for code, what in enumerate(("proven", "rejected", "unreadable"))]
        print(f"{len(codes)} certificates: {', '.join(told)}", file=sys.stderr)
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())

"""`suffice-check MODEL CERTIFICATE`: exit 0 saying what is proven, 1 naming the step that fails, 2 if unreadable."""

import os
import sys

if __name__ == "__main__":  # `python -m` looks in the current folder first: no file there may pass for Python's own
    sys.path[:] = [place for place in sys.path if place not in ("", os.getcwd())]

from suffice_check.reading import RejectedError, UnreadableError
from suffice_check.verdict import check_files


def main(arguments: list[str] | None = None) -> int:
    """Check one certificate; print what is proven, or why not."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 2:
        print("usage: suffice-check MODEL CERTIFICATE", file=sys.stderr)
        return 2
    try:
        print(check_files(*given))
    except RejectedError as error:
        print(f"Rejected: {error}", file=sys.stderr)
        return 1
    except UnreadableError as error:
        print(f"Cannot read {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Files that people write in TOML, read with limits.

In: a path. Out: the document, or one sentence of the error that the caller names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from suffice.errors import SufficeError
from suffice.numbers.exact import brief

_MOST_BYTES = 1 << 20
_MOST_DOTS = 2000  # in a line: the time that TOML takes grows with the square of the parts of a dotted name


def read_toml(
    path: str | Path, what: str, error: type[SufficeError], parse_float: Callable[[str], Any] = float
) -> dict[str, Any]:
    """Return the document of a file; `what` says in errors what the file should have been."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise error(f"{path}: there is no such file") from None
    except OSError as wrong:
        raise error(f"{path}: cannot be read: {wrong.strerror or wrong}") from None
    if len(content) > _MOST_BYTES:
        raise error(f"{path}: has more than {_MOST_BYTES:,} bytes")
    if any(line.count(b".") > _MOST_DOTS for line in content.splitlines()):
        raise error(f"{path}: has a line with more than {_MOST_DOTS:,} dots; break it")
    try:
        return tomllib.loads(content.decode(), parse_float=parse_float)
    except (ValueError, RecursionError) as wrong:
        raise error(f"{path}: is not {what} in TOML ({brief(' '.join(str(wrong).split()))})") from None

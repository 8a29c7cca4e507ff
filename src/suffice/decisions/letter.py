"""A letter that tells somebody why a decision was made, as text and as HTML, in words of the user's own.

In: the reasons, and texts for features from a file of reason codes. Out: a `Letter`. It states what is proven and no
more; whether that is what the law asks for is for others to say.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from suffice.errors import DataError, visible
from suffice.layout.html import escaped
from suffice.numbers.exact import brief

_MOST_BYTES = 1 << 24


class Line(NamedTuple):
    """A reason: the feature, the row's value, and the one that it is compared with."""

    feature: str
    here: str
    there: str


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter.

    Parameters
    ----------
    opening, closing : tuple of str
        What stands before the list, and after it.
    reasons : tuple of str
        The list.
    """

    opening: tuple[str, ...]
    reasons: tuple[str, ...]
    closing: tuple[str, ...]

    @property
    def text(self) -> str:
        """The letter as plain text."""
        listed = [f"  {number}. {visible(reason)}" for number, reason in enumerate(self.reasons, 1)]
        return "\n".join([*map(visible, self.opening), *listed, *map(visible, self.closing)]) + "\n"

    @property
    def html(self) -> str:
        """The letter as one HTML element; whatever is in it is escaped."""
        opening, closing = ("".join(f"<p>{escaped(one)}</p>" for one in part) for part in (self.opening, self.closing))
        listed = "".join(f"<li>{escaped(reason)}</li>" for reason in self.reasons)
        reasons = f"<ol>{listed}</ol>" if listed else ""
        return f'<div class="suffice-letter">{opening}{reasons}{closing}</div>\n'

    def __str__(self) -> str:
        return self.text


def write_letter(
    decision: str,
    instead: str | None,
    against: str,
    lines: Sequence[Line],
    codes: Mapping[str, Any],
    *,
    is_proven: bool,
) -> Letter:
    """Return a letter about a decision."""
    if instead is None:
        told = f"had every factor that may be named been as for {against}"
        known = f"Even {told}, it would have stayed." if is_proven else f"Whether it had changed {told} is not known."
        return Letter((f"The decision was: {decision}.",), (), (known,))
    count = "this factor" if len(lines) == 1 else f"these {len(lines)} factors"
    opening = (f"The decision was: {decision}.", "Principal reasons:")
    closing = [f"Had {count} been as for {against}, the decision would have been: {instead}."]
    if is_proven:
        closing.append("So compared, fewer factors would not have changed it.")
    return Letter(opening, tuple(_reason(line, codes.get(line.feature, {})) for line in lines), tuple(closing))


def _reason(line: Line, entry: Mapping[str, Any]) -> str:
    code = f"[{entry['code']}] " if "code" in entry else ""
    text = entry.get("text", line.feature)
    return f"{code}{text}: {line.here}, compared with {line.there}"


def read_codes(path: str | Path) -> dict[str, dict[str, str]]:
    """Return the texts of a file of reason codes: for each feature a table with `text` and perhaps `code`, in TOML.

    Raises
    ------
    DataError
        If the file cannot be read, or an entry is not such a table.
    """
    try:
        content = Path(path).read_bytes()
        if len(content) > _MOST_BYTES:
            raise DataError(f"{path}: has more than {_MOST_BYTES:,} bytes")
        document = tomllib.loads(content.decode())
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: is not a file of reason codes in TOML ({brief(str(error))})") from None
    for name, entry in document.items():
        is_table = isinstance(entry, dict) and entry and set(entry) <= {"code", "text"}
        if not is_table or not all(isinstance(value, str) for value in entry.values()):
            raise DataError(f"{path}: {brief(name)} needs a table with text, code or both, as texts")
    return document

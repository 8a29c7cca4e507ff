"""A letter that tells somebody why a decision was made, as text and as HTML, in words of the user's own.

In: the reasons, and texts for features from a file of reason codes. Out: a `Letter`. It states what is proven and no
more; whether that is what the law asks for is for others to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from suffice.decisions.toml_files import read_toml
from suffice.errors import DataError, visible
from suffice.layout.html import escaped
from suffice.numbers.exact import brief


class Line(NamedTuple):
    """A feature, the row's value, and the one that it is compared with."""

    feature: str
    here: str
    there: str


class Factor(NamedTuple):
    """A reason: the name of a feature or of a group, and what differs, which is of a group one feature or more."""

    name: str
    lines: tuple[Line, ...]


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
    factors: Sequence[Factor],
    codes: Mapping[str, Any],
    *,
    claim: str | None,
    is_proven: bool,
) -> Letter:
    """Return a letter about a decision, or about a claim of which it is told whether it would have stayed true."""
    fewer = "So compared, fewer factors would not have changed it."
    if instead is None:
        told = f"had every factor that may be named been as for {against}"
        stays = "it would have stayed" if claim is None else claim
        known = f"Even {told}, {stays}." if is_proven else f"Whether so even {told} is not known: {stays}."
        return Letter((f"The decision was: {decision}.",), (), (known,))
    count = "this factor" if len(factors) == 1 else f"these {len(factors)} factors"
    opening = (f"The decision was: {decision}.", "Principal reasons:")
    closing = [f"Had {count} been as for {against}, the decision would have been: {instead}."]
    if is_proven:
        closing.append(fewer if claim is None else f"With fewer factors so changed, {claim}.")
    return Letter(opening, tuple(_reason(factor, codes) for factor in factors), tuple(closing))


def _reason(factor: Factor, codes: Mapping[str, Any]) -> str:
    told = [f"{line.here}, compared with {line.there}" for line in factor.lines]
    if [line.feature for line in factor.lines] != [factor.name]:  # a group: what differs within it
        told = [f"{_text(line.feature, codes)} {one}" for line, one in zip(factor.lines, told, strict=True)]
    code = codes.get(factor.name, {}).get("code")
    return f"{'' if code is None else f'[{code}] '}{_text(factor.name, codes)}: {'; '.join(told)}"


def _text(name: str, codes: Mapping[str, Any]) -> str:
    return str(codes.get(name, {}).get("text", name))


def read_codes(path: str | Path) -> dict[str, dict[str, str]]:
    """Return the texts of a file of reason codes: a table with `text`, `code` or both for each name.

    Raises
    ------
    DataError
        If the file cannot be read, or an entry is not such a table.
    """
    document = read_toml(path, "a file of reason codes", DataError)
    for name, entry in document.items():
        is_table = isinstance(entry, dict) and entry and set(entry) <= {"code", "text"}
        if not is_table or not all(isinstance(value, str) for value in entry.values()):
            raise DataError(f"{path}: {brief(name)} needs a table with text, code or both, as texts")
    return document

"""What everything that is told has in common: facts, and the same as text and as HTML."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from suffice.layout.facts import Facts
from suffice.layout.html import to_html
from suffice.layout.text import to_text


class Told(ABC):
    """Something that is told in facts. `print` shows them as text, a notebook as HTML."""

    @abstractmethod
    def facts(self) -> Facts:
        """Return what there is to say, as labelled sentences and tables."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """Return the same as JSON: every number exact, as "p/q", beside its nearest float."""

    def __str__(self) -> str:
        return to_text(self.facts())

    def _repr_html_(self) -> str:
        return to_html(self.facts())

"""UBJSON, the binary form in which XGBoost saves models (`.ubj`), read into what Python's `json` would return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.errors import AdapterError

_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_WORDS: dict[bytes, Any] = {b"T": True, b"F": False, b"Z": None}
_DEEPEST = 100


def read_ubjson(content: bytes) -> Any:
    """Return the value that a whole document holds.

    Raises
    ------
    AdapterError
        If it ends too early, or is no UBJSON.
    """
    reader = _Reader(content)
    value = reader.value(reader.take(1), 0)
    if reader.at != len(content):
        raise AdapterError(f"the UBJSON ends at byte {reader.at}, but {len(content)} are there; it is damaged")
    return value


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        if count < 0 or self.at + count > len(self.content):
            raise AdapterError(f"the UBJSON asks for {count} bytes at {self.at}, which are not there; it is damaged")
        self.at += count
        return self.content[self.at - count : self.at]

    def value(self, kind: bytes, depth: int) -> Any:
        """Return a value of a kind that was already read."""
        if kind in _NUMBERS:
            return self.numbers(kind, 1)[0]
        if kind in _WORDS:
            return _WORDS[kind]
        if kind == b"S":
            return self.text()
        readers: dict[bytes, Callable[[int], Any]] = {b"{": self.mapping, b"[": self.array}
        if kind not in readers or depth > _DEEPEST:
            raise AdapterError(f"the UBJSON has {kind!r} at byte {self.at}, which begins no value; it is damaged")
        return readers[kind](depth + 1)

    def numbers(self, kind: bytes, count: int) -> list[Any]:
        """Return some numbers of one kind."""
        size = np.dtype(_NUMBERS[kind]).itemsize
        found: list[Any] = np.frombuffer(self.take(count * size), dtype=_NUMBERS[kind]).tolist()
        return found

    def count(self) -> int:
        """Return a length."""
        kind = self.take(1)
        if kind not in _NUMBERS or kind in (b"d", b"D"):
            raise AdapterError(f"the UBJSON has no length at byte {self.at}; it is damaged")
        return int(self.numbers(kind, 1)[0])

    def text(self) -> str:
        """Return a text."""
        return self.take(self.count()).decode("utf-8", "replace")

    def mapping(self, depth: int) -> dict[str, Any]:
        """Return an object; its keys are texts without their kind."""
        found: dict[str, Any] = {}
        while self.content[self.at : self.at + 1] != b"}":
            key = self.text()
            found[key] = self.value(self.take(1), depth)
        self.take(1)
        return found

    def array(self, depth: int) -> list[Any]:
        """Return an array: of one kind and a length, of a length, or up to its end."""
        kind = None
        if self.content[self.at : self.at + 1] == b"$":
            self.take(1)
            kind = self.take(1)
        if kind is not None or self.content[self.at : self.at + 1] == b"#":
            self.take(1)
            count = self.count()
            if kind in _NUMBERS:
                return self.numbers(kind, count)
            if count > len(self.content):
                raise AdapterError(f"the UBJSON has an array of {count} values; it is damaged")
            return [self.value(self.take(1) if kind is None else kind, depth) for _ in range(count)]
        found = []
        while self.content[self.at : self.at + 1] != b"]":
            found.append(self.value(self.take(1), depth))
        self.take(1)
        return found

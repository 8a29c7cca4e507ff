"""The model file as a container: a header in JSON, then arrays of floats side by side (the safetensors format)."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Any, NamedTuple

from suffice_check.network import FLOATS, Tensor
from suffice_check.reading import fields, items, number, only_field, parse, whole
from suffice_check.shapes import Outputs

_MOST_HEADER = 10**8
_MOST_TENSOR = 2**40


def open_file(content: bytes) -> tuple[Any, Tensors]:
    """Return the document of a model file, and its arrays."""
    (length,) = struct.unpack_from("<Q", content)
    if length > min(_MOST_HEADER, len(content) - 8):
        raise ValueError("the header is longer than the file")
    header = parse(content[8 : 8 + length])
    (document,) = fields(header.pop("__metadata__"), "suffice")
    return parse(document.encode()), Tensors(header, memoryview(content)[8 + length :])


class _Place(NamedTuple):
    """Where an array lies in the data of a file."""

    start: int
    end: int
    kind: str
    shape: tuple[int, ...]

    @classmethod
    def read(cls, document: Any) -> _Place:
        kind, lengths, offsets = fields(document, "dtype", "shape", "data_offsets")
        if len(items(lengths)) not in (1, 2):
            raise ValueError("a tensor does not have one or two dimensions")
        shape = tuple(whole(length, _MOST_TENSOR, start=1) for length in lengths)
        start, end = (whole(offset, _MOST_TENSOR) for offset in items(offsets))
        if end - start != FLOATS[kind][1] * math.prod(shape):
            raise ValueError("a tensor does not have the bytes of its shape")
        return cls(start, end, kind, shape)


class Tensors:
    """The arrays of a file, side by side from the first byte to the last; each is read once, where it is used."""

    def __init__(self, header: dict[str, Any], data: memoryview) -> None:
        self.places, self.data, end = {name: _Place.read(entry) for name, entry in header.items()}, data, 0
        for place in sorted(self.places.values()):
            if place.start != end:
                raise ValueError("the tensors do not lie side by side")
            end = place.end
        if end != len(data):
            raise ValueError("the tensors do not cover the data")

    def take(self, name: Any) -> Tensor:
        """Return an array that has not been taken yet."""
        if not isinstance(name, str) or name not in self.places:
            raise ValueError(f"there is no tensor {str(name)[:40]!r}, or it is used twice")
        start, end, kind, shape = self.places.pop(name)
        entries = struct.unpack(f"<{math.prod(shape)}{FLOATS[kind][0]}", self.data[start:end])
        if not all(map(math.isfinite, entries)):
            raise ValueError("a tensor contains something other than finite numbers")
        return Tensor(kind, shape, entries)

    def rows(self, document: Any) -> list[Outputs] | list[tuple[float, ...]]:
        """Return rows of numbers, as they are in the file: floats of an array, or fractions."""
        kind, content = only_field(document)
        if kind == "numbers":
            return [tuple(map(number, items(row))) for row in items(content)]
        if kind != "tensor":
            raise ValueError(f"{kind!r} is not a way to list numbers")
        tensor = self.take(content)
        if tensor.kind != "F64" or len(tensor.shape) != 2:
            raise ValueError("a tensor in place of numbers has another type than float64, or not two dimensions")
        return tensor.rows()

    def numbers(self, document: Any) -> list[Outputs]:
        """Return rows of numbers."""
        return [tuple(map(Fraction, row)) for row in self.rows(document)]

    def row(self, document: Any) -> list[Fraction]:
        """Return one row of numbers."""
        rows = self.numbers(document)
        if len(rows) != 1:
            raise ValueError("cuts and knots have one row")
        return list(rows[0])

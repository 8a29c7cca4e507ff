"""Compiled features in a folder, so that the same model is compiled once and not by every process that loads it.

In: a model, the content of its file, a budget of pieces. Out: the exact functions of its features, as compiling gives
them. A file of the folder is a safetensors file: a JSON document that says of each feature what it became, and the
numbers of all pieces as integers of any length. Nothing in it is ever executed.

Guaranteed: a file is used only for the model, the budget and the version of this format that its name and its document
stand for, and only if its checksum says that it is as it was written; otherwise the model is compiled, with a warning.
A checksum finds damage, not malice: whoever may write to the folder decides what is said of the models.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from flint import fmpq
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as serialise

from suffice.errors import OptionError
from suffice.model.additive import AdditiveModel, checked_pieces
from suffice.model.fields import fields, no_duplicates, value_in
from suffice.model.file_format import Json
from suffice.model.writing import value_out, write_whole
from suffice.numbers.exact import Rational
from suffice.shapes.function import Function
from suffice.shapes.lazy import Lazy
from suffice.shapes.pieces import Pieces

FORMAT = 1  # raised whenever the file, or what compiling gives for a model, changes; older files are then not found
_KEY = "suffice compiled"  # of the one entry in the header: the checksum, and the document

Features = tuple[tuple[Function, ...], ...]


class CompileCache:
    """A folder of compiled models.

    Parameters
    ----------
    folder : path
        Made if there is none, for its owner alone.

    Raises
    ------
    OptionError
        If it is no folder, cannot be made, or every user of the machine may write to it.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        try:
            self.folder = Path(folder)
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            mode = self.folder.stat().st_mode
        except (OSError, TypeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise OptionError(
                f"cache must be a folder to keep compiled models in, and {folder!r} is none: {reason}"
            ) from None
        if os.name == "posix" and mode & stat.S_IWOTH:
            raise OptionError(
                f"every user of this machine may write to {str(folder)!r}, and so decide what is said of a model; "
                "take a folder of your own for the cache (chmod o-w)"
            )

    def features(
        self, model: AdditiveModel, content: bytes, max_pieces: int, compile_all: Callable[[], Features]
    ) -> Features:
        """Return the functions of each feature: read, or compiled and written for the next time.

        Parameters
        ----------
        content : bytes
            What the model's file holds, all of it.
        compile_all : callable
            Compiles them.
        """
        about = {
            "format": FORMAT,
            "model": hashlib.sha256(content).hexdigest(),
            "max_pieces": checked_pieces(max_pieces),
        }
        name = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        path = self.folder / f"{name}.safetensors"
        try:
            return _read(path, about, model)
        except FileNotFoundError:
            pass
        except (OSError, SafetensorError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
            is_torn = isinstance(error, SafetensorError)
            said = "it is no whole safetensors file" if is_torn else " ".join(str(error).split())[:120]
            warnings.warn(f"{path}: is not as it was written ({said}); the model is compiled anew", stacklevel=2)
        found = compile_all()
        try:
            write_whole(path, _written(about, found))
        except OSError as error:
            reason = error.strerror or error
            warnings.warn(f"{path}: cannot be written ({reason}); the next process compiles again", stacklevel=2)
        return found


# --- writing ----------------------------------------------------------------------------------------------------------


def _written(about: Json, features: Features) -> bytes:
    """Return the content of a file."""
    numbers: list[Rational] = []
    document = {**about, "features": [_feature_out(functions, numbers) for functions in features]}
    whole = [int(end) for number in numbers for end in (number.p, number.q)]
    parts = [one.to_bytes(one.bit_length() // 8 + 1, "little", signed=True) for one in whole]
    lengths = np.array([len(one) for one in parts], np.uint32)
    content = np.frombuffer(b"".join(parts), np.uint8)
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    head = f"{_checksum(text, lengths, content)} {text}"
    return serialise({"lengths": lengths, "bytes": content}, {_KEY: head})


def _feature_out(functions: Sequence[Function], numbers: list[Rational]) -> Json:
    pieces = [one for one in functions if isinstance(one, Pieces)]
    if len(pieces) < len(functions):  # these take no time to compile, or do it where they are asked about
        return {"kind": "lazy" if any(isinstance(one, Lazy) for one in functions) else "other"}
    for one in pieces:
        for column in (one.knots, one.slopes, one.offsets, one.values, one.labels.values()):
            numbers.extend(column)
    each = [{"knots": len(one.knots), "labels": [value_out(label) for label in one.labels]} for one in pieces]
    return {"kind": "pieces", "outputs": each}


def _checksum(text: str, lengths: NDArray[np.uint32], numbers: NDArray[np.uint8]) -> str:
    found = hashlib.sha256()
    for part in (text.encode(), lengths.astype("<u4").tobytes(), numbers.tobytes()):
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()


# --- reading ----------------------------------------------------------------------------------------------------------


def _read(path: Path, about: Json, model: AdditiveModel) -> Features:
    """Return what a file holds; an error says in what it does not fit."""
    with safe_open(path, framework="numpy") as file:
        head = (file.metadata() or {})[_KEY]
        lengths, content = file.get_tensor("lengths"), file.get_tensor("bytes")
    checksum, _, text = head.partition(" ")
    if checksum != _checksum(text, lengths, content):
        raise ValueError("its checksum is another")
    document = json.loads(text, object_pairs_hook=no_duplicates)
    listed = document.pop("features")
    if document != about or len(listed) != len(model.features):
        raise ValueError("it is of another model, budget or version")
    numbers = _numbers_in(content.tobytes(), lengths.tolist())
    found = tuple(_feature_in(model, i, one, about["max_pieces"], numbers) for i, one in enumerate(listed))
    if next(numbers, None) is not None:
        raise ValueError("it has more numbers than functions")
    return found


def _numbers_in(content: bytes, lengths: Iterable[int]) -> Iterator[Rational]:
    start, numerator = 0, None
    for length in lengths:
        one = int.from_bytes(content[start : start + length], "little", signed=True)
        start += length
        if numerator is None:
            numerator = one
        else:
            yield fmpq(numerator, one)
            numerator = None


def _feature_in(
    model: AdditiveModel, i: int, document: Json, max_pieces: int, numbers: Iterator[Rational]
) -> tuple[Function, ...]:
    if document["kind"] == "lazy":
        return model.lazy_feature(i, max_pieces)
    if document["kind"] == "other":
        return model.compile_feature(i, max_pieces, lazily=True)
    _, outputs = fields(document, "kind", "outputs")
    return tuple(_pieces_in(one, numbers) for one in outputs)


def _pieces_in(document: Json, numbers: Iterator[Rational]) -> Pieces:
    count, labels = fields(document, "knots", "labels")
    sizes = count, count + 1, count + 1, count, len(labels)
    knots, slopes, offsets, values, beside = (tuple(islice(numbers, size)) for size in sizes)
    if any(left >= right for left, right in pairwise(knots)):
        raise ValueError("its knots do not increase")
    named = zip((value_in(label) for label in labels), beside, strict=True)
    return Pieces(
        knots, slopes, offsets, values, {label: value for label, value in named if not isinstance(label, fmpq)}
    )

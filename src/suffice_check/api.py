"""What others call: one certificate against one model, as bytes or as files."""

from __future__ import annotations

import json
import os
from typing import Any

from suffice_check.checker import Checker
from suffice_check.reading import CERTIFICATE_LIMIT, MODEL_LIMIT, read_bytes, unreadable
from suffice_check.sentence import Sentence
from suffice_check.verdict import Proven


def check(model: bytes, certificate: bytes) -> str:
    """Return in words what a certificate proves; `RejectedError` or `UnreadableError` otherwise."""
    return Sentence(Checker(model).check(certificate)).text()


def check_files(model: str | os.PathLike[str], certificate: str | os.PathLike[str]) -> str:
    """Return in words what a certificate proves; `RejectedError` or `UnreadableError` otherwise."""
    try:
        return check(read_bytes(model, MODEL_LIMIT), read_bytes(certificate, CERTIFICATE_LIMIT))
    except MemoryError as error:
        raise unreadable("the files, for there is not enough memory", error) from None


def statement(proven: Proven, content: bytes) -> dict[str, Any]:
    """Return what a certificate, whose content this is, says: as data, without its evidence."""
    document = json.loads(content)
    del document["evidence"]
    return {"is_proven": True, "says": Sentence(proven).text(), **document}

"""The document of a certificate: what was asked and what is said, written down."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path
from typing import Any, TypeAlias

from flint import fmpq

from suffice.claims import AtLeast, AtMost, Beats, Claim, ProbabilityAtLeast, Same, Within, logit
from suffice.errors import CertificateError, ModelFileError
from suffice.labels import Missing, Value
from suffice.model import AdditiveModel
from suffice.model_file import load_model, to_bytes
from suffice.preferences import Choices
from suffice.rational import Rational
from suffice.results import Statement
from suffice.rows import Row

VERSION = 1
Json = dict[str, Any]
PathLike: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True, slots=True, repr=False)
class Certificate:
    """A proof that can be checked by someone who trusts neither us nor this library: see `suffice-check`.

    `text` is the file's content, the same bytes for the same result; `save` writes it.
    """

    document: Json

    @property
    def text(self) -> str:
        """The certificate as JSON."""
        return json.dumps(self.document, ensure_ascii=True, separators=(",", ":")) + "\n"

    def save(self, path: PathLike) -> None:
        """Write the certificate to a file."""
        try:
            Path(path).write_text(self.text, encoding="ascii")
        except (OSError, ValueError) as error:
            raise CertificateError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from None

    def __repr__(self) -> str:
        return f"<Certificate: {self.document['result']['kind']}, {len(self.text)} bytes>"


def write(
    model: AdditiveModel,
    statement: Statement,
    row: Row,
    *,
    result: Json,
    evidence: Json,
    model_file: PathLike | None,
    choices: Choices | None = None,
    charged: Sequence[Rational] = (),
) -> Certificate:
    """Return the certificate of a result."""
    radii, claim, bits, at_most, norm = statement
    return Certificate(
        {
            "version": VERSION,
            "model": _model_hash(model, model_file),
            "row": [value_document(x) for x in row],
            "radii": [None if radius is None else str(radius) for radius in radii],
            "norm": None if norm == math.inf else int(norm),
            "at_most": at_most,
            "claim": _claim(claim, model, bits),
            "charges": [str(charge) for charge in charged] if any(charged) else None,
            "choices": _choices(choices),
            "result": result,
            "evidence": evidence,
        }
    )


def _model_hash(model: AdditiveModel, path: PathLike | None) -> str:
    """Return the SHA-256 of the model's file: of the one given, if that is this very model."""
    content = to_bytes(model)
    if path is not None and to_bytes(load_model(path)) != content:
        raise ModelFileError(path, "holds another model than the one explained")
    return hashlib.sha256(content if path is None else Path(path).read_bytes()).hexdigest()


@singledispatch
def _claim(claim: Claim, model: AdditiveModel, bits: int) -> Json:
    raise CertificateError(f"there are no certificates yet for the claim {claim!r}")


@_claim.register
def _(claim: Same, model: AdditiveModel, bits: int) -> Json:
    return {"kind": "same"}


@_claim.register
def _(claim: Beats, model: AdditiveModel, bits: int) -> Json:
    return {"kind": "beats", "other": model.classes.index(claim.other)}


@_claim.register
def _(claim: Within, model: AdditiveModel, bits: int) -> Json:
    return {"kind": "within", "delta": str(claim.delta)}


@_claim.register
def _(claim: AtLeast, model: AdditiveModel, bits: int) -> Json:
    return {"kind": "at_least", "value": str(claim.value)}


@_claim.register
def _(claim: AtMost, model: AdditiveModel, bits: int) -> Json:
    return {"kind": "at_most", "value": str(claim.value)}


@_claim.register
def _(claim: ProbabilityAtLeast, model: AdditiveModel, bits: int) -> Json:
    low, high = logit(claim.p, bits)
    return {"kind": "probability_at_least", "p": str(claim.p), "low": str(low), "high": str(high)}


def _choices(choices: Choices | None) -> Json | None:
    if choices is None or choices.is_plain:
        return None
    return {
        "items": [list(item) for item in choices.items],
        "costs": list(choices.costs),
        "keep": sorted(choices.keep),
        "free": sorted(choices.free),
    }


def value_document(value: Value) -> Json:
    """Return a value of a feature as certificates write it."""
    if isinstance(value, fmpq):
        return {"number": str(value)}
    return {"missing": True} if isinstance(value, Missing) else {"label": value}

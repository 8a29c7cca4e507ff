"""The document of a certificate: what was asked and what is said, written down."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeAlias

from suffice.certificate.cells import Seen
from suffice.certificate.limits import check_bends
from suffice.certificate.witnesses import NotShownError, place_document
from suffice.core.case import Case
from suffice.core.extent import Extent
from suffice.errors import CertificateError, PieceBudgetError
from suffice.model.domain import Domain
from suffice.numbers.exact import Rational
from suffice.question.documents import Json
from suffice.question.region import Region, region_around

VERSION = 3
_TOO_LONG = re.compile("[0-9]{4001}")
_MOST_BYTES = 2**24
_TOO_MANY_PIECES = (
    "there are no certificates where a network has too many pieces to be tabulated over the region; the answer is "
    "proven, but only this library can check it; raise max_pieces or make the radius smaller"
)
_MOST_SMOOTH_BITS = 2**8
_MOST_BITS = 2**13  # how closely least values are looked for that no number attains
PathLike: TypeAlias = str | os.PathLike[str]
P = ParamSpec("P")


@dataclass(frozen=True, slots=True, repr=False)
class Certificate:
    """A proof of an answer that anyone can check without trusting this library: see `suffice-check`.

    Parameters
    ----------
    document : dict
        The certificate as JSON has it. `text` is the file's content, the same bytes for the same answer.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> explainer = Explainer(AdditiveModel([Steps([18], [-1, 2])], features=["age"]))
    >>> explainer.explain({"age": 30}, radius=5, unit="raw").certificate().document["result"]
    {'kind': 'explanation', 'fixed': [], 'lower_bound': '0'}
    """

    document: Json

    @property
    def text(self) -> str:
        """The certificate as JSON."""
        return json.dumps(self.document, ensure_ascii=True, separators=(",", ":")) + "\n"

    def save(self, path: PathLike) -> None:
        """Write the certificate to a file.

        Raises
        ------
        CertificateError
            If the file cannot be written.
        """
        try:
            Path(path).write_text(self.text, encoding="ascii")
        except (OSError, ValueError) as error:
            raise CertificateError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from None

    def __repr__(self) -> str:
        return f"<Certificate: {self.document['result']['kind']}, {len(self.text)} bytes>"


def closely(function: Callable[Concatenate[Case, P], Certificate]) -> Callable[Concatenate[Case, P], Certificate]:
    """Make a function that writes certificates look ever closer to least values that no number attains."""

    @wraps(function)
    def tried(case: Case, /, *args: P.args, **kwargs: P.kwargs) -> Certificate:
        from suffice_check.balls import UnknownError

        if case.compiled.is_bounded:
            raise CertificateError(_TOO_MANY_PIECES)
        if case.compiled.is_curved and case.model.pairs and not case.compiled.pairs:
            raise CertificateError(
                "there are no certificates where curves stand beside terms over two features that are all 0; leave "
                "these terms out of the model, or have only this library check the answer"
            )
        while True:
            try:
                return _accepted(case, function(case, *args, **kwargs))
            except PieceBudgetError:  # of a feature that is fixed, which the answer did not ask about
                raise CertificateError(_TOO_MANY_PIECES) from None
            except NotShownError as error:
                if not case.compiled.is_curved:
                    raise AssertionError(str(error)) from None
                if case.compiled.is_enclosed and any(
                    None in (span.low, span.high) for reach in case.region for span in reach.spans
                ):
                    raise CertificateError(
                        "smooth shapes are certified over regions with ends only; give the features domains with ends, "
                        "or ask with a radius; the answer is proven, but only this library can check it"
                    ) from None
                if case.bits >= (_MOST_SMOOTH_BITS if case.compiled.is_enclosed else _MOST_BITS):
                    raise CertificateError(
                        f"drops that are not rational, and a margin, agree to {case.bits} bits, so that no certificate "
                        f"tells them apart: {error}"
                    ) from None
                case = case.refined()
            except UnknownError:
                raise CertificateError(
                    "the checker does not know a smooth shape at the row, or where an answer goes: a function may have "
                    "no derivative there, as the square root at 0; ask about another row or region"
                ) from None

    return tried


def _accepted(case: Case, certificate: Certificate) -> Certificate:
    """Return a certificate that the checker accepts: where drops are not rational it is asked itself."""
    if case.compiled.is_rational or case.compiled.has_tangents:  # of the latter it has been asked already
        return certificate
    from suffice_check import RejectedError, check

    document = {**certificate.document, "model": case.compiled.file_hash()}
    try:
        check(case.compiled.content, json.dumps(document).encode())
    except RejectedError as error:
        raise NotShownError(str(error)) from None
    return certificate


def radius_text(radius: Rational | None, edge: int) -> str:
    """Return a radius as certificates write it; None for the whole domain, or (edge -1) all finite ones."""
    if radius is None:
        return "finite" if edge else "inf"
    return f"{radius}{'+e' if edge > 0 else '-e' if edge < 0 else ''}"


def beyond(reach: Extent) -> tuple[Rational | None, int]:
    """Return the first radius, or just above which one, something fails that holds so far."""
    if reach.radius is None:
        return None, 0
    if reach.more:  # the true end is not rational: surely beyond it
        return reach.radius + 2 * reach.more, 0
    return reach.radius, int(reach.is_attained)


def write(
    case: Case,
    *,
    result: Json,
    evidence: Json,
    model_file: PathLike | None,
    charges: Sequence[Rational] | None = None,
    region: Region | None = None,
) -> Certificate:
    """Return the certificate of a result; charges and region are those of the case, if no others are given."""
    check_bends(case.compiled, case.region if region is None else region)
    charges = case.charges if charges is None else charges
    has_cells = case.compiled.is_enclosed and not case.compiled.has_tangents
    certificate = Certificate(
        {
            "version": VERSION,
            "model": case.compiled.file_hash(model_file),
            "row": [place_document(x) for x in case.row],
            "question": case.question.document(has_budgets=False) | _given_region(case),
            "enclosure": _enclosure(case),
            "charges": [str(charge) for charge in charges] if any(charges) else None,
            "result": result,
            "evidence": evidence | ({"cells": Seen.of(case).document} if has_cells else {}),
        }
    )
    _check_readable(certificate)
    return certificate


def _check_readable(certificate: Certificate) -> None:
    """Raise an error if the certificate is beyond the limits of the format, so that nobody could check it."""
    text = certificate.text
    if _TOO_LONG.search(text):
        raise CertificateError("a number of more than 4000 digits cannot be certified; round the row or the radius")
    if len(text) > _MOST_BYTES:
        raise CertificateError(
            f"a certificate has at most {_MOST_BYTES:,} bytes, this one would have {len(text):,}; ask about fewer sets"
        )


def _given_region(case: Case) -> Json:
    """Return the values that features may take, in place of radii, where the region is none that radii make."""
    if case.region == region_around(case.question.domains(case.model), case.row, case.question.radii):
        return {}
    return {"radius": {name: _values(name, domain) for name, domain in zip(case.model.names, case.region, strict=True)}}


def _values(name: str, domain: Domain) -> list[Json]:
    numbers = [span.low for span in domain.spans if span.low is not None and span.low == span.high]
    if len(numbers) < len(domain.spans):
        raise CertificateError(f"certificates speak of radii or of listed values; {name!r} may move in a range")
    return [place_document(x) for x in (*numbers, *domain.categories_, *domain.codes_)]


def _enclosure(case: Case) -> list[str] | None:
    """Return the ends between which the logit of the claim's probability lies, where it is no rational number."""
    (first, *_) = case.inequalities
    if not first.gap:
        return None
    high = first.factors[0] * (case.model.logit_offset or 0) - first.constant
    return [str(high - first.gap), str(high)]

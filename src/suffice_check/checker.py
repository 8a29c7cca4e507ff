"""A model file, and certificates about it."""

from __future__ import annotations

import hashlib

from suffice_check.certificate import read_certificate
from suffice_check.model import read_model
from suffice_check.reading import RejectedError, unreadable
from suffice_check.shapes import NoValueError
from suffice_check.verdict import Proven


class Checker:
    """A model file, read once; certificates about it are checked one after the other."""

    def __init__(self, content: bytes) -> None:
        self.digest, self.model = hashlib.sha256(content).hexdigest(), read_model(content)

    def check(self, content: bytes) -> Proven:
        """Return what a certificate proves; `RejectedError` or `UnreadableError` otherwise."""
        certificate = read_certificate(content)
        if certificate.model != self.digest:
            this = f"the certificate is for the model {certificate.model[:16]}..., this is {self.digest[:16]}..."
            raise RejectedError("model", this)
        try:
            return Proven(self.model, certificate)
        except RecursionError as error:
            raise unreadable("the model file", error) from None
        except NoValueError:
            raise RejectedError("model", "a shape has no value somewhere in a region") from None

"""The written proof of an answer: a JSON document that `suffice_check` checks without any help of ours.

`docs/certificate.md` has the format, and the theorem behind each kind of evidence.
"""

from suffice.certificate.document import Certificate

__all__ = ["Certificate"]

"""The written proof of a result: a JSON document that `suffice_check` checks without any help of ours.

`docs/certificate.md` has the format, and the theorem behind each kind of evidence.
"""

from suffice.certificate.certify import Case, certify_contrast, certify_explanation, certify_set
from suffice.certificate.document import Certificate
from suffice.certificate.radius import certify_radius

__all__ = ["Case", "Certificate", "certify_contrast", "certify_explanation", "certify_radius", "certify_set"]

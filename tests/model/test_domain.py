"""What is in a domain."""

import math
from fractions import Fraction

from suffice import (
    MISSING,
    Domain,
)


def test_domains_answer_for_what_users_write():
    domain = Domain.integers(0, 10) | Domain.codes(MISSING, -9)
    inside, outside = (5, 5.0, "5", -9, None, math.nan, MISSING), (Fraction(1, 2), 11, "x", [])
    assert all(value in domain for value in inside)
    assert not any(value in domain for value in outside)

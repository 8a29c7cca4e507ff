"""Forged certificates about curved and smooth shapes: what mpmath shows to be false is refused."""

from collections import Counter

from attack_smooth import run


def test_no_forged_certificate_is_accepted_that_samples_show_to_be_false():
    seen = Counter()
    for is_false, about, is_accepted, _ in run(200, "t"):
        assert not (is_false and is_accepted)
        seen[about, is_false, is_accepted] += 1
    for about in ("suffices", "radius", "breaks"):  # and the true ones are not all refused
        assert seen[about, True, False] > 10
        assert seen[about, False, True] > 10

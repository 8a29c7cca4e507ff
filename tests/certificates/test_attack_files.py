"""Forged certificates and model files: what the checker accepts is true, by an oracle that reads the file itself."""

from collections import Counter

from attack_files import run


def test_no_forged_certificate_or_file_is_accepted_unless_it_is_true():
    seen = Counter()
    for is_own, about, said, wrong in run(120, "a"):
        assert not wrong
        seen[is_own, about.partition(",")[0], about.endswith("file"), said] += 1
    for acting in ("alone", "pairs"):  # the oracle has something to say about all of them
        for is_own, is_file in ((True, False), (False, False), (False, True)):
            assert seen[is_own, acting, is_file, "accepted"]
    assert sum(count for key, count in seen.items() if key[3] == "accepted, not judged") < seen.total() / 20

"""Forged statements about random models: what the checker accepts is true, by an oracle that tries inputs."""

from collections import Counter

from forge import FORGERIES, SEED, run

from suffice_check.verdict import TAKES


def test_no_forged_statement_is_accepted_unless_it_is_true():
    own, verdicts = Counter(), Counter()
    for kind, is_own, said, wrong in run(FORGERIES, SEED):
        assert not wrong
        (own if is_own else verdicts)[kind if is_own else said] += 1
    assert set(own) == set(TAKES)
    # The oracle has something to say, and the forgeries reach most steps of the checker.
    assert verdicts["accepted"] > FORGERIES / 4
    steps = "question choices features lower bound witnesses tree sufficiency input radius sets steps ranges claim cost"
    assert {"lower bound", *steps.replace("lower bound ", "").split()} <= set(verdicts)

"""Damaged files of every kind: each is read or refused in a sentence of ours."""

from itertools import islice

import pytest
from mutants import mutants, originals, try_out

from suffice import SufficeError

WHOLE = list(originals())


@pytest.mark.parametrize("k", range(len(WHOLE)), ids=lambda k: f"{WHOLE[k][0]} {k}")
def test_what_is_whole_is_read(tmp_path, k):
    _, name, content = WHOLE[k]
    (tmp_path / name).write_bytes(content)
    try_out(tmp_path / name)


def test_what_is_damaged_is_read_or_refused_in_a_sentence(tmp_path):
    seen, said = {True: set(), False: set()}, []
    for kind, name, content in islice(mutants(0), 25 * len(WHOLE)):
        path = tmp_path / name
        path.write_bytes(content)
        try:
            try_out(path)
        except SufficeError as error:
            said.append(str(error))
            seen[False].add(kind)
        else:
            seen[True].add(kind)
    assert not [text for text in said if not text.isprintable()]
    assert seen[False] == {kind for kind, _, _ in WHOLE}
    assert seen[True] >= {"suffice", "ebm", "xgboost", "card", "onnx"}

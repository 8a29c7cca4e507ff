"""Integers of any size in arrays of digits, against Python's own."""

import random

import numpy as np
import pytest

from suffice.shapes.limbs import Limbs, concatenate, interleaved, scattered

SIZES = [0, 1, 2**21, 2**22 - 1, 2**22, 2**43, 2**61, 2**63, 2**64 + 1, 2**200, 3**150]


def drawn(rng, *shape):
    """Integers, many of them about where a digit ends."""
    flat = np.empty(int(np.prod(shape)), dtype=object)
    flat[:] = [rng.choice([-1, 1]) * (rng.choice(SIZES) + rng.choice([0, 0, 1, -1, rng.getrandbits(90)])) for _ in flat]
    return flat.reshape(shape)


def plain(limbs):
    """An array of digits as an array of Python's integers."""
    found = np.empty(limbs.shape, dtype=object)
    for place in np.ndindex(*limbs.shape):
        found[place] = sum(
            digit * 2 ** (22 * k) for k, digit in enumerate(limbs.digits[(slice(None), *place)].tolist())
        )
    return found


@pytest.mark.parametrize("seed", range(8))
def test_arrays_add_multiply_and_shift_as_integers_do(seed):
    rng = random.Random(seed)
    one, other, row = drawn(rng, 3, 4), drawn(rng, 3, 4), drawn(rng, 4)
    first, second = Limbs.of(one), Limbs.of(other)
    assert (plain(first) == one).all()
    assert (plain(first + second) == one + other).all()
    assert (plain(first * second) == one * other).all()
    assert (plain(first * Limbs.of(row)) == one * row).all()
    assert (plain(first << 35) == one * 2**35).all()
    assert (plain(first.sum()) == one.sum(axis=1)).all()
    assert (first.signs() == np.sign(one.astype(float))).all()
    assert first[1].integers() == one[1].tolist()
    mask = np.array([[rng.random() < 0.5 for _ in range(4)] for _ in range(3)])
    assert (plain(first.only(mask)) == one * mask).all()
    assert (plain(concatenate([first, second])) == np.concatenate([one, other], axis=1)).all()
    assert all(np.abs(limbs.digits).max() <= 2**21 for limbs in (first, first + second, first * second, first << 35))


@pytest.mark.parametrize("inner", [1, 7, 700, 5000])
def test_matrix_products_are_exact_however_many_terms_they_have(inner):
    rng = random.Random(inner)
    largest = 2**21 + 2**21 * 2**22 + 2**21 * 2**44  # all digits as large as they can be, so that sums are
    one, other = (np.full(shape, largest, dtype=object) for shape in ((2, inner), (inner, 3)))
    assert (plain(Limbs.of(one) @ Limbs.of(other)) == one @ other).all()
    one, other = drawn(rng, 2, min(inner, 50)), drawn(rng, min(inner, 50), 3)
    assert (plain(Limbs.of(one) @ Limbs.of(other)) == one @ other).all()


def test_matrices_larger_than_one_block_multiply_exactly():
    rng = np.random.default_rng(0)
    one, other = rng.integers(-(2**62), 2**62, (70, 140)), rng.integers(-(2**62), 2**62, (140, 130))
    expected = one.astype(object) @ other.astype(object)
    assert (plain(Limbs.of(one) @ Limbs.of(other)) == expected).all()


def test_columns_of_two_arrays_are_put_in_their_places():
    first = Limbs.of(np.array([[1, 2**70], [2, -3]], dtype=object))
    second = Limbs.of(np.array([[10, 20, 30], [2**90, 5, 6]], dtype=object))
    found = interleaved(first, np.array([1, 2]), second, np.array([0, 3, 3]), 4)
    assert plain(found).tolist() == [[10, 1, 2**70, 50], [2**90, 2, -3, 11]]
    apart = interleaved(first, np.array([0, 3]), second, np.array([1, 2, 4]), 5)
    assert plain(apart).tolist() == [[1, 10, 20, 2**70, 30], [2, 2**90, 5, -3, 6]]
    alone = interleaved(first, np.array([0, 1]), Limbs.zeros(2, 0), np.zeros(0, np.int64), 2)
    assert plain(alone).tolist() == plain(first).tolist()


def test_parts_with_one_place_add_up():
    parts = Limbs.of(np.array([[1, 2, 3, 2**70], [-1, 5, -(2**70), 0]], dtype=object))
    found = scattered(parts, np.array([1, 1, 3, 3]), 5)
    assert plain(found).tolist() == [[0, 3, 0, 3 + 2**70, 0], [0, 4, 0, -(2**70), 0]]
    assert plain(scattered(parts[:, :0], np.zeros(0, np.int64), 2)).tolist() == [[0, 0], [0, 0]]

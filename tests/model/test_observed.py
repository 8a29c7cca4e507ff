"""What is learned of a column from its values, and what users say of it."""

from fractions import Fraction

import pytest
from flint import fmpq

from suffice import MISSING, AdditiveModel, Domain, Feature, FeatureNameError, Steps, Table
from suffice.errors import DataError
from suffice.model.observed import Observed, narrowed, reals_without
from suffice.model.stated import read_domains_file, stated_domains


def learned(numbers, domain=None):
    return str(
        narrowed(
            domain or Domain.reals(),
            Observed.of([fmpq(Fraction(n).numerator, Fraction(n).denominator) for n in numbers]),
        )
    )


@pytest.mark.parametrize(
    ("numbers", "domain"),
    [
        ([*range(20, 60)], "the integers from 11 to 68"),  # 39 wide, so 9 whole steps beyond each end
        ([20.5, *range(21, 60)], "[10.875, 68.625]"),
        ([1, 2] * 10, "the integers from 1 to 2"),  # five at an end, and one in a hundred, make it a limit
        ([1, 2] * 4, "the integers from 1 to 2"),  # slack of less than one step
        ([0] * 5 + [*range(1, 41)], "the integers from 0 to 50"),
        ([0] * 5 + [*range(1, 600)], "the integers from 0 to 748"),  # 0 is no limit, but never passed
        ([4, *range(10, 50)], "the integers from 1 to 60"),  # positive stays positive
        ([0.5, *range(10, 50)], "[0, 61.125]"),
        ([-40, *range(-30, 0)], "the integers from -49 to -1"),
        ([*range(-10, 11)], "the integers from -15 to 15"),
        ([7, 7, 7], "(-∞, ∞)"),  # one value tells nothing
    ],
)
def test_a_column_can_be_what_it_was_and_a_little_more(numbers, domain):
    assert learned(numbers) == domain


def test_ends_that_are_known_stay():
    assert learned(range(20, 60), Domain.interval(0, 100)) == "[0, 100]"
    assert learned(range(20, 60), Domain.interval(0)) == "the integers from 0 to 68"
    assert (
        learned(range(20, 60), Domain.reals() | Domain.codes(MISSING))
        == "the integers from 11 to 68, or one of missing"
    )


def test_codes_among_the_numbers_are_left_out():
    assert learned(range(-20, 20), reals_without([-9.0, -8.0])) == (
        "the integers from -29 to -10, or the integers from -7 to 28"
    )


@pytest.fixture
def model():
    features = [
        Feature("age", Domain.integers(19, 75)),
        Feature("debt", Domain.interval(-1, 1)),
        "purpose",
        Feature("months", reals_without([-9.0]) | Domain.codes(-9)),
    ]
    shapes = [
        Steps([30], [0, 1]),
        Steps([0], [0, 1]),
        Table({"car": 0, "tv": 1}),
        Table({-9: 5}, otherwise=Steps([5], [0, 1])),
    ]
    return AdditiveModel(shapes, features=features)


@pytest.mark.parametrize(
    ("name", "said", "domain"),
    [
        ("age", "18:", "the integers from 18 to 75"),
        ("age", "18:99.5", "the integers from 18 to 99"),
        ("age", "number", "[19, 75]"),
        ("age", "number 18:", "[18, 75]"),
        ("age", ":inf", "the integers from 19 to ∞"),
        ("age", "any", "(-∞, ∞)"),
        ("debt", "integer", "the integers from -1 to 1"),
        ("debt", "integer 0:10", "the integers from 0 to 10"),
        ("purpose", ["tv"], "one of tv"),
        ("months", "integer -20:20", "the integers from -20 to -10, or the integers from -8 to 20, or one of -9"),
    ],
)
def test_users_say_what_a_column_can_be(model, name, said, domain):
    assert str(stated_domains(model, {name: said})[name]) == domain


@pytest.mark.parametrize(
    ("name", "said", "words"),
    [
        ("age", "18", "write a range such as 0:10"),
        ("age", "", "write a range such as 0:10"),
        ("age", "whole 18:20", "write a range such as 0:10"),
        ("age", "a:b", "the range of 'age': 'a' is not a number"),
        ("age", "20:10", "there is no such number; give the smaller end first"),
        ("purpose", "0:1", "'purpose' holds categories and has no range"),
    ],
)
def test_what_means_nothing_is_refused(model, name, said, words):
    with pytest.raises(DataError, match=words):
        stated_domains(model, {name: said})


def test_names_that_are_not_there_are_refused(model):
    with pytest.raises(FeatureNameError, match="'Age' is not a feature; did you mean 'age'"):
        stated_domains(model, {"Age": "integer"})
    with pytest.raises(FeatureNameError, match="'cars' is not a category of 'purpose'; did you mean 'car'"):
        stated_domains(model, {"purpose": ["cars"]})


def test_a_file_of_domains(tmp_path):
    path = tmp_path / "domains.toml"
    path.write_text('age = "18:"\n"a b" = ["x"]\n')
    assert read_domains_file(path) == {"age": "18:", "a b": ["x"]}
    for text, words in [("age = 5", "'age' is 5; write a range"), ("age", "is not a TOML file")]:
        path.write_text(text)
        with pytest.raises(DataError, match=words):
            read_domains_file(path)
    with pytest.raises(DataError, match="there is no such file"):
        read_domains_file(tmp_path / "none.toml")

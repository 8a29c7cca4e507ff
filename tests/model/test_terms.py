"""Models with terms over two features: what they consist of, what they score, what is refused."""

from fractions import Fraction

import pytest
from builders import RISING, sentence
from hypothesis import given
from hypothesis import strategies as st

import suffice
from suffice import (
    MISSING,
    AdditiveModel,
    Bins,
    Domain,
    Explainer,
    Feature,
    PairSteps,
    Product,
    Steps,
    Table,
    Term,
)
from suffice.model.compiled import Compiled
from suffice.model.writing import to_bytes
from suffice.numbers.exact import rational, to_fraction

STEP = Steps([0], [0, 1])
GRID = PairSteps([0], [0], [[1, 2], [3, 4]])
PAINT = PairSteps(Bins(keys=["red", "blue"]), [0], [[1, 2], [3, 4]])


def test_terms_come_in_one_order_whatever_order_they_are_given_in():
    terms = [Term(("b", "a"), GRID), Term("b", STEP), Term("a", STEP), Term(("a", "b"), GRID), Term(("b", "a"), GRID)]
    model = AdditiveModel.of_terms(terms, features=["a", "b"])
    assert [term.features for term in model.terms] == [(0,), (1,), (1, 0), (0, 1)]
    assert [term.features for term in model.mains] == [(0,), (1,)]
    assert [term.features for term in model.pairs] == [(1, 0), (0, 1)]
    ((pair, (pieces,)),) = Compiled(model).pairs
    assert pair == (0, 1)
    # Twice the transposed grid and once the grid itself.
    assert [[int(pieces(rational(x), rational(y)).p) for y in (-1, 1)] for x in (-1, 1)] == [[3, 8], [7, 12]]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(-3, 3)), max_size=6), st.data())
def test_the_score_is_the_sum_of_all_terms(given_terms, data):
    terms, plain = [], []
    for i, j, height in given_terms:
        if i == j:
            terms.append(Term(i, Steps([height], [0, height])))
            plain.append(lambda x, i=i, h=height: h if x[i] >= h else 0)
        else:
            terms.append(Term((i, j), Product(RISING, Steps([height], [1, height], "right"))))
            plain.append(lambda x, i=i, j=j, h=height: x[i] * (h if x[j] > h else 1))
    features = [Feature("a", center=1, scale=-2), "b", Feature("c", Domain.interval(-9, 9))]
    model = AdditiveModel.of_terms(terms, "1/3", "regression", features)
    row = [data.draw(st.sampled_from([Fraction(k, 2) for k in range(-6, 7)])) for _ in range(3)]
    seen = [(row[0] - 1) / -2, row[1], row[2]]
    assert Explainer(model).score(row) == Fraction(1, 3) + sum(f(seen) for f in plain)
    compiled = Compiled(model)
    exact = [rational(value) for value in row]
    assert compiled.scores(exact) == compiled.scores(exact, compiled.parts(exact))


def test_what_adds_up_to_nothing_is_no_pair():
    model = AdditiveModel.of_terms([Term(("a", "b"), GRID), Term(("a", "b"), -GRID), Term(("b", "c"), GRID)])
    assert [pair for pair, _ in Compiled(model).pairs] == [(1, 2)]
    assert set(Explainer(model).pairs) == {("b", "c")}


def test_pairs_are_oriented_by_the_factors_of_a_claim():
    shape = PairSteps([0], [0], [[[1, 5], [2, 5]], [[3, 5], [4, 5]]])
    model = AdditiveModel([None, None], [0, 0], "multiclass", pairs={("x0", "x1"): shape})
    compiled = Compiled(model)
    ((pair, pieces),) = compiled.oriented_pairs((1, -1))
    assert (pair, to_fraction(pieces(rational(0), rational(-1)))) == ((0, 1), -2)
    level = PairSteps([0], [0], [[[1, 1], [2, 2]], [[3, 3], [4, 4]]])
    even = AdditiveModel([None, None], [0, 0], "multiclass", pairs={("x0", "x1"): level})
    assert Compiled(even).oriented_pairs((1, -1)) == ()
    assert len(Compiled(even).oriented_pairs((0, 1))) == 1


def test_a_feature_without_a_shape_of_its_own_takes_its_domain_from_its_pairs():
    model = AdditiveModel([None, None], features=["paint", "speed"], pairs={("paint", "speed"): PAINT})
    assert model.domains == (Domain.categories("red", "blue"), Domain.reals())
    assert [pieces[0](value) for pieces, value in zip(model.compile(), ["red", rational(3)], strict=True)] == [0, 0]
    assert Explainer(model).score({"paint": "blue", "speed": 1}) == 4
    given = AdditiveModel(
        [None, None],
        features=["paint", Feature("speed", Domain.integers(0, 3))],
        pairs={("paint", "speed"): PAINT},
    )
    assert given.domains[1] == Domain.integers(0, 3)


def test_the_domain_is_where_all_terms_have_a_value():
    missing = Bins([0], keys=[MISSING])
    table = Table({MISSING: 5, "other": 6}, otherwise=STEP)
    pairs = {("a", "b"): PairSteps(missing, missing, [[1] * 3] * 3)}
    model = AdditiveModel([table, STEP], features=["a", "b"], pairs=pairs)
    assert model.domains == (Domain.reals() | Domain.codes(MISSING), Domain.reals())


def test_a_model_without_pairs_is_the_file_it_always_was():
    plain = AdditiveModel([STEP, RISING], 1, features=["a", "b"])
    assert to_bytes(AdditiveModel([STEP, RISING], 1, features=["a", "b"], pairs={})) == to_bytes(plain)
    assert to_bytes(AdditiveModel.of_terms([Term("a", STEP), Term("b", RISING)], 1)) == to_bytes(plain)
    assert b'\\"version\\":1,' in to_bytes(plain)
    assert Compiled(plain).pairs == ()


MODELS = [
    (lambda: AdditiveModel([STEP], pairs={("x0", "x0"): GRID}), "over 'x0' and itself"),
    (lambda: AdditiveModel([STEP, STEP], pairs={("x0", "x1"): STEP}), "the shape of 'x0' and 'x1' is a Steps"),
    (lambda: AdditiveModel([STEP, GRID]), "the shape of 'x1' is a PairSteps"),
    (lambda: AdditiveModel([STEP, STEP], pairs=[GRID]), "pairs must be a mapping"),
    (lambda: AdditiveModel([STEP, STEP], pairs={"x0": GRID}), "a tuple of two names, got 'x0'"),
    (lambda: AdditiveModel([STEP] * 3, pairs={("x0", "x1", "x2"): GRID}), "a tuple of two names"),
    (lambda: Term(("a", "b", "c"), GRID), r"a term over 3 features \('a', 'b', 'c'\) cannot be explained exactly"),
    (lambda: Term((), GRID), "a term over 0 features"),
    (lambda: Term(None, GRID), "over a feature or two, got None"),
    (lambda: AdditiveModel.of_terms([STEP]), "a model is made of terms"),
    (lambda: AdditiveModel.of_terms([Term(0, STEP)]), "then give the names too"),
    (lambda: AdditiveModel.of_terms([Term(3, STEP)], features=["a"]), "over feature 3, but there are 1"),
    (lambda: AdditiveModel.of_terms([]), "at least one shape"),
    (
        lambda: AdditiveModel([STEP, STEP], pairs={("x0", "x1"): PairSteps([], [], [[[1, 2]]])}),
        "the shape of 'x0' and 'x1' has 2 outputs",
    ),
    (
        lambda: AdditiveModel([Table({"red": 1}), STEP], pairs={("x0", "x1"): GRID}),
        "no value of 'x0' at which all of its terms have a value",
    ),
    (
        lambda: AdditiveModel(
            [None, STEP], features=[Feature("a", Domain.categories("red", "green")), "b"], pairs={("a", "b"): PAINT}
        ),
        "'a' can be one of red, green, but a shape of it and another feature only has values on",
    ),
]


@pytest.mark.parametrize(("build", "words"), MODELS, ids=lambda v: v if isinstance(v, str) else "given")
def test_models_that_make_no_sense_get_one_sentence(build, words):
    with pytest.raises(suffice.ModelError, match=words) as error:
        build()
    sentence(error)


def test_a_name_that_is_no_feature_is_named():
    with pytest.raises(suffice.FeatureNameError, match="'agee' is not a feature; did you mean 'age'"):
        AdditiveModel([STEP, STEP], features=["age", "pay"], pairs={("agee", "pay"): GRID})
    with pytest.raises(suffice.FeatureNameError, match="'agee'"):
        AdditiveModel.of_terms([Term("agee", STEP)], features=["age"])


def test_too_large_a_pair_is_named():
    fine = Steps(range(200), range(201))
    with pytest.raises(suffice.CellBudgetError, match="'age' and 'pay' have 201 × 201 cells") as error:
        Explainer(
            AdditiveModel([STEP, STEP], features=["age", "pay"], pairs={("age", "pay"): Product(fine, fine)}),
            max_pieces=250,
        )
    sentence(error)


def test_what_does_not_know_pairs_yet_says_so():
    from suffice.paper import Problem

    explainer = Explainer(AdditiveModel([STEP, STEP], 5, features=["age", "pay"], pairs={("age", "pay"): GRID}))
    asked = [
        (lambda: Problem(explainer.model), "the published algorithms.* terms over two features yet.*'age' and 'pay'"),
        (
            lambda: explainer.explain([1, 1], 1, unit="raw", arithmetic="float32"),
            "the term over 'age' and 'pay' is not a network, and rounding in float32 is bounded for networks alone",
        ),
    ]
    for ask, words in asked:
        with pytest.raises(suffice.SufficeError, match=words) as error:
            ask()
        sentence(error)

"""Networks with more pieces than the budget: over a region they are what they are on the whole line."""

import copy
import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from builders import sentence
from hypothesis import example, given, settings
from oracles import PlainNetwork
from strategies import networks, small_rationals

from suffice import (
    AdditiveModel,
    CertificateError,
    Domain,
    Explainer,
    Feature,
    ModelError,
    PairSteps,
    ReluNetwork,
    Status,
    Steps,
    Table,
)
from suffice.numbers.exact import rational, to_fraction
from suffice.shapes import PieceBudget, Pieces
from suffice.shapes.lazy import Lazy

KNOT_AT_THE_END = ([[[1.0], [2.0], [-1.0]], [[1.0, 1.0, 1.0]]], [[-1.0, -2.0, 1.0], None], ["relu"], {})
WHOLE = PieceBudget(10**6)


def zigzag(teeth, depth, jitter=0.0):
    """`teeth**depth` teeth between 0 and 1, of heights that differ where there is jitter; 0 to the left."""
    random = np.random.default_rng(teeth * depth)
    rises = np.array([teeth, *(2.0 * teeth * (-1) ** k for k in range(1, teeth))])
    weights, biases = [np.ones((teeth, 1))], [-np.arange(teeth) / teeth]
    for _ in range(depth - 1):
        weights.append(np.tile(rises, (teeth, 1)))
        biases.append(-np.arange(teeth) / teeth)
    weights.append((rises * (1 + jitter * random.standard_normal(teeth)))[None, :])
    return ReluNetwork(weights, [*biases, np.zeros(1)])


@settings(max_examples=150)
@given(networks(), small_rationals, small_rationals)
@example(KNOT_AT_THE_END, Fraction(1), Fraction(2))
@example(KNOT_AT_THE_END, Fraction(0), Fraction(1))
@example(KNOT_AT_THE_END, Fraction(1), Fraction(1))
def test_over_an_interval_knots_and_pieces_are_those_of_the_whole_line(network, one, other):
    low, high = map(rational, sorted((one, other)))
    shape = ReluNetwork(*network)
    whole, part = shape.compile(WHOLE), shape.compile(PieceBudget(10**6, low=low, high=high))
    for all_of_it, inside in zip(whole, part, strict=True):
        assert inside.knots == tuple(knot for knot in all_of_it.knots if low < knot < high)
        first = all_of_it.segment_after(low)
        if low < high:
            assert inside.slopes == all_of_it.slopes[first : first + len(inside.slopes)]
            assert inside.offsets == all_of_it.offsets[first : first + len(inside.slopes)]
        assert inside.infimum(low, high)[:3] == all_of_it.infimum(low, high)[:3]
        assert (inside(low), inside(high)) == (all_of_it(low), all_of_it(high))


@given(networks(outputs=1), small_rationals, small_rationals, small_rationals.filter(bool), small_rationals)
def test_sums_tables_and_units_are_restricted_alike(network, one, other, scale, center):
    low, high = map(rational, sorted((one, other)))
    shape = Table({0: 5}, otherwise=ReluNetwork(*network).rescaled(center, scale) * 3 + Steps([0, 1], [0, 2, 1]))
    (whole,) = shape.compile(WHOLE)
    (inside,) = shape.compile(PieceBudget(10**6, low=low, high=high))
    assert inside.infimum(low, high)[:3] == whole.infimum(low, high)[:3]
    (lazy,) = Lazy.outputs(shape, rational(center), rational(scale), PieceBudget(4, "x"))
    assert [lazy(rational(x)) for x in (0, one, other)] == [
        whole.rescaled(rational(center), rational(scale))(rational(x)) for x in (0, one, other)
    ]


@pytest.mark.parametrize("most", [6, 30, 200])
def test_an_interval_with_too_many_pieces_is_cut_into_parts(most):
    shape = zigzag(4, 3, jitter=0.2)
    (whole,) = shape.compile()
    assert isinstance(whole, Pieces)
    assert len(whole.knots) > 60
    (lazy,) = Lazy.outputs(shape, rational(0), rational(1), PieceBudget(most, "x"))
    for low, high in (("0", "1"), ("1/7", "5/6"), ("1/3", "1/3"), ("1/4", "1/2"), ("-2", "3")):
        ends = rational(low), rational(high)
        found = lazy.infimum(*ends)
        assert found == whole.infimum(*ends)
        assert whole(lazy.point_below(found, found.value, *ends)) == found.value
    parts = lazy.over(rational(0), rational(1))
    assert (len(parts) > 1) == (most < 60)
    assert all(len(pieces.knots) < most for _, _, pieces in parts)


def test_what_is_known_of_a_region_is_used_for_a_smaller_one():
    (lazy,) = Lazy.outputs(zigzag(3, 3), rational(0), rational(1), PieceBudget(10, "x"))
    lazy.infimum(rational(0), rational(1))
    before = len(lazy.region._known)
    lazy.infimum(rational("1/4"), rational("1/3"))
    lazy(rational("1/2"))
    assert len(lazy.region._known) == before
    lazy(rational(2))
    assert len(lazy.region._known) == before + 1


# --- models -----------------------------------------------------------------------------------------------------------


def both(domain=None):
    """The same model, compiled as a whole and where it is asked about."""
    shapes = [zigzag(3, 3, 0.3), zigzag(4, 2, 0.1) * -1, Steps([0], [0, 1]), zigzag(2, 4, 0.5)]
    features = [Feature(f"x{k}", domain or Domain.reals()) for k in range(4)]
    model = AdditiveModel(shapes, "1/2", features=features)
    return Explainer(model), Explainer(model, max_pieces=12)


def test_every_question_about_sets_has_the_same_answer():
    whole, lazy = both()
    assert lazy.compiled.is_curved
    assert not whole.compiled.is_curved
    rows = np.random.default_rng(5).uniform(0, 1, (12, 4)).round(3)
    asked = 0
    for row, radius in product(rows, ("1/20", "1/3")):
        if whole.predict(row) != 1:
            continue
        asked += 1
        for name, own in (
            ("explain", {}),
            ("contrast", {}),
            ("relevance", {}),
            ("sufficiency", {"features": ["x0", "x2"]}),
        ):
            one, other = (getattr(e, name)(row, radius=radius, unit="raw", **own) for e in (whole, lazy))
            assert one.document() == other.document()
        sets = [{*map(frozenset, e.explanations(row, radius, unit="raw"))} for e in (whole, lazy)]
        assert sets[0] == sets[1]
    assert asked > 8
    assert whole.explain_batch(rows, "1/5", unit="raw").sizes.tolist() == (
        lazy.explain_batch(rows, "1/5", unit="raw").sizes.tolist()
    )


def test_radii_enclose_the_exact_ones():
    whole, lazy = both(Domain.interval(-1, 2))
    for row in np.random.default_rng(6).uniform(0, 1, (4, 4)).round(3):
        if whole.predict(row) != 1:
            continue
        one, other = (e.radius(row, ["x1"], unit="raw") for e in (whole, lazy))
        if one.radius == float("inf"):
            assert other.radius == one.radius
        else:
            assert other.radius <= one.radius <= other.radius + Fraction(1, 10**9)


def test_ranges_enclose_the_exact_ones():
    whole, lazy = both(Domain.interval(-1, 2))
    asked = 0
    for row in np.random.default_rng(7).uniform(0, 1, (6, 4)).round(3):
        if whole.predict(row) != 1:
            continue
        one, other = (e.inflate(row, "1/8", unit="raw") for e in (whole, lazy))
        for name, exact in one.ranges.items():
            found = other.ranges[name]
            asked += 1
            # A range a little narrower leaves a little more to those after it.
            assert abs(found.low - exact.low) <= Fraction(1, 10**7)
            assert abs(found.high - exact.high) <= Fraction(1, 10**7)
    assert asked > 5


def test_integers_are_stepped_over():
    shape = zigzag(3, 3, 0.3).rescaled(0, 40)
    features = [Feature("a", Domain.integers(0, 40))]
    model = AdditiveModel([shape], 1, features=features)
    answers = [Explainer(model, max_pieces=most).explain([17], 9, unit="raw") for most in (10_000, 8)]
    assert answers[0].document() == answers[1].document()
    plain = PlainNetwork(shape.shape.weights, shape.shape.biases, ["relu"] * 3, {})
    lowest = min(plain(Fraction(k, 40))[0] for k in range(8, 27))
    assert answers[1].drops["a"] == plain(Fraction(17, 40))[0] - lowest


def test_pictures_and_facts_know_what_is_lazy():
    from suffice.present.models import model_document
    from suffice.present.outline import outline

    _, lazy = both()
    why = lazy.explain([0.3, 0.4, 1, 0.1], "1/20", unit="raw")
    assert outline(why, "x0").lines
    assert model_document(lazy.compiled)["features"][0]["pieces"] == [None]


@settings(max_examples=60)
@given(networks(), small_rationals)
@example(KNOT_AT_THE_END, Fraction(1))
@example(KNOT_AT_THE_END, Fraction(2))
def test_beyond_a_number_knots_and_pieces_are_those_of_the_whole_line(network, end):
    shape, at = ReluNetwork(*network), rational(end)
    whole = shape.compile(WHOLE)
    above, below = (shape.compile(PieceBudget(10**6, low=low, high=high)) for low, high in ((at, None), (None, at)))
    for all_of_it, right, left in zip(whole, above, below, strict=True):
        assert right.knots == tuple(knot for knot in all_of_it.knots if at < knot)
        assert left.knots == tuple(knot for knot in all_of_it.knots if knot < at)
        assert (right.slopes, right.offsets) == tuple(
            column[len(column) - len(right.slopes) :] for column in (all_of_it.slopes, all_of_it.offsets)
        )
        assert (left.slopes, left.offsets) == tuple(
            column[: len(left.slopes)] for column in (all_of_it.slopes, all_of_it.offsets)
        )


def test_regions_without_ends_are_answered_as_by_the_whole_network():
    domains = [None, Domain.interval(low=-1), Domain.interval(high=2), Domain.integers()]
    for domain in domains:
        whole, lazy = both(domain)
        for row in ([0.3, 0.4, 1, 0.1], [1, 0, 0, 1]):
            row = [round(x) for x in row] if domain == Domain.integers() else row
            one, other = (e.explain(row, "inf").document() for e in (whole, lazy))
            assert one | {"facts": ()} == other | {"facts": ()}  # inputs that break the claim may be others
            one, other = (e.radius(row, ["x1"], unit="raw") for e in (whole, lazy))
            if other.status is Status.PROVEN:
                assert (one.radius, one.is_attained) == (other.radius, other.is_attained)
            else:
                assert other.radius <= one.radius <= other.radius + Fraction(1, 10**9)


def test_a_region_with_too_many_pieces_is_bounded_by_bisection(monkeypatch):
    monkeypatch.setattr("suffice.shapes.monotone._MOST_CELLS", 200)
    # 4^6 teeth, of which a budget of 8 pieces lets 64 times as many be tabulated, and no more.
    fine, coarse = zigzag(4, 6, 0.3), zigzag(4, 2, 0.3)
    features = [Feature(name, domain=Domain.interval(-1, 2)) for name in "ab"]
    statuses = []
    for intercept, row, radius in ((Fraction(1, 4), [0.3, 0.5], "1/4"), (5, [0.31, 0.2], "1/8")):
        model = AdditiveModel([fine, coarse], intercept, features=features)
        whole, lazy = Explainer(model, max_pieces=10**6), Explainer(model, max_pieces=8)
        one, other = (e.explain(row, radius, unit="raw") for e in (whole, lazy))
        assert other.lower_bound <= one.size <= other.size
        assert other.drops["a"] >= one.drops["a"]
        assert other.status is Status.BOUNDED or other.size == one.size
        statuses.append(other.status)
        with pytest.raises(CertificateError) as error:
            other.certificate()
        assert "too many pieces to be tabulated" in sentence(error)
    assert statuses == [Status.PROVEN, Status.BOUNDED]
    assert "bounds of networks with too many pieces" in str(other)
    assert (
        lazy.explain([0.3, 0.5], "1/1000", unit="raw").document()
        == whole.explain([0.3, 0.5], "1/1000", unit="raw").document()
    )  # a region with few pieces is exact as before


def test_what_cannot_be_asked_is_refused_in_one_sentence():
    _, lazy = both()
    row = [0.3, 0.4, 1, 0.1]
    pairs = {("x0", "x1"): PairSteps([0], [0], [[0, 1], [1, 0]])}
    refused = [
        (ModelError, lambda: Explainer(AdditiveModel([zigzag(3, 3), zigzag(3, 3)], pairs=pairs), max_pieces=9)),
    ]
    for kind, ask in refused:
        with pytest.raises(kind) as error:
            ask()
        assert sentence(error)
    assert to_fraction(lazy.score(row)) == to_fraction(both()[0].score(row))
    ranges = both(Domain.interval(0, 1))[1].inflate(row, "1/20", unit="raw")
    assert ranges.certificate().document["result"]["is_widest"] is False  # ends are looked for by halving


def test_an_explainer_of_a_network_past_the_budget_can_be_copied_and_sent_elsewhere():
    weights = [np.arange(1, 7).reshape(6, 1) / 3, np.array([[1.0, -2.0, 1.5, -1.0, 2.0, -1.0]])]
    model = AdditiveModel(
        [ReluNetwork(weights, [-np.arange(6.0), [0.5]]), Steps([0], [-1, 1])],
        features=[Feature("x", Domain.interval(0, 9)), "y"],
    )
    explainer = Explainer(model, max_pieces=2)
    why = explainer.explain([4, 1], 1, unit="raw")
    for other in (pickle.loads(pickle.dumps(explainer)), copy.deepcopy(explainer)):
        assert str(other.explain([4, 1], 1, unit="raw")) == str(why)

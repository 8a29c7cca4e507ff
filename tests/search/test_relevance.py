"""Which features matter at all, against all minimal sets."""

import pytest
from builders import drop_model
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import finite_cases, wishes

import suffice
from suffice import Explainer, Status


@settings(max_examples=250)
@given(finite_cases(), st.sampled_from([1, 2]), st.sampled_from([None, None, 1, 2]), st.booleans(), st.data())
def test_roles_are_those_of_trying_all_sets(case, radius, max_changed, has_wishes, data):
    model, oracle, claim = case
    names = model.names
    wished = data.draw(wishes(len(names), has_cost=False))
    if not has_wishes:
        wished = type(wished)()
    enough = oracle.sufficient_sets(claim, radius, wished, max_changed)
    asked = {"claim": claim, "max_changed": max_changed, "unit": "raw", **wished.options(names)}
    del asked["cost"]
    if not enough:
        refused = oracle.refusal(claim, names, wished.free, radius, max_changed)
        with pytest.raises(suffice.PreferenceError) as error:
            Explainer(model).relevance(oracle.row, radius, **asked)
        assert str(error.value) == refused
        return
    minimal = [fixed for fixed in enough if not any(other < fixed for other in enough)]
    open_ = [i for i in range(len(names)) if i not in wished.fix | wished.free]
    found = Explainer(model).relevance(oracle.row, radius, **asked)
    necessary = tuple(names[i] for i in open_ if all(i in fixed for fixed in minimal))
    some = tuple(names[i] for i in open_ if any(i in fixed for fixed in minimal))
    assert found.necessary == necessary
    assert found.relevant == tuple(name for name in some if name not in necessary)
    assert found.irrelevant == tuple(names[i] for i in open_ if names[i] not in some)
    assert (found.undecided, found.status) == ((), Status.PROVEN)


def test_a_group_has_one_role():
    explainer = drop_model(3, 2, 1, margin=4)
    row = ["a"] * 3
    alone = explainer.relevance(row, 1, unit="raw")
    assert (alone.necessary, alone.relevant, alone.irrelevant) == ((), ("x0", "x1"), ("x2",))
    tied = explainer.relevance(row, 1, unit="raw", groups=[["x0", "x1"]])
    assert (tied.necessary, tied.relevant, tied.irrelevant) == (("x0", "x1"), (), ("x2",))
    kept = explainer.relevance(row, 1, unit="raw", fix=["x0"])
    assert (kept.necessary, kept.relevant, kept.irrelevant) == ((), (), ("x1", "x2"))


def test_what_a_budget_leaves_open_is_named_undecided():
    explainer = drop_model(*range(3, 23), margin=57)
    hasty = explainer.relevance(["a"] * 20, 1, unit="raw", max_nodes=0)
    assert (hasty.status, len(hasty.undecided)) == (Status.BOUNDED, 20)
    assert explainer.relevance(["a"] * 20, 1, unit="raw").status is Status.PROVEN

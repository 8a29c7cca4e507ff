"""Ordered categories: in domains, in what users say, in model files, in questions and certificates."""

import json

import pytest
from builders import sentence
from flint import fmpq

import suffice
import suffice_check
from suffice import MISSING, AdditiveModel, Domain, Explainer, Feature, ModelError, Table
from suffice.model.stated import said_in_options, stated_domains
from suffice.model.writing import to_bytes

GRADES = Domain.ordered("low", "middle", "high", "top") | Domain.codes(MISSING)
TABLE = {"low": -3, "middle": 0, "high": 1, "top": 2, MISSING: -9}
NAMES = {"x": 1, "y": -2}


def graded(deviation=None, domain=GRADES):
    features = [Feature("grade", domain, deviation=deviation), "kind"]
    return AdditiveModel([Table(TABLE), Table(NAMES)], 1, features=features)


def test_what_is_within_a_radius_of_a_rank():
    around = [GRADES.around("high", fmpq(n, 2)).categories_ for n in range(5)]
    near, far = ("middle", "high", "top"), ("low", "middle", "high", "top")
    assert around == [("high",), ("high",), near, near, far]
    assert GRADES.around("high", None) == GRADES
    assert GRADES.around(MISSING, fmpq(9)).codes_ == (MISSING,)
    assert GRADES.distances("high") == (1, 2)
    assert GRADES.distance("low", "top") == 3
    assert GRADES.distance("low", MISSING) is None


@pytest.mark.parametrize(
    ("join", "words"),
    [
        (lambda: GRADES | Domain.categories("x"), "can be joined with codes only"),
        (lambda: GRADES | Domain.ordered("x"), "can be joined with codes only"),
        (lambda: GRADES | Domain.reals(), "cannot stand beside numbers"),
    ],
)
def test_an_order_is_of_all_values(join, words):
    with pytest.raises(suffice.ModelError, match=words) as error:
        join()
    sentence(error)


def test_users_say_an_order():
    odd = {"<0": 0, "0<=X<200": 1, ">=200": 2}
    model = AdditiveModel([Table(odd)], features=["balance"])
    for text in ("<0<0<=X<200<>=200", " <0 < 0<=X<200 < >=200 "):
        (said,) = stated_domains(model, said_in_options(None, None, [f"balance={text}"])).values()
        assert said == Domain.ordered(*odd)
    for text, words in [
        ("<0 < >=200", "the order of 'balance' leaves out '0<=X<200'; give every category a place"),
        ("<0 < a", "write its categories as a < b < c, each of them one of <0, 0<=X<200, >=200"),
        ("<0 < 0<=X<200 < <0 < >=200", "'<0' can stand in one place only"),
    ]:
        with pytest.raises(suffice.DataError, match=words) as error:
            stated_domains(model, {"balance": text})
        sentence(error)
    with pytest.raises(suffice.DataError, match="write a column and its order"):
        said_in_options(None, None, ["balance"])
    # Of ordered categories those that can occur keep their order.
    assert stated_domains(graded(), {"grade": ["top", "low"]})["grade"].categories_ == ("low", "top")


def test_the_file_keeps_the_order_and_says_nothing_where_there_is_none(tmp_path):
    ordered, plain = tmp_path / "ordered.safetensors", tmp_path / "plain.safetensors"
    graded(deviation=1).save(ordered)
    graded(domain=Domain.categories(*list(TABLE)[:4]) | Domain.codes(MISSING)).save(plain)
    assert suffice.load(ordered).domains[0] == GRADES
    assert b'\\"ordered\\": true' in ordered.read_bytes() or b'\\"ordered\\":true' in ordered.read_bytes()
    assert b"ordered" not in plain.read_bytes()


def test_a_radius_counts_ranks_or_their_deviations():
    row = {"grade": "top", "kind": "x"}
    ranks = Explainer(graded(deviation="0.5"))
    held = {"immutable": ["kind"]}
    assert ranks.radius(row, [], unit="raw", **held).limit == suffice.Limit(3, is_attained=False)
    assert ranks.radius(row, [], unit="model", **held).limit == suffice.Limit(3, is_attained=False)
    assert ranks.radius(row, [], **held).limit == suffice.Limit(6, is_attained=False)
    with pytest.raises(suffice.RadiusError, match="has none for 'grade'") as error:
        Explainer(graded()).explain(row)
    sentence(error)


def test_every_answer_says_what_categories_may_do():
    explainer, row = Explainer(graded(deviation=1)), {"grade": "top", "kind": "x"}

    def region(*asked, **options):
        return {one.label: one.text for one in explainer.explain(row, *asked, **options).facts()[:3]}["Region"]

    moves = "categories move by rank: grade by at most"
    free = "a category without an order may become any other"
    stays = "a category without an order stays as it is, a radius of 1 from any other"
    assert region(2) == f"within 2 standard deviations; {free}; {moves} 2 ranks"
    assert region("0.9", categories="step") == f"within 0.9 standard deviations; {stays}; {moves} 0 ranks"
    assert region(1, categories="step") == f"within one standard deviation; {free}; {moves} 1 rank"
    for radius, options, said in [
        (2, {}, [free, "categories move by rank: 'grade' by at most 2 ranks"]),
        ("1/2", {"categories": "step"}, [stays, "'grade' by at most 0 ranks"]),
        (1, {"categories": "step"}, [free, "'grade' by at most 1 rank"]),
    ]:
        told = suffice_check.check(
            to_bytes(explainer.model),
            json.dumps(explainer.explain(row, radius, **options).certificate().document).encode(),
        )
        assert all(words in told for words in said)
    largest = explainer.radius(row, [], categories="step")
    told = suffice_check.check(to_bytes(explainer.model), json.dumps(largest.certificate().document).encode())
    assert f"{free} at a radius of 1 or more; the categories of 'grade' move by rank" in told


def test_where_no_radius_is_safe_it_is_said_how_to_ask():
    explainer, row = Explainer(graded(deviation=1)), {"grade": "middle", "kind": "x"}
    assert 'with categories "step" it takes a radius of 1' in str(explainer.radius(row, ["grade"]))
    assert 'with categories "step" it takes a radius of 1' in str(explainer.curve(row, until=1))
    assert "Note" not in str(explainer.radius(row, ["grade"], categories="step"))
    assert "Note" not in str(explainer.radius(row, ["kind"]))


def verdict(model, document):
    try:
        suffice_check.check(to_bytes(model), json.dumps(document).encode())
    except suffice_check.RejectedError:
        return "rejected"
    except suffice_check.UnreadableError:
        return "unreadable"
    return "accepted"


def test_a_proof_about_steps_is_none_about_free_categories():
    explainer, row = Explainer(graded(deviation=1)), {"grade": "middle", "kind": "x"}
    document = explainer.explain(row, "1/2", categories="step").certificate().document
    assert document["result"]["fixed"] == []
    assert verdict(explainer.model, document) == "accepted"
    for other, said in [("free", "rejected"), ("held", "unreadable"), (None, "unreadable"), (["step"], "unreadable")]:
        document["question"]["categories"] = other
        assert verdict(explainer.model, document) == said
    del document["question"]["categories"]  # as certificates were written before: free
    assert verdict(explainer.model, document) == "rejected"


def test_a_proof_about_ranks_is_none_about_names():
    """The same certificate with the hash of a model that is the same but for the order."""
    ordered, plain = graded(deviation=1), graded(1, Domain.categories(*list(TABLE)[:4]) | Domain.codes(MISSING))
    row = {"grade": "middle", "kind": "y"}
    document = Explainer(ordered).sufficiency(row, ["kind"], "1/2").certificate().document
    assert verdict(ordered, document) == "accepted"
    document["model"] = Explainer(plain).explain(row, "1/2").certificate().document["model"]
    assert verdict(plain, document) == "rejected"


@pytest.mark.parametrize("ordered", ['"yes"', "1", "null", "[]"])
def test_a_file_that_says_neither_is_refused(tmp_path, ordered):
    content = to_bytes(graded(deviation=1))
    at = content.index(b'\\"ordered\\":')
    end = content.index(b"true", at)
    new = ordered.replace('"', '\\"').encode()
    broken = content[:end] + new + content[end + 4 :]
    size = int.from_bytes(content[:8], "little") + len(new) - 4
    path = tmp_path / "broken.safetensors"
    path.write_bytes(size.to_bytes(8, "little") + broken[8:])
    with pytest.raises(suffice.ModelFileError, match="ordered or not"):
        suffice.load(path)
    with pytest.raises(suffice_check.UnreadableError):
        suffice_check.check(path.read_bytes(), b"{}")


def test_ranks_that_do_not_vary_are_said_to_stay():
    ordered = Feature("grade", Domain.ordered("low", "high"), deviation=0)
    shapes = [Table({"low": 1, "high": -1}), Table({"own": 0, "rent": 0})]
    explainer = Explainer(AdditiveModel(shapes, features=[ordered, "housing"]))
    row = {"grade": "low", "housing": "own"}
    assert "rank: grade by at most 0 ranks" in str(explainer.explain(row, 1))
    told = str(explainer.radius(row, []))
    assert "a category without an order may become any other; no finite radius moves grade" in told
    assert "at every radius, but not on the whole domain" in told


def test_an_order_names_a_category_once():
    with pytest.raises(ModelError, match="names a category twice"):
        Domain.ordered("low", "high", "low")

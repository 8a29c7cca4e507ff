"""Questions over HTTP about all rows of the table, against the library asked directly."""

import json
import warnings

import pytest

pytest.importorskip("fastapi", reason="the server needs FastAPI")
pytest.importorskip("httpx", reason="the tests of the server need httpx")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer Starlettes would rather have another client than httpx
    from fastapi.testclient import TestClient

from suffice import AdditiveModel, AtMost, Domain, Explainer, Feature, ProbabilityAtLeast, Steps, Table
from suffice.layout.facts import facts_document
from suffice.serve import Limits, create_app
from suffice.serve.limits import Deadline
from suffice.serve.portfolio import SURVEYED, Survey
from suffice.tables.reading import DataTable

LOAN = Explainer(
    AdditiveModel(
        [Steps([20, 40], [-2, 0, 2]), Steps([1, 3], [1, 0, -3]), Table({"own": 1, "rent": 0})],
        intercept=-1,
        classes=["refuse", "grant"],
        features=[
            Feature("income", Domain.interval(0, 500), deviation=20),
            Feature("late", Domain.integers(0, 12), deviation=1),
            "housing",
        ],
    )
)
CELLS = [("45", "0", "rent"), ("60", "1", "own"), ("30", "5", "rent"), ("10", "0", "own"), ("-3", "0", "own")]
TRUTH = ["grant", "grant", "refuse", "grant", "refuse"]
TABLE = DataTable(
    "t", ("income", "late", "housing", "truth"), tuple((*one, name) for one, name in zip(CELLS, TRUTH, strict=True))
)


@pytest.fixture(scope="module")
def client():
    app = create_app(LOAN, TABLE, limits=Limits(max_seconds=600.0))
    with TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False) as one:
        yield one


def assert_same(client, name, body, found):
    response = client.post(f"/v1/{name}", json=body)
    assert response.status_code == 200, response.text
    answer = response.json()
    assert SURVEYED[name].answer.model_validate(answer)
    assert answer == json.loads(json.dumps(found.document() | {"facts": facts_document(found.facts())}))


def test_contributions_are_answered_as_the_library_does(client):
    row = dict(zip(LOAN.model.names, CELLS[1], strict=True))
    assert_same(client, "contributions", {"row": row}, LOAN.contributions(row, table=TABLE))
    other = {"income": 30, "late": 5, "housing": "rent"}
    assert_same(client, "contributions", {"row": row, "reference": other}, LOAN.contributions(row, other))


def test_unaffected_is_answered_as_the_library_does(client):
    assert_same(client, "unaffected", {"by": ["housing"]}, LOAN.unaffected(TABLE, ["housing"]))
    assert_same(
        client,
        "unaffected",
        {"by": ["income", "late"], "radius": {"income": "5", "late": 1, "housing": 0}, "unit": "raw"},
        LOAN.unaffected(TABLE, ["income", "late"], {"income": 5, "late": 1, "housing": 0}, unit="raw"),
    )
    assert_same(
        client,
        "unaffected",
        {"by": ["late"], "claim": {"kind": "probability_at_least", "p": "0.6"}},
        LOAN.unaffected(TABLE, ["late"], claim=ProbabilityAtLeast("0.6")),
    )


def test_stability_is_answered_as_the_library_does(client):
    assert_same(client, "stability", {"radii": ["0.1", 1]}, LOAN.stability(TABLE, ["0.1", 1]))
    assert_same(
        client,
        "stability",
        {"radii": ["5"], "unit": "raw", "immutable": ["housing"], "labels": "truth"},
        LOAN.stability(TABLE, ["5"], unit="raw", immutable=["housing"], labels=TRUTH),
    )


ROW = {"income": "30", "late": 3, "housing": "rent"}
ACTIONS = {
    "income": {"direction": "up", "step": 1, "most": "15", "cost": {"each": "1/2"}},
    "late": {"direction": "down", "low": 1, "cost": {"fixed": 1, "each": 2}},
    "housing": {"to": {"rent": ["own"]}, "cost": 6},
}


def test_decisions_of_the_model_and_of_a_row_are_answered_as_the_library_does(client):
    box = {"income": {"from": 40}, "late": [0, 1], "housing": "own"}
    assert_same(client, "assertion", {"where": box, "outcome": "grant"}, LOAN.check(box, "grant", table=TABLE))
    high = {"claim": {"kind": "at_most", "value": "2"}}
    assert_same(client, "assertion", high, LOAN.check({}, claim=AtMost(2), table=TABLE))
    asked = {"feature": "income", "direction": "down", "outcome": "grant"}
    assert_same(client, "monotone", asked, LOAN.monotone("income", "down", "grant", table=TABLE))
    assert_same(client, "reasons", {"row": ROW}, LOAN.reasons(ROW, table=TABLE))
    other = {"income": 50, "late": 0, "housing": "own"}
    asked = {"row": ROW, "reference": other, "groups": {"both": ["income", "housing"]}, "limit": 2}
    assert_same(client, "reasons", asked, LOAN.reasons(ROW, other, groups={"both": ["income", "housing"]}, limit=2))
    relations = [["late", "<=", "income"]]
    asked = {"row": ROW, "actions": ACTIONS, "relations": relations, "alternatives": 2}
    assert_same(client, "recourse", asked, LOAN.recourse(ROW, ACTIONS, relations=relations, alternatives=2))


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("unaffected", {"by": []}, "by"),
        ("unaffected", {}, "by"),
        ("unaffected", {"by": ["wage"]}, "'wage' is not a feature"),
        ("unaffected", {"by": ["late"], "row": {}}, "Extra inputs"),
        ("assertion", {"where": {"income": {"above": 3}}, "outcome": "grant"}, "the condition on 'income'"),
        ("monotone", {"feature": "housing", "direction": "up"}, "has no numbers"),
        ("reasons", {"row": ROW, "reference": "average"}, "reference"),
        ("recourse", {"row": ROW, "actions": {"income": {}}}, "needs a step"),
        ("recourse", {"row": ROW, "actions": {"late": {"to": ["x"]}}}, "the action on 'late'"),
        ("recourse", {"row": ROW, "actions": ACTIONS, "relations": [["late", "~", "income"]]}, "a relation is"),
        ("stability", {"radii": []}, "radii"),
        ("stability", {"radii": ["-1"]}, "radius"),
        ("stability", {"radii": ["1"], "labels": "wage"}, "'wage' is not a column"),
        ("stability", {"radii": ["1"], "labels": "income"}, "is not a class of the model"),
    ],
)
def test_what_means_nothing_is_refused_with_a_sentence(client, name, body, said):
    response = client.post(f"/v1/{name}", json=body)
    assert response.status_code == 422
    assert said in response.json()["detail"]


def test_without_a_table_there_is_nothing_to_ask_about():
    app = create_app(LOAN, limits=Limits(max_seconds=600.0))
    with TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False) as bare:
        response = bare.post("/v1/stability", json={"radii": [1]})
        assert response.status_code == 422
        assert "was started without a table" in response.json()["detail"]
        assert bare.get("/v1/model").json()["columns"] == []
        assert bare.post("/v1/recourse", json={"row": ROW, "actions": ACTIONS}).status_code == 200
        assert "needs a table" in bare.post("/v1/reasons", json={"row": ROW}).json()["detail"]


def test_the_model_lists_what_can_be_asked_of_its_table(client):
    model = client.get("/v1/model").json()
    assert [one["name"] for one in model["portfolio_questions"]] == list(SURVEYED)
    assert all(set(one["fields"]) == set(SURVEYED[one["name"]].fields) for one in model["portfolio_questions"])
    assert model["columns"] == list(TABLE.columns)


def test_all_rows_are_explained_as_one_by_one(client):
    response = client.post("/v1/rows", json={"radius": "1", "immutable": ["late"]})
    assert response.status_code == 200, response.text
    answer = response.json()
    assert SURVEYED["rows"].answer.model_validate(answer)
    assert list(answer["failed"]) == ["4"]
    for k in range(4):
        why = LOAN.explain(dict(zip(LOAN.model.names, CELLS[k], strict=True)), 1, immutable=["late"])
        assert (answer["predictions"][k], answer["sizes"][k]) == (why.prediction, why.size)
        assert {answer["names"][i] for i in answer["features"][k]} == set(why.features)
        assert answer["probabilities"][k] == pytest.approx(why.probability, rel=1e-9)
        assert answer["margins"][k] == pytest.approx(float(why.margin))
    assert answer["sizes"][4] is answer["margins"][4] is answer["probabilities"][4] is answer["predictions"][4] is None


class NoTime:
    """A deadline that is about to pass."""

    left = 0.0


def test_as_many_rows_are_explained_as_there_is_time_for():
    survey = Survey(LOAN, DataTable("t", LOAN.model.names, tuple(CELLS) * 40))
    whole = SURVEYED["rows"].document(survey, {}, Deadline(600))
    assert (len(whole["sizes"]), whole["facts"][0]["text"]) == (200, "200; 40 cannot be read by the model.")
    part = SURVEYED["rows"].document(survey, {}, NoTime())
    assert part["facts"][0]["text"] == (
        "the first 32 of 200; all of them would take longer than a request may; 6 cannot be read by the model."
    )
    assert part["sizes"] == whole["sizes"][:32]

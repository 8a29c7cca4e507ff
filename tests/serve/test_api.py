import asyncio
import hashlib
import json
import multiprocessing
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from importlib.resources import files
from urllib.request import urlopen

import pytest

pytest.importorskip("fastapi", reason="the server needs FastAPI")
pytest.importorskip("httpx", reason="the tests of the server need httpx")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer Starlettes would rather have another client than httpx
    from fastapi.testclient import TestClient
import httpx
from present.models import HOSTILE, HOSTILE_ROW, MIXED_ROW, hostile, mixed, paired
from present.pages import assert_harmless
from pydantic import TypeAdapter
from serve.explainers import Broken, Dying, Hungry, Slow, Watched

from suffice import AdditiveModel, Explainer, PiecewiseLinear, Question, Within
from suffice.errors import ClaimError, ModelFileError
from suffice.model.reading import load_model
from suffice.present.pair_outline import pair_outline, strongest_pairs
from suffice.question.claims import CLAIMS
from suffice.question.question import OPTIONS
from suffice.search.registry import SEARCHES
from suffice.serve import Limits, create_app
from suffice.serve.bodies import FIELDS
from suffice.serve.pages import PAGE
from suffice.serve.portfolio import SURVEYED
from suffice.serve.questions import ASKED
from suffice.tables.reading import DataTable
from suffice_check import check

MIXED = mixed()
TABLE = DataTable("t", ("id", *MIXED.model.names), (("7", "0.1", "50", "red", None), ("8", 0.1, 20, "blue", 2**60)))


def patient(**limits):
    """Limits with time enough on a busy machine."""
    return Limits(**{"max_seconds": 600.0, **limits})


def client_of(explainer=MIXED, table=TABLE, **options):
    app = create_app(explainer, table, **{"limits": patient(), **options})
    return TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False)


@pytest.fixture(scope="module")
def client():
    with client_of() as one:
        yield one


def as_json(document):
    return json.loads(json.dumps(document))


def assert_problem(response, status, said=""):
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert set(document) == {"type", "title", "status", "detail"}
    assert document["status"] == status
    assert said in document["detail"]
    assert "Traceback" not in response.text
    assert ".py" not in response.text
    return document


# --- answers ----------------------------------------------------------------------------------------------------------


def test_every_search_has_an_endpoint_whose_body_has_what_it_honours_and_no_other():
    assert set(ASKED) == set(SEARCHES)
    for name, search in SEARCHES.items():
        asked = ASKED[name]
        honoured = search.honours | ({"radius"} if search.takes_radius else set())
        assert set(asked.body.model_fields) == honoured | {"row"} | set(asked.own) | set(asked.shown), name
    assert set(FIELDS) == {"radius", *OPTIONS}


def test_what_is_left_out_has_the_default_of_the_library():
    written = {name: default.default for name, (_, default) in FIELDS.items()}
    assert Question.from_document(MIXED.model, written) == MIXED.question()


OWN = {
    "sufficiency": {"features": ["age", "colour"]},
    "radius": {"features": ["age"]},
    "curve": {"until": "1/2"},
    "explanations": {"minimal": "subset"},
}
OPTION_VALUES = {
    "radius": {"income": "3/2", "age": 2, "colour": 1, "months": 1},
    "unit": "raw",
    "immutable": ["months"],
    "claim": {"kind": "within", "delta": "5"},
    "fix": ["age"],
    "free": ["months"],
    "cost": {"age": "2", "tied": "1/2"},
    "groups": {"tied": ["income", "months"]},
    "max_changed": 2,
    "norm": "2",
    "arithmetic": "float64",
    "max_nodes": 500,
    "max_seconds": 9.5,
}


PLAIN = {"outlines": [], "pair_outlines": [], "adds_up": True}


def asked_of_the_library(name, **fields):
    """Return the document of an answer, asked for by radius and options as users write them."""
    options = {field: value for field, value in fields.items() if field in (*OPTIONS, "radius")}
    own = {field: value for field, value in fields.items() if field not in options}
    if "claim" in options:
        options["claim"] = CLAIMS[options["claim"]["kind"]](options["claim"]["delta"])
    if "norm" in options:
        options["norm"] = int(options["norm"])
    answer = getattr(MIXED, name)(MIXED_ROW, **own, **options)
    return as_json((answer.listing() if name == "explanations" else answer).document())


def assert_same(client, name, fields):
    response = client.post(f"/v1/{name}", json={"row": MIXED_ROW, **fields})
    if fields.get("arithmetic"):  # this model is none of networks, which the library says if it is asked with that
        with pytest.raises(ClaimError) as refused:
            asked_of_the_library(name, **fields)
        assert_problem(response, 422, str(refused.value))
        return
    assert response.status_code == 200, response.text
    answer = response.json()
    assert TypeAdapter(ASKED[name].answer).validate_python(answer)
    if name == "explain":
        assert [answer.pop(extra) for extra in ("outlines", "pair_outlines", "adds_up")] == [[], [], True]
    assert answer == asked_of_the_library(name, **fields)


@pytest.mark.parametrize("name", SEARCHES)
def test_every_endpoint_answers_the_library_s_document(client, name):
    assert_same(client, name, OWN.get(name, {}))
    assert_same(client, name, OWN.get(name, {}) | {"unit": "raw", "immutable": ["months"]})


@pytest.mark.parametrize(
    ("name", "option"),
    [(name, option) for name in SEARCHES for option in OPTION_VALUES if option in ASKED[name].body.model_fields],
)
def test_every_option_reaches_the_library(client, name, option):
    fields = OWN.get(name, {}) | {option: OPTION_VALUES[option]}
    if option == "cost" and "groups" in ASKED[name].body.model_fields:
        fields["groups"] = OPTION_VALUES["groups"]
    assert_same(client, name, fields)


def test_options_that_a_search_does_not_honour_are_refused(client):
    for name in SEARCHES:
        for option in set(OPTION_VALUES) - set(ASKED[name].body.model_fields):
            body = {"row": MIXED_ROW, **OWN.get(name, {}), option: OPTION_VALUES[option]}
            assert_problem(client.post(f"/v1/{name}", json=body), 422, f"body.{option}: Extra inputs")


def test_a_search_keeps_to_the_time_of_the_request(tmp_path):
    explainer = Watched(MIXED, tmp_path)
    with client_of(explainer, None, limits=Limits(max_seconds=55)) as watched:
        for name in SEARCHES:
            assert watched.post(f"/v1/{name}", json={"row": MIXED_ROW, **OWN.get(name, {})}).status_code == 200
        seconds = dict(explainer.asked)
        assert all(5 < seconds[name] < 55 for name in SEARCHES)
        short = {"row": MIXED_ROW, "max_seconds": 2}
        assert watched.post("/v1/explain", json=short).status_code == 200
        assert explainer.asked[-1] == ("explain", 2)
        named = {"row": MIXED_ROW, "features": list(MIXED.model.names)}
        assert watched.post("/v1/inflate", json=named).status_code == 200
        name, seconds = explainer.asked[-1]
        assert name == "inflate"
        assert 5 < seconds < 55


def test_all_sets_can_be_listed_or_counted(client):
    every = MIXED.explanations(MIXED_ROW, "inf", minimal="subset")
    asked = {"row": MIXED_ROW, "radius": "inf", "minimal": "subset"}
    first = client.post("/v1/explanations", json=asked | {"limit": 1}).json()
    assert first == as_json(every.listing(1).document())
    counted = client.post("/v1/explanations", json=asked | {"count": True}).json()
    assert counted == as_json(every.counted().document())
    assert counted["low"] == len(list(every))
    TypeAdapter(ASKED["explanations"].answer).validate_python(counted)


def test_maps_of_pairs_come_with_it_when_asked_for():
    explainer = paired()
    with client_of(explainer, None) as client:
        body = {"row": MIXED_ROW, "radius": 2, "unit": "raw", "outlines": 3}
        answer = client.post("/v1/explain", json=body).json()
        why = explainer.explain(MIXED_ROW, 2, unit="raw")
        assert not answer["adds_up"]
        named = [tuple(side["name"] for side in one["sides"]) for one in answer["pair_outlines"]]
        assert named == strongest_pairs(why, 3)
        for one, names in zip(answer["pair_outlines"], named, strict=True):
            drawn = pair_outline(why, names)
            assert one["heights"] == [list(row) for row in drawn.heights]
            assert one["worst"] == drawn.worst
        assert client.post("/v1/explain", json=body | {"outlines": 0}).json()["pair_outlines"] == []
        assert client.get("/v1/model").json()["pairs"][0] == {
            "features": ["income", "age"],
            "shape": ["table"],
            "cells": [[2, 3]],
        }


def test_outlines_come_with_it_when_asked_for(client):
    answer = client.post("/v1/explain", json={"row": MIXED_ROW, "radius": 2, "unit": "raw", "outlines": 3}).json()
    why = MIXED.explain(MIXED_ROW, 2, unit="raw")
    assert [one["name"] for one in answer["outlines"]][: why.size] == list(why.features)
    assert len(answer["outlines"]) == 3
    huge = {**MIXED_ROW, "income": "0.5"}
    wide = client.post("/v1/explain", json={"row": huge, "radius": "1e400", "outlines": 4}).json()
    assert len(wide["outlines"]) == 4  # cut to the domains, so that all of them can be drawn


def test_numbers_count_as_they_are_written(client):
    def margin(cell):
        return client.post("/v1/explain", json={"row": {**MIXED_ROW, "income": cell}, "radius": 0}).json()["margin"]

    assert margin("0.1") != margin(0.1)
    assert margin(0.1)["exact"] == str(MIXED.explain({**MIXED_ROW, "income": 0.1}, 0).margin)
    missing = client.post("/v1/explain", json={"row": {**MIXED_ROW, "months": None}, "radius": 1}).json()
    assert missing["values"]["months"] == {"missing": True}


def test_a_curve_may_have_no_end(client):
    endless = client.post("/v1/curve", json={"row": MIXED_ROW, "until": "inf"}).json()
    assert endless["steps"][-1]["radius"]["exact"] == "inf"


@pytest.mark.parametrize(
    "claim",
    [
        {"kind": "same"},
        {"kind": "within", "delta": "1/2"},
        {"kind": "at_least", "value": 0},
        {"kind": "at_most", "value": "100"},
        {"kind": "probability_at_least", "p": "0.55"},
        {"kind": "beats", "other": "no"},
    ],
)
def test_every_claim_can_be_asked(client, claim):
    answer = client.post("/v1/explain", json={"row": MIXED_ROW, "radius": 1, "unit": "raw", "claim": claim})
    assert answer.status_code == 200
    if claim["kind"] == "within":
        why = MIXED.explain(MIXED_ROW, 1, unit="raw", claim=Within("1/2"))
        assert answer.json()["features"] == list(why.features)


def test_all_claims_were_asked_and_only_their_fields_are_taken(client):
    (asked,) = (mark.args[1] for mark in test_every_claim_can_be_asked.pytestmark if mark.name == "parametrize")
    assert sorted(one["kind"] for one in asked) == sorted(CLAIMS)
    for claim in ({"kind": "same", "value": 1}, {"kind": "within"}, {"kind": "at_least", "p": 1}):
        assert_problem(client.post("/v1/explain", json={"row": MIXED_ROW, "claim": claim}), 422, "body.claim")


def test_a_batch_answers_each_row_and_spares_the_good_ones(client):
    bad = {**MIXED_ROW, "colour": "purple"}
    answers = client.post("/v1/batch", json={"rows": [MIXED_ROW, bad, MIXED_ROW], "radius": 1}).json()["answers"]
    why = as_json(MIXED.explain(MIXED_ROW, 1).document())
    assert [answers[0]["explanation"], answers[2]["explanation"]] == [why, why]
    assert answers[1]["row"] == 1
    assert "purple" in answers[1]["problem"]["detail"]
    assert answers[1]["problem"]["type"] == "urn:suffice:problem:RowError"


def test_rows_of_the_table_come_without_loss(client):
    assert client.get("/v1/rows/0").json() == {
        "row": 0,
        "cells": {"income": "0.1", "age": "50", "colour": "red", "months": None},
    }
    assert client.get("/v1/rows/1").json()["cells"]["income"] == 0.1
    assert client.get("/v1/rows/1").json()["cells"]["months"] == str(2**60)
    assert_problem(client.get("/v1/rows/2"), 404, "no row 2; the table has 2")
    assert_problem(client.get("/v1/rows/-1"), 422)
    with client_of(table=None) as bare:
        assert_problem(bare.get("/v1/rows/0"), 404)
        assert bare.get("/v1/model").json()["rows"] == 0


# --- certificates and reports -----------------------------------------------------------------------------------------


def test_a_certificate_is_accepted_here_and_by_the_checker_itself(client):
    body = {"row": MIXED_ROW, "radius": 2, "unit": "raw", "free": ["age"]}
    response = client.post("/v1/certificate", json=body)
    assert response.headers["content-disposition"] == 'attachment; filename="certificate.json"'
    model = client.get("/v1/model.safetensors").content
    assert check(model, response.content).startswith("Proven: ")
    assert verdict(client, response.content) == {"is_accepted": True, "says": check(model, response.content)}
    assert response.content.count(b'"1/2"') >= 1
    changed = verdict(client, response.content.replace(b'"1/2"', b'"-19/2"', 1))
    assert changed["is_accepted"] is False
    assert changed["says"].startswith("Rejected: ")


def verdict(client, certificate):
    return client.post("/v1/check", content=certificate, headers={"content-type": "application/json"}).json()


@pytest.mark.parametrize("of", SEARCHES)
def test_certificates_can_be_of_every_question(client, of):
    body = {"row": MIXED_ROW, "unit": "raw", **OWN.get(of, {})} | ({"radius": 3} if SEARCHES[of].takes_radius else {})
    response = client.post("/v1/certificate", json={"of": of, **body})
    fields = {name: value for name, value in body.items() if name != "row"}
    answer = getattr(MIXED, of)(MIXED_ROW, **fields)
    assert response.json() == (answer.listing() if of == "explanations" else answer).certificate().document
    assert verdict(client, response.content)["is_accepted"] is True
    assert_problem(client.post("/v1/certificate", json={"of": "batch", **body}), 422)


def test_the_model_file_is_served_as_it_is(tmp_path):
    path = tmp_path / "other.safetensors"
    content = spaced(MIXED.compiled.content)
    path.write_bytes(content)
    with client_of(Explainer(load_model(path)), None, model_file=path) as one:
        served = one.get("/v1/model.safetensors")
        assert served.headers["content-disposition"] == 'attachment; filename="model.safetensors"'
        assert served.content == content
        digest = hashlib.sha256(content).hexdigest()
        assert one.get("/v1/model").json()["sha256"] == digest
        certificate = one.post("/v1/certificate", json={"row": MIXED_ROW})
        assert certificate.json()["model"] == digest
        assert verdict(one, certificate.content)["is_accepted"] is True
    with pytest.raises(ModelFileError, match="a different model"):
        create_app(hostile(), model_file=path)


def spaced(content):
    """Return a model file with other bytes and the same model: spaces after its header."""
    size = int.from_bytes(content[:8], "little")
    return (size + 8).to_bytes(8, "little") + content[8 : 8 + size] + b" " * 8 + content[8 + size :]


def test_what_is_no_certificate_is_refused(client):
    json_type = {"content-type": "application/json"}
    assert_problem(client.post("/v1/check", content=b"{", headers=json_type), 422, "this is not a certificate")
    assert_problem(client.post("/v1/check", json={"version": 1}), 422, "this is not a certificate")
    assert_problem(
        client.post("/v1/check", content=b"{}", headers={"content-type": "text/plain"}), 422, "application/json"
    )
    assert_problem(client.post("/v1/check", content=b"[" * 100_000, headers=json_type), 422)


def test_a_report_is_harmless_even_with_hostile_names():
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    with client_of(hostile(), None) as hostile_client:
        body = {"row": HOSTILE_ROW, "radius": 3, "unit": "raw", "title": HOSTILE[0]}
        response = hostile_client.post("/v1/report", json=body)
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert response.headers["content-disposition"] == 'attachment; filename="report.html"'
        assert_harmless(response.text)


# --- limits -----------------------------------------------------------------------------------------------------------


def test_bodies_and_rows_are_limited():
    with client_of(limits=patient(max_bytes=2_000, max_rows=2)) as small:
        body = {"rows": [MIXED_ROW] * 3, "radius": 1}
        assert_problem(small.post("/v1/batch", json=body), 413, "2 rows, got 3")
        assert_problem(small.post("/v1/explain", content=b"x" * 2_001), 413, "2,000 bytes")
        chunks = (b"x" * 100 for _ in range(30))
        assert_problem(small.post("/v1/explain", content=chunks), 413, "2,000 bytes")
        assert_problem(small.post("/v1/check", content=(b"x" * 100 for _ in range(30))), 413)
        assert small.post("/v1/batch", json={"rows": [MIXED_ROW] * 2, "radius": 1}).status_code == 200


def test_a_body_that_does_not_arrive_is_not_waited_for():
    app = create_app(MIXED, limits=Limits(max_seconds=0.1))
    sent = []

    async def never():
        await asyncio.sleep(60)

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:8000"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/v1/explain", "headers": headers, "query_string": b""}
    asyncio.run(app(scope, never, send))
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["title"] == "Request Timeout"


def test_a_request_that_takes_too_long_is_ended_and_others_are_answered(tmp_path):
    slow = Slow(MIXED, tmp_path)
    with client_of(slow, None, limits=Limits(max_seconds=0.6, quick_seconds=0.6, workers=1)) as busy:
        body = {"row": MIXED_ROW, "radius": 1}
        busy.post("/v1/counterfactual", json=body)  # starts the workers, which may take longer than it has
        for path in ("/v1/explain", "/v1/counterfactual"):
            assert_problem(busy.post(path, json=body), 503, "took too long")
        slow.go()  # whoever waits now was not ended
        assert all(0 < seconds <= 0.6 for _, seconds in slow.asked)
        for path in ("/v1/explain", "/v1/counterfactual"):
            assert answered(busy, path, body).status_code == 200


def answered(client, path, body):
    """Return the first answer that is no 503."""
    for _ in range(100):
        answer = client.post(path, json=body)
        if answer.status_code != 503:
            break
        time.sleep(0.05)
    return answer


def test_too_many_that_wait_are_turned_away(tmp_path):
    slow = Slow(MIXED, tmp_path)
    with client_of(slow, None, limits=patient(quick_seconds=600, workers=1, max_waiting=1)) as busy:
        body = {"row": MIXED_ROW, "radius": 1}
        with asked_meanwhile(busy, slow, "/v1/explain", body) as first:
            refused = busy.post("/v1/explain", json=body)
            assert_problem(refused, 503, "too many requests are waiting")
            assert refused.headers["retry-after"] == "1"
        assert first[0].status_code == 200


@contextmanager
def asked_meanwhile(client, slow, path, body, count=1):
    """Ask questions that are not answered yet; their answers are in the list once it is left."""
    found = []
    threads = [threading.Thread(target=lambda: found.append(client.post(path, json=body))) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: len(slow.asked) >= count)
        yield found
    finally:
        slow.go()
        for thread in threads:
            thread.join()


def wait_until(holds):
    """Wait until something is so, for at most ten minutes."""
    end = time.monotonic() + 600
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_slow_questions_keep_no_quick_one_waiting(tmp_path):
    slow = Slow(MIXED, tmp_path)
    quick = {"row": MIXED_ROW, "radius": 1, "features": ["age"]}
    with client_of(slow, None, limits=patient()) as busy:
        assert busy.post("/v1/sufficiency", json=quick).status_code == 200  # its worker has started
        body = {"row": MIXED_ROW, "radius": 1}
        with asked_meanwhile(busy, slow, "/v1/counterfactual", body, count=2) as found:
            assert busy.post("/v1/sufficiency", json=quick).status_code == 200
            assert found == []  # the slow ones are still at it
        assert [answer.status_code for answer in found] == [200, 200]


def test_a_question_that_is_not_quick_goes_on_among_the_slow_ones(tmp_path):
    slow = Slow(MIXED, tmp_path)
    with client_of(slow, None, limits=patient(quick_seconds=0.2, workers=1)) as busy:
        body = {"row": MIXED_ROW, "radius": 1}
        with asked_meanwhile(busy, slow, "/v1/explain", body) as found:
            wait_until(lambda: len(slow.asked) == 2)  # here, then there
            quick = body | {"features": ["age"]}
            assert busy.post("/v1/sufficiency", json=quick).status_code == 200
        assert found[0].json() == as_json(MIXED.explain(MIXED_ROW, 1).document() | PLAIN)
        assert [name for name, _ in slow.asked] == ["explain", "explain"]


def test_a_worker_that_dies_is_replaced(tmp_path):
    with client_of(Dying(MIXED, tmp_path), None, limits=patient(workers=1)) as one:
        for _ in range(2):
            assert_problem(one.post("/v1/explain", json={"row": MIXED_ROW, "radius": 1}), 503, "used up")
        found = one.post("/v1/check", json={"version": 1})
        assert_problem(found, 422, "not a certificate")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells a process how much memory it has")
def test_a_question_has_so_much_memory(tmp_path):
    with client_of(Hungry(MIXED, tmp_path), None, limits=patient(workers=1, max_memory=200_000_000)) as one:
        body = {"row": MIXED_ROW, "radius": 1}
        for more in ({}, {"max_changed": 1}, {}):
            found = one.post("/v1/explain", json=body | more)
            assert_problem(found, 503, "used up the memory or the process that it was given; ask for less at once")
        assert one.post("/v1/sufficiency", json=body | {"features": ["age"]}).status_code == 200


def test_workers_run_before_the_first_request():
    before = {process.pid for process in multiprocessing.active_children()}
    with client_of(limits=Limits(workers=2)):
        assert len({process.pid for process in multiprocessing.active_children()} - before) == 4
    wait_until(lambda: {process.pid for process in multiprocessing.active_children()} <= before)


def test_answers_are_limited():
    with client_of(limits=patient(max_answer=5_000)) as small:
        assert small.post("/v1/explain", json={"row": MIXED_ROW, "radius": 1}).status_code == 200
        many = small.post("/v1/batch", json={"rows": [MIXED_ROW] * 50, "radius": 1})
        assert_problem(many, 413, "more than 5,000 bytes; ask about fewer rows")
        report = small.post("/v1/report", json={"row": MIXED_ROW, "radius": 1})
        assert_problem(report, 413, "more than 5,000; ask for less at once")


LARGE = ("1e306", "1e307", "1.7e308", "1e309", "1e320", "-1e320", 1e308)


@pytest.mark.parametrize("value", LARGE)
def test_numbers_beyond_all_floats_get_an_answer_or_one_sentence(value):
    line = PiecewiseLinear([-1, 1], [-1, 1], left_slope=1, right_slope=3)
    explainer = Explainer(AdditiveModel([line, line], 5, features=["a", "b"]))
    with client_of(explainer, None, limits=patient(workers=1)) as one:
        radius = str(value).lstrip("-")
        for row in ({"a": value, "b": 0}, {"a": 0, "b": 0}):
            for path in ("explain", "report", "certificate", "sufficiency", "contrast", "curve"):
                own = {"explain": {"outlines": 2}, "sufficiency": {"features": ["a"]}, "curve": {"until": radius}}
                body = {"row": row, "unit": "raw", "radius": radius} | own.get(path, {})
                if path == "curve":
                    del body["radius"]
                response = one.post(f"/v1/{path}", json=body)
                if response.status_code != 200:
                    assert_problem(response, 422, "too large to be drawn" if path == "report" else "")
                    assert path in ("report", "curve")


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"row": {**MIXED_ROW, "age": "old"}}, "feature 'age'"),
        ({"row": {"age": 3}}, "needs a value for every feature"),
        ({"row": {**MIXED_ROW, "agee": 3}}, "did you mean 'age'?"),
        ({"radius": -1}, "cannot be negative"),
        ({"radius": "wide"}, "radius"),
        ({"fix": ["nobody"]}, "'nobody' is not a feature"),
        ({"fix": ["age"], "free": ["age"]}, "age"),
        ({"claim": {"kind": "beats", "other": "maybe"}}, "is not a class"),
        ({"claim": {"kind": "else"}}, "body.claim"),
        ({"model": "/etc/passwd"}, "body.model: Extra inputs"),
        ({"unit": "miles"}, "body.unit"),
        ({"max_changed": 0}, "body.max_changed"),
        ({"row": {**MIXED_ROW, "age": True}}, "body.row.age"),
        ({"row": {**MIXED_ROW, "age": [1]}}, "body.row.age"),
        ({"radius": "1" * 6_000}, "body.radius"),
    ],
)
def test_bad_questions_get_a_problem_of_one_sentence(client, change, said):
    assert_problem(client.post("/v1/explain", json={"row": MIXED_ROW, "radius": 1} | change), 422, said)


def test_what_is_no_json_is_refused(client):
    for content in (b"", b"{", b'{"row": NaN}', b"[" * 50_000, b"\xff\xfe", b"9" * 10_000):
        response = client.post("/v1/explain", content=content, headers={"content-type": "application/json"})
        assert response.status_code in (400, 422), content[:10]
        assert_problem(response, response.status_code)
    assert_problem(client.post("/v1/explain", content=b'{"row": {}}', headers={"content-type": "text/plain"}), 422)


@pytest.mark.parametrize(
    "content",
    [
        '{"row": {"x": 1, "y": 2, "x": 3}, "radius": 1}',
        '{"row": {"x": 1}, "radius": 1, "x": 0, "x": 1}',
        '{"row": {"x": 1}, "claim": {"kind": "same", "x": "same", "x": "same"}}',
        '{"row": {"x": 1, "\\u0078": 3}}',
    ],
)
def test_a_field_that_is_given_twice_is_refused(client, content):
    for path in ("explain", "certificate"):
        response = client.post(f"/v1/{path}", content=content, headers={"content-type": "application/json"})
        assert_problem(response, 400, "two fields are called 'x'")


def test_a_failure_of_our_own_says_nothing_of_the_code(tmp_path):
    with client_of(Broken(MIXED, tmp_path), None) as broken:
        response = broken.post("/v1/explain", json={"row": MIXED_ROW, "radius": 1})
        assert_problem(response, 500)
        assert "secret" not in response.text
        assert response.headers["x-content-type-options"] == "nosniff"


def test_files_cannot_be_named(client):
    for path in (
        "/../pyproject.toml",
        "/page/index.html",
        "/app.py",
        "/%2e%2e/app.py",
        "/page.js/../app.py",
        "/v1/rows/..%2f",
    ):
        assert client.get(path).status_code in (404, 422), path
    assert_problem(client.get("/nowhere"), 404)
    refused = client.get("/v1/explain")
    assert_problem(refused, 405)
    assert refused.headers["allow"] == "POST"


def test_requests_of_other_sites_are_refused(client):
    body = {"row": MIXED_ROW, "radius": 1}
    both = [("origin", "http://evil.example"), ("origin", "http://127.0.0.1:8000")]
    assert_problem(client.post("/v1/explain", json=body, headers=both), 403)
    own = {"origin": "http://127.0.0.1:8000"}
    assert client.post("/v1/explain", json=body, headers=own).status_code == 200
    assert_problem(
        client.post("/v1/explain", json=body, headers={"origin": "https://evil.example"}), 403, "other sites"
    )
    assert_problem(client.post("/v1/explain", json=body, headers={"origin": "null"}), 403)
    assert_problem(client.get("/v1/model", headers={"host": "evil.example"}), 403, "started with")
    assert_problem(client.get("/v1/model", headers={"host": "["}), 403, "started with")
    assert_problem(client.get("/v1/model", headers={"origin": "http://["}), 403, "other sites")
    assert_problem(client.get("/v1/model", headers={"content-length": "9" * 5_000}), 413)
    assert client.get("/v1/model", headers={"host": "localhost:8000"}).status_code == 200
    assert client.get("/v1/model", headers={"host": "[::1]:8000"}).status_code == 200
    with client_of(hosts=None) as anywhere:
        assert anywhere.get("/v1/model", headers={"host": "models.example"}).status_code == 200


# --- the page and the description -------------------------------------------------------------------------------------


def test_the_page_is_complete_and_strict(client):
    response = client.get("/")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    wanted = re.findall(r'(?:src|href)="([^"#]+)"', response.text)
    assert set(wanted) == {"data:,", "page.css", "page.js", "v1/model.safetensors"}
    assert all(client.get(f"/{one}").status_code == 200 for one in wanted if one != "data:,")
    page = files("suffice.serve").joinpath("page")
    text = "".join(page.joinpath(name).read_text() for name, _ in PAGE.values())
    assert all(client.get(f"/{name}").status_code == 200 for name in PAGE)
    assert {one.name for one in page.iterdir()} == {name for name, _ in PAGE.values()}
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text)
    assert not re.findall(r"\son\w+=|style=", page.joinpath("index.html").read_text())


def test_what_can_be_asked_is_told(client):
    model = client.get("/v1/model").json()
    assert [one["name"] for one in model["questions"]] == list(ASKED)
    assert all(set(one["fields"]) == set(ASKED[one["name"]].body.model_fields) for one in model["questions"])
    assert [one["kind"] for one in model["claims"]] == [kind for kind in CLAIMS if "binary" in CLAIMS[kind].tasks]


def test_the_api_is_described(client):
    described = client.get("/openapi.json").json()
    posts = {path for path, methods in described["paths"].items() if "post" in methods}
    asked = {f"/v1/{name}" for name in (*SEARCHES, *SURVEYED)}
    assert {*asked, "/v1/batch", "/v1/check", "/v1/certificate", "/v1/report"} == posts
    for path in posts:
        assert "application/problem+json" in described["paths"][path]["post"]["responses"]["422"]["content"]
    assert client.get("/docs").status_code == 404  # it would be loaded from elsewhere
    schemas = described["components"]["schemas"]
    tables = {"BatchBody", *(f"{name.capitalize()}Body" for name in SURVEYED)}
    rows = [body["properties"]["row"] for name, body in schemas.items() if "Body" in name and name not in tables]
    assert rows == [{"$ref": "#/components/schemas/Row"}] * (2 * len(SEARCHES) + 1)
    assert client.get("/v1/model").json()["limits"] == {"bytes": 1_000_000, "rows": 100, "seconds": 600.0}


def test_a_regression_and_several_classes_can_be_served():
    line = PiecewiseLinear([-1, 1], [-1, 1])
    with client_of(Explainer(AdditiveModel([line, line], 5, task="regression")), None) as number:
        asked = {"row": {"x0": 0, "x1": 0}, "radius": 1, "unit": "raw"}
        assert_problem(number.post("/v1/explain", json=asked), 422, "give a claim: Within")
        claim = {"kind": "within", "delta": 1}
        assert number.post("/v1/explain", json=asked | {"claim": claim}).json()["prediction"]["exact"] == "5"


# --- the command ------------------------------------------------------------------------------------------------------


@contextmanager
def started(*arguments):
    """Run `suffice serve` on a free port, and give its address."""
    command = [
        sys.executable,
        "-m",
        "suffice.cli",
        "serve",
        *map(str, arguments),
        "--port",
        "0",
        "--max-seconds",
        "600",
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().split()[0]
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(600) in (0, -signal.SIGINT, 130)
        server.stdout.close()


def test_the_command_serves_on_loopback_until_interrupted(tmp_path):
    path = tmp_path / "m.safetensors"
    path.write_bytes(spaced(MIXED.compiled.content))
    (tmp_path / "t.csv").write_text("income,age,colour,months\n0.5,50,green,7\n")
    with started(path, "--data", tmp_path / "t.csv") as address:
        assert address.startswith("http://127.0.0.1:")
        with urlopen(f"{address}v1/rows/0", timeout=600) as response:
            assert json.load(response)["cells"]["colour"] == "green"
        with urlopen(f"{address}v1/model.safetensors", timeout=600) as response:
            assert response.read() == path.read_bytes()  # the very file, not one like it


EBM = {
    "version": "1.0",
    "ebm": {
        "outputs": [{"task": "classification", "classes": ["bad", "good"], "link": "logit", "link_param": "nan"}],
        "intercept": [0.25],
        "features": [{"name": "months", "type": "continuous", "cuts": [[6.0, 12.5]]}],
        "terms": [{"term_features": ["months"], "scores": [0.5, -1.0, 0.125, 2.0, 0.0]}],
    },
}


def test_files_of_other_packages_are_served_and_their_certificates_can_be_checked(tmp_path):
    (tmp_path / "ebm.json").write_text(json.dumps(EBM))
    with started(tmp_path / "ebm.json") as address, httpx.Client(base_url=address, timeout=600) as client:
        asked = {"row": {"months": 13}, "radius": 1, "unit": "raw"}
        assert client.post("v1/explain", json=asked).json()["prediction"] == "good"
        certificate = client.post("v1/certificate", json=asked)
        model = client.get("v1/model.safetensors").content
        digest = hashlib.sha256(model).hexdigest()
        assert certificate.json()["model"] == client.get("v1/model").json()["sha256"] == digest
        assert verdict(client, certificate.content) == {"is_accepted": True, "says": check(model, certificate.content)}


def test_a_server_that_cannot_start_says_why(tmp_path):
    MIXED.model.save(tmp_path / "m.safetensors")
    (tmp_path / "t.csv").write_text("income,age\n0.5,50\n")

    def said(*arguments):
        command = [sys.executable, "-m", "suffice.cli", "serve", str(tmp_path / "m.safetensors"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 1
        return done.stderr

    assert "has no column 'colour'" in said("--data", str(tmp_path / "t.csv"))
    assert "cannot listen on" in said("--host", "203.0.113.1", "--port", "0", "--token", "t" * 16)
    assert "token that requests must send, with --token or the environment variable SUFFICE_TOKEN" in said(
        "--host", "203.0.113.1"
    )
    assert "name those that requests may use for it, as in --allow-host" in said(
        "--host", "0.0.0.0", "--token", "t" * 16
    )
    assert "at least 16" in said("--token", "short")

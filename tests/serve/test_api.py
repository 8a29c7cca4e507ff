import asyncio
import json
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from importlib.resources import files
from urllib.request import urlopen

import pytest

pytest.importorskip("fastapi", reason="the server needs FastAPI")
pytest.importorskip("httpx", reason="the tests of the server need httpx")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer Starlettes would rather have another client than httpx
    from fastapi.testclient import TestClient
from present.models import HOSTILE, HOSTILE_ROW, MIXED_ROW, hostile, mixed
from present.pages import assert_harmless

from suffice import AdditiveModel, Explainer, PiecewiseLinear, Within
from suffice.model_file import to_bytes
from suffice.present.json import answer_document, contrast_document, curve_document
from suffice.serve import Limits, create_app
from suffice.tables import DataTable
from suffice_check import check

MIXED = mixed()
TABLE = DataTable("t", ("id", *MIXED.model.names), (("7", "0.1", "50", "red", None), ("8", 0.1, 20, "blue", 2**60)))


def client_of(explainer=MIXED, table=TABLE, **options):
    app = create_app(explainer, to_bytes(explainer.model), table, **options)
    return TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False)


@pytest.fixture(scope="module")
def client():
    with client_of() as one:
        yield one


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


def test_an_explanation_is_the_library_s_document(client):
    body = {"row": MIXED_ROW, "radius": "3/2", "unit": "raw", "keep": ["age"], "held": ["months"]}
    answer = client.post("/v1/explain", json=body).json()
    why = MIXED.explain(MIXED_ROW, "3/2", keep=["age"], held=["months"])
    assert answer.pop("text") == str(why).splitlines()
    assert answer.pop("outlines") == []
    assert answer == json.loads(json.dumps(answer_document(why)))


def test_outlines_come_with_it_when_asked_for(client):
    answer = client.post("/v1/explain", json={"row": MIXED_ROW, "radius": 2, "outlines": 3}).json()
    why = MIXED.explain(MIXED_ROW, 2)
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


def test_contrast_and_curve_are_the_library_s_documents(client):
    answer = client.post("/v1/contrast", json={"row": MIXED_ROW, "radius": 9}).json()
    found = MIXED.contrast(MIXED_ROW, 9)
    assert answer == json.loads(json.dumps(contrast_document(found))) | {"text": str(found).splitlines()}
    answer = client.post("/v1/curve", json={"row": MIXED_ROW, "until": 4}).json()
    found = MIXED.curve(MIXED_ROW, until=4)
    assert answer == json.loads(json.dumps(curve_document(found))) | {"text": str(found).splitlines()}
    endless = client.post("/v1/curve", json={"row": MIXED_ROW, "until": "inf"}).json()
    assert endless["steps"][-1]["radius"]["exact"] == "inf"


@pytest.mark.parametrize(
    "claim",
    [
        {"kind": "same"},
        {"kind": "within", "delta": "1/2"},
        {"kind": "at_least", "value": 0},
        {"kind": "at_most", "value": "100"},
        {"kind": "probability", "p": "0.55"},
        {"kind": "beats", "other": "no"},
    ],
)
def test_every_claim_can_be_asked(client, claim):
    answer = client.post("/v1/explain", json={"row": MIXED_ROW, "radius": 1, "claim": claim})
    assert answer.status_code == 200
    if claim["kind"] == "within":
        assert answer.json()["features"] == list(MIXED.explain(MIXED_ROW, 1, claim=Within("1/2")).features)


def test_a_batch_answers_each_row_and_spares_the_good_ones(client):
    bad = {**MIXED_ROW, "colour": "purple"}
    answers = client.post("/v1/batch", json={"rows": [MIXED_ROW, bad, MIXED_ROW], "radius": 1}).json()["answers"]
    why = json.loads(json.dumps(answer_document(MIXED.explain(MIXED_ROW, 1))))
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
    body = {"row": MIXED_ROW, "radius": 2, "free": ["age"]}
    response = client.post("/v1/certificate", json=body)
    assert response.headers["content-disposition"] == 'attachment; filename="certificate.json"'
    assert check(to_bytes(MIXED.model), response.content).startswith("Proven: ")
    verdict = client.post("/v1/check", content=response.content, headers={"content-type": "application/json"}).json()
    assert verdict == {"is_accepted": True, "says": check(to_bytes(MIXED.model), response.content)}
    assert response.content.count(b'"1/2"') >= 1
    changed = response.content.replace(b'"1/2"', b'"-19/2"', 1)
    verdict = client.post("/v1/check", content=changed, headers={"content-type": "application/json"}).json()
    assert verdict["is_accepted"] is False
    assert verdict["says"].startswith("Rejected: ")


def test_what_is_no_certificate_is_refused(client):
    json_type = {"content-type": "application/json"}
    assert_problem(client.post("/v1/check", content=b"{", headers=json_type), 422, "no certificate")
    assert_problem(client.post("/v1/check", json={"version": 1}), 422, "no certificate")
    assert_problem(
        client.post("/v1/check", content=b"{}", headers={"content-type": "text/plain"}), 422, "application/json"
    )
    assert_problem(client.post("/v1/check", content=b"[" * 100_000, headers=json_type), 422)


def test_a_report_is_harmless_even_with_hostile_names():
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    with client_of(hostile(), None) as hostile_client:
        body = {"row": HOSTILE_ROW, "radius": 3, "title": HOSTILE[0]}
        response = hostile_client.post("/v1/report", json=body)
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert response.headers["content-disposition"] == 'attachment; filename="report.html"'
        assert_harmless(response.text)


# --- limits -----------------------------------------------------------------------------------------------------------


def test_bodies_and_rows_are_limited():
    with client_of(limits=Limits(max_bytes=2_000, max_rows=2)) as small:
        body = {"rows": [MIXED_ROW] * 3, "radius": 1}
        assert_problem(small.post("/v1/batch", json=body), 413, "2 rows at most, got 3")
        assert_problem(small.post("/v1/explain", content=b"x" * 2_001), 413, "2,000 bytes at most")
        chunks = (b"x" * 100 for _ in range(30))
        assert_problem(small.post("/v1/explain", content=chunks), 413, "2,000 bytes at most")
        assert_problem(small.post("/v1/check", content=(b"x" * 100 for _ in range(30))), 413)
        assert small.post("/v1/batch", json={"rows": [MIXED_ROW] * 2, "radius": 1}).status_code == 200


def test_a_body_that_does_not_arrive_is_not_waited_for():
    app = create_app(MIXED, to_bytes(MIXED.model), limits=Limits(max_seconds=0.1))
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


class Slow:
    """An explainer that waits until it is told to go on."""

    def __init__(self, explainer):
        self.explainer, self.go, self.seconds = explainer, threading.Event(), []
        self.model, self.pieces = explainer.model, explainer.pieces

    def explain(self, *arguments, max_seconds, **options):
        self.seconds.append(max_seconds)
        self.go.wait(30)
        return self.explainer.explain(*arguments, max_seconds=max_seconds, **options)


def test_a_request_that_takes_too_long_is_given_up_and_others_are_turned_away():
    slow = Slow(MIXED)
    with client_of(slow, None, limits=Limits(max_seconds=0.3, workers=1, max_waiting=2)) as busy:
        body = {"row": MIXED_ROW, "radius": 1}
        assert_problem(busy.post("/v1/explain", json=body), 503, "took too long")
        assert 0 < slow.seconds[0] <= 0.3
        assert_problem(busy.post("/v1/explain", json=body), 503, "took too long")  # it waited and never began
        assert len(slow.seconds) == 1
        assert busy.get("/v1/model").status_code == 200
        slow.go.set()
        for _ in range(100):
            answer = busy.post("/v1/explain", json=body)
            if answer.status_code == 200:
                break
            time.sleep(0.05)
        assert answer.status_code == 200


def test_too_many_that_wait_are_turned_away():
    slow = Slow(MIXED)
    with client_of(slow, None, limits=Limits(max_seconds=20, workers=1, max_waiting=1)) as busy:
        body = {"row": MIXED_ROW, "radius": 1}
        first = []
        thread = threading.Thread(target=lambda: first.append(busy.post("/v1/explain", json=body)))
        thread.start()
        while not slow.seconds:
            time.sleep(0.01)
        refused = busy.post("/v1/explain", json=body)
        assert_problem(refused, 503, "too many requests wait")
        assert refused.headers["retry-after"] == "1"
        slow.go.set()
        thread.join()
        assert first[0].status_code == 200


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"row": {**MIXED_ROW, "age": "old"}}, "feature 'age'"),
        ({"row": {"age": 3}}, "needs a value for every feature"),
        ({"row": {**MIXED_ROW, "agee": 3}}, "did you mean 'age'?"),
        ({"radius": -1}, "cannot be negative"),
        ({"radius": "wide"}, "radius"),
        ({"keep": ["nobody"]}, "'nobody' is not a feature"),
        ({"keep": ["age"], "free": ["age"]}, "age"),
        ({"claim": {"kind": "beats", "other": "maybe"}}, "is not a class"),
        ({"claim": {"kind": "else"}}, "body.claim"),
        ({"model": "/etc/passwd"}, "body.model: Extra inputs"),
        ({"unit": "miles"}, "body.unit"),
        ({"at_most": 0}, "body.at_most"),
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


def test_a_failure_of_our_own_says_nothing_of_the_code():
    class Broken(Slow):
        def explain(self, *arguments, **options):
            raise RuntimeError("a secret")

    with client_of(Broken(MIXED), None) as broken:
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
    assert {one for one in wanted if one != "data:,"} == {"page.css", "page.js"}
    assert all(client.get(f"/{one}").status_code == 200 for one in ("page.css", "page.js"))
    page = files("suffice.serve").joinpath("page")
    text = "".join(page.joinpath(name).read_text() for name in ("index.html", "page.css", "page.js"))
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text)
    assert not re.findall(r"\son\w+=|style=", page.joinpath("index.html").read_text())


def test_the_api_is_described(client):
    described = client.get("/openapi.json").json()
    posts = {path for path, methods in described["paths"].items() if "post" in methods}
    assert {
        "/v1/explain",
        "/v1/contrast",
        "/v1/batch",
        "/v1/check",
        "/v1/certificate",
        "/v1/report",
        "/v1/curve",
    } == posts
    for path in posts:
        assert "application/problem+json" in described["paths"][path]["post"]["responses"]["422"]["content"]
    assert client.get("/docs").status_code == 404  # it would be loaded from elsewhere
    assert client.get("/v1/model").json()["limits"] == {"bytes": 1_000_000, "rows": 100, "seconds": 10.0}


def test_a_regression_and_several_classes_can_be_served():
    line = PiecewiseLinear([-1, 1], [-1, 1])
    with client_of(Explainer(AdditiveModel([line, line], 5, task="regression")), None) as number:
        asked = {"row": {"x0": 0, "x1": 0}, "radius": 1}
        assert_problem(number.post("/v1/explain", json=asked), 422, "Within(delta)")
        claim = {"kind": "within", "delta": 1}
        assert number.post("/v1/explain", json=asked | {"claim": claim}).json()["prediction"]["exact"] == "5"


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_serves_on_loopback_until_interrupted(tmp_path):
    MIXED.model.save(tmp_path / "m.safetensors")
    (tmp_path / "t.csv").write_text("income,age,colour,months\n0.5,50,green,7\n")
    command = ["serve", str(tmp_path / "m.safetensors"), "--data", str(tmp_path / "t.csv"), "--port", "0"]
    server = subprocess.Popen([sys.executable, "-m", "suffice.cli", *command], stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().split()[0]
        assert address.startswith("http://127.0.0.1:")
        with urlopen(f"{address}v1/rows/0", timeout=30) as response:
            assert json.load(response)["cells"]["colour"] == "green"
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(30) in (0, -signal.SIGINT, 130)
        server.stdout.close()


def test_a_server_that_cannot_start_says_why(tmp_path):
    MIXED.model.save(tmp_path / "m.safetensors")
    (tmp_path / "t.csv").write_text("income,age\n0.5,50\n")

    def said(*arguments):
        command = [sys.executable, "-m", "suffice.cli", "serve", str(tmp_path / "m.safetensors"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        return done.stderr

    assert "has no column 'colour'" in said("--data", str(tmp_path / "t.csv"))
    assert "cannot listen on" in said("--host", "203.0.113.1", "--port", "0")

"""The HTTP API against its own description, with questions made up by schemathesis."""

import pytest

schemathesis = pytest.importorskip("schemathesis", reason="the API is tried by schemathesis")
pytest.importorskip("fastapi", reason="the server needs FastAPI")
from hypothesis import settings  # noqa: E402
from jsonschema import Draft202012Validator  # noqa: E402
from present.models import MIXED_ROW, mixed  # noqa: E402
from schemathesis.checks import negative_data_rejection, positive_data_acceptance  # noqa: E402
from serve.served import Served  # noqa: E402

from suffice.search.registry import SEARCHES  # noqa: E402
from suffice.serve import create_app  # noqa: E402
from suffice.tables.reading import DataTable  # noqa: E402

EXPLAINER = mixed()
DESCRIPTION = create_app(EXPLAINER).app.openapi()
schema = schemathesis.openapi.from_dict(DESCRIPTION)


@pytest.fixture(scope="module")
def served():
    one = Served(EXPLAINER, DataTable("t", tuple(MIXED_ROW), (tuple(MIXED_ROW.values()),)))
    yield one
    one.close()


STATUSES = {}


def body_validator(path, method):
    """Return what tells whether a body is as described; None for an operation without one."""
    if "requestBody" not in DESCRIPTION["paths"][path][method.lower()]:
        return None
    place = "/".join(("paths", path.replace("/", "~1"), method.lower(), "requestBody/content/application~1json/schema"))
    return Draft202012Validator({**DESCRIPTION, "$ref": f"#/{place}"})


def trial(path, method):
    """Return the test of one operation; each has a name of its own, by which processes share the tests among them."""
    described = body_validator(path, method)

    @schema.include(path=path, method=method).parametrize()
    @settings(max_examples=25, deadline=None)
    def answers_are_as_described(case, served):
        # What a question means (is this feature known, is that a probability) is more than a schema can say: questions
        # that fit the schema may be refused, but with a problem document. A busy machine may take long.
        left_out = [positive_data_acceptance]
        if described is not None:  # schemathesis takes some bodies for wrong that fit another form of the same field
            left_out.append(negative_data_rejection)
        response = case.call_and_validate(base_url=served.address, excluded_checks=left_out, timeout=600)
        assert described is None or response.status_code >= 400 or described.is_valid(case.body)
        STATUSES.setdefault(path, set()).add(response.status_code)

    return answers_are_as_described


def test_a_certificate_without_a_kind_is_described_as_one_of_an_explanation():
    described = body_validator("/v1/certificate", "POST")
    row = {"age": "0", "colour": "red", "income": "0", "months": 0}
    assert described.is_valid({"row": row})
    assert described.is_valid({"row": row, "of": "contrast"})
    assert not described.is_valid({"row": row, "nonsense": 1})


for at, methods in DESCRIPTION["paths"].items():
    for verb in methods:
        if at != "/v1/report":  # it takes the same questions, and a second for its pictures
            globals()[f"test_{verb}_{at.strip('/').replace('/', '_')}_answers_as_described"] = trial(at, verb.upper())


def test_both_answers_and_refusals_were_seen():
    if not STATUSES:
        pytest.skip("the test before did not run")
    for path in (*(f"/v1/{name}" for name in SEARCHES), "/v1/batch", "/v1/certificate"):
        assert {200, 422} <= STATUSES[path], path

"""The HTTP API against its own description, with questions made up by schemathesis."""

import pytest

schemathesis = pytest.importorskip("schemathesis", reason="the API is tried by schemathesis")
pytest.importorskip("fastapi", reason="the server needs FastAPI")
from hypothesis import settings  # noqa: E402
from present.models import MIXED_ROW, mixed  # noqa: E402
from schemathesis.checks import positive_data_acceptance  # noqa: E402
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


@schema.exclude(path="/v1/report").parametrize()  # it takes the same questions, and a second for its pictures
@settings(max_examples=25, deadline=None)
def test_answers_are_as_described(case, served):
    # What a question means (is this feature known, is that a probability) is more than a schema can say: questions that
    # fit the schema may be refused, but with a problem document.
    response = case.call_and_validate(base_url=served.address, excluded_checks=[positive_data_acceptance])
    STATUSES.setdefault(case.operation.path, set()).add(response.status_code)


def test_both_answers_and_refusals_were_seen():
    if not STATUSES:
        pytest.skip("the test before did not run")
    for path in (*(f"/v1/{name}" for name in SEARCHES), "/v1/batch", "/v1/certificate"):
        assert {200, 422} <= STATUSES[path], path

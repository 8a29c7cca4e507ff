"""Nothing is missing anywhere: every claim, shape, search and option is known wherever it must be."""

import importlib.util
import inspect
import re
import sys
from pathlib import Path

import pytest

import suffice_check
import suffice_check.claims
import suffice_check.shape_reading
from suffice import AdditiveModel, Explainer, Steps
from suffice.answers import Answer
from suffice.cli import questions
from suffice.cli.app import COMMANDS
from suffice.model import shape_reading, writing
from suffice.present import models
from suffice.question.claim import Claim
from suffice.question.claims import CLAIMS
from suffice.question.question import OPTIONS, QuestionDocument
from suffice.search.registry import SEARCHES
from suffice.shapes.pair_shape import PairShape
from suffice.shapes.shape import Shape

ROOT = Path(__file__).parent.parent


def concrete(kind):
    """All classes below one that can be made."""
    found = set()
    for below in kind.__subclasses__():
        found |= concrete(below) | (set() if inspect.isabstract(below) else {below})
    return {one for one in found if getattr(sys.modules[one.__module__], one.__name__, None) is one}


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- claims -----------------------------------------------------------------------------------------------------------


def test_every_claim_is_listed_once():
    kinds = [claim.kind for claim in concrete(Claim)]
    assert sorted(kinds) == sorted(CLAIMS)
    assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize("kind", CLAIMS)
def test_every_claim_is_known_to_the_checker_and_the_documentation(kind):
    claim = CLAIMS[kind]
    assert kind in suffice_check.claims.KINDS
    assert tuple(suffice_check.claims.KINDS[kind]) == claim.field_names()
    assert f"`{claim.__name__}" in (ROOT / "docs" / "questions.md").read_text()
    assert f'"{kind}"' in (ROOT / "docs" / "certificate.md").read_text()
    assert claim.tasks
    assert claim.summary


# --- shapes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(concrete(Shape), key=lambda kind: kind.__name__))
def test_every_shape_can_be_written_and_described(kind):
    for generic in (writing.shape_document, models.kinds):
        assert generic.dispatch(kind) is not generic.dispatch(object), f"{generic.__name__} does not know {kind}"


@pytest.mark.parametrize("kind", sorted(concrete(PairShape), key=lambda kind: kind.__name__))
def test_every_shape_of_two_features_can_be_written_and_described(kind):
    for generic in (writing.shape_document, models.kinds):
        assert generic.dispatch(kind) is not generic.dispatch(object), f"{generic.__name__} does not know {kind}"


def test_every_kind_of_shape_that_is_written_is_read_here_and_by_the_checker():
    source = inspect.getsource(writing)
    written = set(re.findall(r'"kind": "(\w+)"', source))
    assert written == {*shape_reading.READERS, *shape_reading.PAIR_READERS}
    reader = inspect.getsource(suffice_check.shape_reading.read_any)
    assert set(shape_reading.READERS) == set(re.findall(r'kind == "(\w+)"', reader)) | set(
        suffice_check.shape_reading.CHANGES
    )
    page = (ROOT / "docs" / "model-file.md").read_text()
    assert all(f"`{kind}`" in page or f'"{kind}"' in page for kind in written)


# --- questions --------------------------------------------------------------------------------------------------------


def test_every_search_has_a_method_a_command_and_an_endpoint():
    assert all(hasattr(Explainer, name) for name in SEARCHES)
    assert {name for name, command in COMMANDS.items() if command.module == "questions"} == set(SEARCHES)
    assert set(script("write_options_table").http_fields()) == set(SEARCHES)


def test_every_answer_has_a_certificate_wherever_it_can_be_asked_for():
    explainer = Explainer(AdditiveModel([Steps([0], [0, 1]), Steps([1], [0, 1])], -1))
    own = {"sufficiency": {"features": []}, "radius": {"features": []}}
    for command in (getattr(questions, name) for name in SEARCHES):
        assert "certificate" in inspect.signature(command).parameters
        radius = {"radius": 2} if SEARCHES[command.__name__].takes_radius else {}
        answer = getattr(explainer, command.__name__)([1, 2], unit="raw", **own.get(command.__name__, {}), **radius)
        certificate = answer.certificate()
        assert suffice_check.check(explainer.compiled.content, certificate.text.encode()).startswith("Proven: ")


def test_every_face_takes_what_the_search_honours_and_nothing_else():
    table = script("write_options_table")
    http = table.http_fields()
    for name, search in SEARCHES.items():
        for option in OPTIONS:
            faces = table.faces_of(name, option, http)
            wanted = ["P", "C", "H", *(["B"] if name == "explain" else [])] if option in search.honours else []
            assert faces == wanted, (name, option)


def test_the_table_of_options_is_the_one_in_the_documentation():
    table = script("write_options_table")
    page = table.PAGE.read_text()
    assert table.with_table(page) == page, "run scripts/write_options_table.py"


def test_a_written_question_has_a_field_for_the_radius_and_every_option():
    assert set(QuestionDocument.__annotations__) == {"radius", *OPTIONS}
    question = Explainer(AdditiveModel([Steps([0], [0, 1])])).question(1, unit="raw")
    assert set(question.document()) == {"radius", *OPTIONS}


def test_every_answer_is_exported():
    import suffice.answers

    assert {kind.__name__ for kind in concrete(Answer)} <= set(suffice.answers.__all__)

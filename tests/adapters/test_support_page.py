"""The page about other packages is what its script writes from what the tests measured."""

import importlib.util
import json
from pathlib import Path

import pytest
from configurations import ALL
from peers import RECORD

ROOT = Path(__file__).parents[2]


def script():
    spec = importlib.util.spec_from_file_location("write_models_page", ROOT / "scripts" / "write_models_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(RECORD is not None, reason="the packages are being measured anew")
def test_the_page_is_what_was_measured():
    writer = script()
    measured = json.loads(writer.MEASURED.read_text())
    tried = json.loads(writer.CONFIGURATIONS.read_text())
    assert writer.PAGE.read_text() == writer.page(measured, tried)
    assert {one["package"] for one in measured.values()} == set(writer.PACKAGES)
    assert set(tried) == {f"{one.package}: {one.name}" for one in ALL}

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="reports need matplotlib")
from present.models import HOSTILE, HOSTILE_ROW, MIXED_ROW, hostile, mixed, wide
from present.pages import assert_harmless
from typer.testing import CliRunner

from suffice import AdditiveModel, Explainer, PiecewiseLinear, Within
from suffice.cli.app import app
from suffice.present.report import Decision, report
from suffice_check import RejectedError, check, check_files

MIXED = mixed()
FACTS = {"Model": "model.safetensors", "<b>fact</b>": "<script>alert(1)</script>"}


def attached(text):
    return [base64.b64decode(data) for data in re.findall(r'href="data:application/json;base64,([^"]*)"', text)]


def test_a_report_is_one_file_that_loads_nothing_and_runs_nothing():
    why = MIXED.explain(MIXED_ROW, radius=2, unit="raw")
    text = report([Decision("Row 0", why, why.certificate().text), Decision("Row 1", why)], FACTS)
    seen = assert_harmless(text)
    assert "http" not in text.replace("http://www.w3.org/", "").replace("http-equiv", "")
    assert "url(" not in re.sub(r"url\(#", "", text)
    said = " ".join("".join(seen.text).split())
    assert "default-src 'none'" in text
    for sentence in str(why).splitlines()[:2]:
        assert sentence in said
    assert "<script>alert(1)</script>" in said
    assert seen.tags.count("svg") == 2 + 2 * 2
    assert report([Decision("Row 0", why)], FACTS) == report([Decision("Row 0", why)], FACTS)


def test_identifiers_that_pictures_refer_to_are_their_own():
    why = MIXED.explain(MIXED_ROW, radius=2, unit="raw")
    text = report([Decision("Row 0", why), Decision("Row 1", why)], {})
    ids = re.findall(r' id="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', text)) <= set(ids)


def test_hostile_names_stay_text():
    why = hostile().explain(HOSTILE_ROW, radius=3, unit="raw")
    text = report([Decision(HOSTILE[0], why, why.certificate().text)], {HOSTILE[1]: HOSTILE[2]}, title=HOSTILE[3])
    seen = assert_harmless(text)
    for name in HOSTILE:
        assert all(part in "".join(seen.text) for part in re.split(r"[^ -~]+", name))


def test_the_attached_certificate_is_accepted_and_a_changed_one_is_not(tmp_path):
    MIXED.model.save(tmp_path / "m.safetensors")
    why = MIXED.explain(MIXED_ROW, radius=2, unit="raw")
    content = why.certificate(tmp_path / "m.safetensors").text
    text = report([Decision("Row 0", why, content)], {})
    (found,) = attached(text)
    model = (tmp_path / "m.safetensors").read_bytes()
    assert check(model, found).startswith("Proven: ")
    assert hashlib.sha256(found).hexdigest() in text
    with pytest.raises(RejectedError):
        check(model, found.replace(b'"row":[', b'"row":[', 1).replace(b'"1/2"', b'"-9/2"', 1))


def test_several_classes_and_numbers_can_be_reported():
    line = PiecewiseLinear([-1, 1], [-1, 1])
    price = Explainer(AdditiveModel([line, line * 3], 5, task="regression"))
    text = report([Decision("one", price.explain([0, 0], radius=1, claim=Within(2), unit="raw"))], {})
    said = "".join(assert_harmless(text).text)
    assert "Claim: the prediction stays within 2 of its value here (tightest margin 2, of 2)" in said


def test_sixty_features_with_long_names_can_be_reported():
    why = wide().explain([0.3] * 60, radius=0.4, unit="raw")
    seen = assert_harmless(report([Decision("wide", why)], {}, shapes=0))
    assert seen.tags.count("svg") == 1


def test_the_command_writes_a_report_with_certificates_that_check(tmp_path):
    MIXED.model.save(tmp_path / "m.safetensors")
    (tmp_path / "t.csv").write_text("income,age,colour,months\n0.5,50,green,7\n-3,20,red,\n9,30,blue,-9\n")
    paths = [str(tmp_path / name) for name in ("m.safetensors", "t.csv")]
    done = CliRunner().invoke(
        app, ["report", *paths, "--rows", "0-1,2", "--radius", "1", "-o", str(tmp_path / "r.html")]
    )
    assert (done.exit_code, done.stdout.split(":")[1].split(",")[0]) == (0, " 3 decisions")
    text = (tmp_path / "r.html").read_text()
    assert_harmless(text)
    found = attached(text)
    assert len(found) == 3
    for k, content in enumerate(found):
        (tmp_path / f"{k}.json").write_bytes(content)
        assert check_files(paths[0], tmp_path / f"{k}.json").startswith("Proven: ")
    bare = CliRunner().invoke(
        app, ["report", *paths, "--rows", "0", "--radius", "1", "--no-certificates", "-o", str(tmp_path / "b.html")]
    )
    assert bare.exit_code == 0
    assert attached((tmp_path / "b.html").read_text()) == []


def test_a_report_on_another_packages_file_names_the_model_that_was_explained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    terms = [{"term_features": ["months"], "scores": [0.5, -1.0, 0.125, 2.0, 0.0]}]
    outputs = [{"task": "classification", "classes": ["bad", "good"], "link": "logit", "link_param": "nan"}]
    features = [{"name": "months", "type": "continuous", "cuts": [[6.0, 12.5]]}]
    ebm = {"outputs": outputs, "intercept": [0.25], "features": features, "terms": terms}
    Path("ebm.json").write_text(json.dumps({"version": "1.0", "ebm": ebm}))
    Path("t.csv").write_text("months\n12.5\n")
    call = ["t.csv", "--rows", "0", "--radius", "1", "--unit", "raw", "-o", "r.html"]
    done = CliRunner().invoke(app, ["report", "ebm.json", *call, "--no-certificates"])
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(app, ["convert", "ebm.json", "m.safetensors"]).exit_code == 0
    original, converted = (
        hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in ("ebm.json", "m.safetensors")
    )
    text = Path("r.html").read_text()
    assert f"<dt>SHA-256 of this file</dt><dd>{original}</dd>" in text
    assert f"<dt>Explained and proven</dt><dd>SHA-256 {converted}, of the model file" in text
    assert CliRunner().invoke(app, ["report", "ebm.json", *call]).exit_code == 1  # certificates are of a model file
    assert CliRunner().invoke(app, ["report", "m.safetensors", *call]).exit_code == 0
    text = Path("r.html").read_text()
    assert f"<dt>SHA-256</dt><dd>{converted}</dd>" in text
    assert f'"{converted}"'.encode() in attached(text)[0]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--rows", "x"], 2, "neither a row nor a range"),
        (["--rows", "3-1"], 2, "neither a row nor a range"),
        (["--rows", "0-5000"], 2, "1000 rows"),
        (["--rows", "9"], 1, "there is no row 9"),
        (["--rows", "0", "-o", "m.safetensors"], 1, "is the model itself"),
        (["--rows", "0", "-o", "no/r.html"], 1, "cannot be written"),
    ],
)
def test_a_wrong_call_gets_one_sentence(tmp_path, monkeypatch, arguments, code, said):
    monkeypatch.chdir(tmp_path)
    MIXED.model.save("m.safetensors")
    (tmp_path / "t.csv").write_text("income,age,colour,months\n0.5,50,green,7\n")
    done = CliRunner().invoke(
        app, ["report", "m.safetensors", "t.csv", "--radius", "1", "-o", "r.html", *arguments], terminal_width=200
    )
    assert done.exit_code == code
    assert said in " ".join(done.output.replace("│", " ").split())

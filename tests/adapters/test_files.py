"""Files of other packages on the command line, and files that are refused."""

import json
import pickle
import re

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

import suffice
from suffice import Explainer, ModelFileError
from suffice.adapters.files import load_any
from suffice.cli.app import app

EBM = {
    "version": "1.0",
    "ebm": {
        "outputs": [{"task": "classification", "classes": ["bad", "good"], "link": "logit", "link_param": "nan"}],
        "intercept": [0.25],
        "features": [
            {"name": "months", "type": "continuous", "cuts": [[6.0, 12.5]]},
            {"name": "job", "type": "nominal", "categories": [["cook", ["nurse", "clerk"]]]},
        ],
        "terms": [
            {"term_features": ["months"], "scores": [0.5, -1.0, 0.125, 2.0, 0.0]},
            {"term_features": ["job"], "scores": [0.0, -0.75, 0.5, 0.0]},
        ],
    },
}
PAIR = {"term_features": ["months", "job"], "scores": []}
XGBOOST = {
    "learner": {
        "feature_names": ["a", "b"],
        "gradient_booster": {
            "name": "gbtree",
            "model": {
                "tree_info": [0, 0],
                "trees": [
                    {
                        "left_children": [1, -1, -1],
                        "right_children": [2, -1, -1],
                        "split_indices": [k, 0, 0],
                        "split_conditions": [0.5, -1.0, 1.5],
                        "default_left": [k, 0, 0],
                        "split_type": [0, 0, 0],
                        "categories": [],
                    }
                    for k in (0, 1)
                ],
            },
        },
        "learner_model_param": {"base_score": "5E-1", "num_class": "0", "num_feature": "2", "num_target": "1"},
        "objective": {"name": "binary:logistic"},
    }
}
CUT = json.loads(json.dumps(XGBOOST))
CUT["learner"]["gradient_booster"]["model"]["trees"].pop()
LIGHTGBM = """tree
version=v4
num_class=1
num_tree_per_iteration=1
max_feature_idx=1
objective=regression
feature_names=a b
feature_infos=[0:9] none

Tree=0
num_leaves=2
num_cat=0
split_feature=0
threshold=3.5
decision_type=8
left_child=-1
right_child=-2
leaf_value=1.5 -2
is_linear=0
shrinkage=1


end of trees
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ebm.json").write_text(json.dumps(EBM))
    (tmp_path / "xgb.json").write_text(json.dumps(XGBOOST))
    (tmp_path / "model.txt").write_text(LIGHTGBM)
    (tmp_path / "data.csv").write_text("months,job,score\n12.5,cook,1.5\n6,nurse,0.875\n,cook,0\n3,pilot,-0.75\n")
    return tmp_path


def call(*arguments):
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(one) for one in arguments], prog_name="suffice")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_an_ebm_export_is_explained_directly(folder):
    code, output = call("explain", "ebm.json", "data.csv", "--row", 0, "--radius", 1, "--unit", "raw", "--json")
    assert code == 0
    (answer,) = json.loads(output.split("\n", 1)[1] if output.startswith("Ignored") else output)["answers"]
    assert answer["prediction"] == "good"
    assert call("info", "ebm.json")[0] == 0
    assert call("contrast", "ebm.json", "data.csv", "--row", 1, "--radius", "inf")[0] == 0


def test_convert_checks_and_writes(folder):
    code, output = call("convert", "ebm.json", "out.safetensors", "--reference", "data.csv")
    assert code == 0
    assert "binary, 2 features, from the EBM's JSON" in output
    assert "Checked on 4 rows" in output
    ours, again = (load_any(name) for name in ("ebm.json", "out.safetensors"))
    assert "pilot" in again.domains[1]  # never seen by the EBM, and in the reference rows
    assert "pilot" not in ours.domains[1]
    for before, after in zip(ours.terms, again.terms, strict=True):
        (old,), (new,) = before.shape.compile(), after.shape.compile()
        named = new.labels.pop("pilot", None)
        assert (old, named) in ((new, None), (new, old.labels.get("(unseen)")))
    (folder / "data.csv").write_text("months,job,score\n12.5,cook,1.49\n")
    code, output = call("convert", "ebm.json", "other.safetensors", "--reference", "data.csv")
    assert code == 1
    assert "gives 1.5 in row 0" in output
    assert not (folder / "other.safetensors").exists()


def test_convert_says_when_nothing_was_checked(folder):
    code, output = call("convert", "xgb.json", "out.safetensors")
    assert (code, "Not checked" in output) == (0, True)
    code, output = call("convert", "xgb.json", "out.safetensors", "--json")
    assert json.loads(output)["checked_rows"] == 0


def test_tree_dumps_are_read(folder):
    model = load_any("xgb.json")
    explainer = Explainer(model)
    # A missing cell goes right in the first tree and left in the second.
    assert explainer.score({"a": None, "b": None}) == 1.5 - 1.0
    assert [explainer.score({"a": x, "b": 0}) for x in (0.5, np.nextafter(0.5, 0))] == [0.5, 0.5]  # float32 rounds up
    assert explainer.score({"a": 0.4999, "b": 0}) == -2
    model = load_any("model.txt")
    assert (model.task, model.names) == ("regression", ("a", "b"))
    assert [Explainer(model).score({"a": x, "b": 1}) for x in (3.5, 3.6, None)] == [1.5, -2, -2]


def weights(features=2, units=4):
    random = np.random.default_rng(0)
    state = {"bias": np.array([0.25], dtype=np.float32)}
    for i in range(features):
        state[f"nets.{i}.0.weight"] = random.normal(size=(units, 1)).astype(np.float32)
        state[f"nets.{i}.0.bias"] = random.normal(size=units).astype(np.float32)
        state[f"nets.{i}.2.weight"] = random.normal(size=(1, units)).astype(np.float32)
    return state


def forward(state, X):
    total = np.full(len(X), 0.25)
    for i in range(X.shape[1]):
        hidden = np.maximum(X[:, i : i + 1] @ state[f"nets.{i}.0.weight"].T + state[f"nets.{i}.0.bias"], 0)
        total = total + (hidden @ state[f"nets.{i}.2.weight"].T)[:, 0]
    return total


def test_a_state_dict_comes_with_its_reference(folder):
    state, X = weights(), np.random.default_rng(1).normal(size=(50, 2)).astype(np.float32)
    save_file(state, "bare.safetensors")
    code, output = call("info", "bare.safetensors")
    assert code == 1
    assert "task='binary'" in output
    save_file(
        {**state, "reference.rows": X, "reference.scores": forward(state, X)}, "whole.safetensors", {"task": "binary"}
    )
    model = load_any("whole.safetensors")
    assert float(Explainer(model).score(X[0])) == pytest.approx(forward(state, X)[0], abs=1e-6)
    assert call("info", "whole.safetensors")[0] == 0
    table = "\n".join(
        ["income,debt,logit", *(f"{a},{b},{s}" for (a, b), s in zip(X.tolist(), forward(state, X), strict=True))]
    )
    (folder / "rows.csv").write_text(table + "\n")
    arguments = ["bare.safetensors", "out.safetensors", "--reference", "rows.csv", "--score", "logit"]
    assert call("convert", *arguments, "--task", "binary")[0] == 0
    assert suffice.load("out.safetensors").names == ("income", "debt")
    code, output = call("convert", *arguments, "--task", "binary", "--layout", "nam")
    assert code == 1


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("model.pkl", pickle.dumps({"a": 1}), r"a pickle.*run any code.*joblib.load\(path\); suffice.from_model"),
        ("model.joblib", b"\x78\x9c" + bytes(20), "joblib.load"),
        ("model.pt", b"PK\x03\x04" + bytes(20), r"torch.load\(path, weights_only=True\)"),
        ("model.json", b'{"what": 1}', "is JSON, but not an export of EBM"),
        ("model.ubj", b"{L\x00\x00\x80", "UBJSON asks for 8 bytes .* it is damaged"),
        ("model.skops", b"PK\x03\x04", "is a skops file, whose types you must trust"),
        ("model.txt", b"tree\nversion=v4\n\xff\xfe", "byte 16 is not text"),
        ("model.json", b'{"ebm":' * 100_000, "nested too deeply|begins like JSON"),
        ("model.json", json.dumps(CUT).encode(), "says that it has 2 trees, but has 1"),
        (
            "model.txt",
            b"hello",
            "is not a format read here: safetensors, EBM, XGBoost or CatBoost JSON, LightGBM text, PMML, a scorecard "
            "as JSON or CSV, or ONNX",
        ),
        (
            "model.json",
            json.dumps({"ebm": {**EBM["ebm"], "terms": [PAIR]}}).encode(),
            "'months' & 'job' have 0 slots, not 5 × 4",
        ),
    ],
)
def test_other_files_are_refused_with_the_reason(folder, name, content, words):
    (folder / name).write_bytes(content)
    for command in (["info", name], ["convert", name, "out.safetensors"]):
        code, output = call(*command)
        assert code == 1
        assert re.search(words, " ".join(output.split()))
    with pytest.raises(ModelFileError):
        load_any(name)


def test_convert_never_overwrites_what_it_reads(folder):
    (folder / "link.json").symlink_to("ebm.json")
    for arguments in (["ebm.json", "ebm.json"], ["ebm.json", "./link.json"]):
        code, output = call("convert", *arguments)
        assert (code, "not overwritten" in output) == (1, True)
    code, output = call("convert", "ebm.json", "data.csv", "--reference", "data.csv")
    assert (code, "not overwritten" in output) == (1, True)
    assert json.loads((folder / "ebm.json").read_text()) == EBM
    assert (folder / "data.csv").read_text().startswith("months")


def test_convert_says_that_a_model_is_converted_already(folder):
    assert call("convert", "ebm.json", "own.safetensors")[0] == 0
    code, output = call("convert", "own.safetensors", "again.safetensors")
    assert (code, "is already a model file of suffice; use it as it is" in output) == (1, True)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--task", "guess"], "binary, multiclass, regression, got 'guess'"),
        (["--task", "regression"], "is a binary model, but task='regression'"),
        (["--layout", "nam"], "leave it out"),
    ],
)
def test_options_that_mean_nothing_are_refused(folder, option, words):
    code, output = call("convert", "ebm.json", "out.safetensors", *option)
    assert (code, words in " ".join(output.split())) == (1, True)


@pytest.mark.parametrize("reference", [5, "rows.csv", {"months": [1.0]}, np.float64(3.0), np.array(3.0), (5, [1.0])])
def test_a_reference_that_is_no_rows_is_refused(reference):
    with pytest.raises(suffice.AdapterError, match="a reference must be rows, or a pair"):
        suffice.from_model(EBM, reference)


def test_classes_may_be_renamed_but_not_turned_round():
    assert suffice.from_model(EBM, classes=["no", "yes"]).classes == ("no", "yes")
    assert suffice.from_model(EBM, classes=np.array(["bad", "good"])).classes == ("bad", "good")
    for classes in (["good", "bad"], ["good", "better"]):
        with pytest.raises(suffice.AdapterError, match=r"has the classes \['bad', 'good'\] in this order"):
            suffice.from_model(EBM, classes=classes)
    linear_model = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    fitted = linear_model.LogisticRegression().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    with pytest.raises(suffice.AdapterError, match="in this order"):
        suffice.from_model(fitted, classes=[1, 0])


def test_paths_are_models_too(folder):
    assert suffice.from_model("ebm.json").classes == ("bad", "good")
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    state = {name: torch.tensor(value) for name, value in weights().items()}
    torch.save({"state_dict": {f"model.{name}": value for name, value in state.items()}}, "last.ckpt")
    X = np.random.default_rng(1).normal(size=(50, 2)).astype(np.float32)
    model = suffice.from_model("last.ckpt", (X, forward(weights(), X)), task="regression")
    assert model.task == "regression"
    torch.save({"model": pytest.Item}, "code.pt")
    with pytest.raises(ModelFileError, match="more than weights"):
        suffice.from_model("code.pt")

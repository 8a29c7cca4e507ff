"""`suffice fit` trains what `suffice explain` reads."""

import inspect
import re
import sys
from fractions import Fraction

import numpy as np
import pytest
from cli.commands import answer, call, check_answer, document, fail, needs_gam, needs_nam, run, words

import suffice
from suffice import (
    Domain,
    Explainer,
)
from suffice.cli.fit import fit_command
from suffice.cli.quality import held_back_scores
from suffice.model.reading import file_hash
from suffice.tables.training import TrainingData


@pytest.fixture
def people(folder):
    random = np.random.default_rng(0)
    age, debt = random.integers(18, 90, 80), random.normal(size=80).round(3)
    sex, debt_text = random.choice(["f", "m"], 80), ["" if k % 9 == 0 else str(x) for k, x in enumerate(debt)]
    label = np.where(age + 20 * debt > 50, "good", "bad")
    lines = [f"{k},{a},{d},{s},{y}" for k, (a, d, s, y) in enumerate(zip(age, debt_text, sex, label, strict=True))]
    (folder / "people.csv").write_text("\n".join(["id,age,debt,sex,y", *lines, ""]))
    return folder


GAM = ("fit", "people.csv", "-o", "new.safetensors")
QUICK = ("--estimator", "nam", "--epochs", 3, "--hidden", "8,4")
NAM = (*GAM, *QUICK)
each_estimator = pytest.mark.parametrize(
    "fit", [pytest.param(GAM, marks=needs_gam, id="gam"), pytest.param(NAM, marks=needs_nam, id="nam")]
)
each_choice = pytest.mark.parametrize(
    "chosen", [pytest.param((), marks=needs_gam, id="gam"), pytest.param(QUICK, marks=needs_nam, id="nam")]
)


@each_estimator
def test_fit_writes_a_model_that_explain_reads(people, fit):
    shown = document(*fit, "--target", "y", "--drop", "id")
    model = suffice.load("new.safetensors")
    assert (shown["rows"], shown["columns"], shown["target"]) == (80, ["age", "debt", "sex"], "y")
    assert (shown["task"], shown["classes"]) == (model.task, list(model.classes)) == ("binary", ["bad", "good"])
    assert (shown["estimator"], shown["seconds"] > 0) == ("NAMClassifier" if fit is NAM else "GAMClassifier", True)
    if fit is NAM:
        assert (shown["epochs"], shown["validation_loss"] > 0) == (3, True)
    assert shown["model"]["sha256"] == file_hash("new.safetensors")
    assert str(model.domains[0]) == "the integers from 1 to 106"  # 18 to 89 in the table, a quarter of that beyond
    debts = [float(line.split(",")[2]) for line in (people / "people.csv").read_text().split()[1:] if ",," not in line]
    slack = (Fraction(max(debts)) - Fraction(min(debts))) / 4
    span = Domain.interval(Fraction(min(debts)) - slack, Fraction(max(debts)) + slack)
    assert model.domains[1] == span | Domain.codes(suffice.MISSING)
    assert model.domains[2] == Domain.categories("f", "m")
    explained = document("explain", "new.safetensors", "people.csv", "--row", 0, "--radius", "0.5", "--unit", "std")
    row = dict(
        zip(["id", "age", "debt", "sex"], (people / "people.csv").read_text().split("\n")[1].split(","), strict=False)
    )
    why = Explainer(model).explain(
        {"age": row["age"], "debt": row["debt"] or None, "sex": row["sex"]}, radius="0.5", unit="std"
    )
    check_answer(explained["answers"][0], why)


@needs_nam
def test_fit_repeats_itself_and_reports_in_words(people):
    first = document(*NAM, "--target", "y", "--random-state", 3)["model"]["sha256"]
    text = answer(*NAM, "--target", "y", "--random-state", 3).stdout
    assert text.splitlines()[-1] == f"SHA-256   {first}"
    assert words(text).startswith("Doubt: 'id' counts the rows, like an identifier; drop it.")
    assert "rows 80 features 4, 1 of them categories target y (binary) classes bad, good trained 3" in words(text)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert answer(*NAM, "--target", "y", "--random-state", 4, "--quiet").output == ""
    assert file_hash("new.safetensors") != first


@needs_nam
@pytest.mark.parametrize(
    ("rows", "key", "absent", "words_"),
    [
        (80, "validation_loss", "training_loss", "on the validation rows"),
        (10, "training_loss", "validation_loss", "on the training rows (too few rows to hold any back)"),
    ],
)
def test_fit_says_which_rows_its_loss_is_of(people, rows, key, absent, words_):
    lines = (people / "people.csv").read_text().splitlines()
    (people / "people.csv").write_text("\n".join([*lines[: rows + 1], ""]))
    shown = document(*NAM, "--target", "y", "--drop", "id")
    assert (shown["rows"], absent in shown) == (rows, False)
    assert f"loss {shown[key]:.4g} {words_} file" in words(answer(*NAM, "--target", "y", "--drop", "id").stdout)


@each_estimator
def test_fit_makes_shapes_monotone(people, fit):
    document(*fit, "--target", "y", "--drop", "id", "--monotone", "age=down", "--monotone", "debt=up")
    explainer = Explainer(suffice.load("new.safetensors"))
    assert explainer.monotone("age", "down", "good")
    assert explainer.monotone("debt", "up", "good")
    assert call(*fit, "--target", "y", "--monotone", "age").exit_code == 2
    assert call(*fit, "--target", "y", "--monotone", "age=up", "--monotone", "age=down").exit_code == 2


@each_estimator
def test_fit_uses_as_few_columns_as_asked(people, fit):
    shown = document(*fit, "--target", "y", "--drop", "id", "--feature-budget", 1)
    assert (shown["columns"], shown["features"]) == (["age", "debt", "sex"], ["age"])
    explainer = Explainer(suffice.load("new.safetensors"))
    scores = {explainer.score({"age": 40, "debt": debt, "sex": sex}) for debt in (-1, 1) for sex in "fm"}
    assert len(scores) == 1
    assert "uses age" in words(answer(*fit, "--target", "y", "--drop", "id", "--feature-budget", 1).stdout)
    assert call(*fit, "--target", "y", "--feature-budget", 0).exit_code == 2


@needs_nam
def test_fit_calibrates_probabilities(people):
    asked = ("--target", "y", "--drop", "id")
    assert document(*NAM, *asked)["calibration"] is None
    before = Explainer(suffice.load("new.safetensors"))
    line = document(*NAM, *asked, "--calibrated")["calibration"]
    after, row = Explainer(suffice.load("new.safetensors")), {"age": 40, "debt": 1, "sex": "f"}
    assert 0 < line["slope"] < 1  # after three epochs no score is to be trusted
    assert after.score(row) == before.score(row) * Fraction(line["slope"]) + Fraction(line["shift"][0])
    text = words(answer(*NAM, *asked, "--calibrated").stdout)
    assert f"calibrated scores times {line['slope']:.4g}, plus {line['shift'][0]:.4g} trained" in text
    few = (people / "people.csv").read_text().splitlines()[:8]
    (people / "people.csv").write_text("\n".join([*few, ""]))
    assert document(*NAM, *asked, "--calibrated")["calibration"] == {"slope": 1, "shift": [0]}
    assert "calibrated not at all" in words(answer(*NAM, *asked, "--calibrated").stdout)


@each_estimator
def test_fit_chooses_the_weight_and_tells_what_it_tried(people, fit, monkeypatch):
    auto = ("--target", "y", "--drop", "id", "--explanation-weight", "auto", "--explanation-radius", 0.5)
    shown = document(*fit, *auto, "--give-up", 1, "--trade-off", "tried.csv")["trade_off"]
    assert (shown["explanation_weight"], shown["scoring"]) == (0.03, "roc_auc")  # all of them cost less than 1
    assert [one["weight"] for one in shown["tried"]] == [0, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03]
    head, *lines = (people / "tried.csv").read_text().splitlines()
    assert (head, len(lines)) == ("weight,score,width,size,is_chosen", 7)
    assert [line.endswith("True") for line in lines] == [False] * 6 + [True]
    chosen = file_hash("new.safetensors")
    document(*fit, *auto[:4], "--explanation-weight", 0.03, "--explanation-radius", 0.5)
    assert file_hash("new.safetensors") == chosen
    text = words(answer(*fit, *auto, "--give-up", 1, "--trade-off", "tried.svg").stdout)
    assert "weight 0.03 for short explanations, of those tried on parts of the rows at 0 roc_auc" in text
    assert "<svg" in (people / "tried.svg").read_text()
    for bad in (("--explanation-weight", "much"), ("--explanation-weight", "-1"), ("--trade-off", "tried.csv")):
        assert call(*fit, "--target", "y", *bad).exit_code == 2
    for name in ("tried.doc", "new.safetensors", "people.csv"):
        assert call(*fit, *auto, "--trade-off", name).exit_code == 2
    with monkeypatch.context() as patch:
        patch.setattr("suffice.gam.choose_explanation_weight", None)  # refused before anything is tried
        patch.setattr("suffice.nam.choose_explanation_weight", None, raising=False)
        assert "tried.csv: cannot be written: No such file" in fail(*fit, *auto, "--trade-off", "nowhere/tried.csv")


@needs_nam
def test_fit_takes_other_tasks_and_options(people):
    options = ("--basis", "shared", "--members", 2, "--special-code", -9, "--special-code", 18, "--corrections")
    shown = document(*NAM, "--target", "age", "--drop", "debt", *options)
    assert (shown["task"], shown["classes"], shown["columns"]) == ("regression", [], ["id", "sex", "y"])
    radius = ("--explanation-radius", 0.5, "--explanation-weight", 0.1)
    document(*NAM, "--target", "y", "--special-code", 3, *radius)
    assert "or one of 3" in str(suffice.load("new.safetensors").domains[0])


@needs_gam
def test_fit_of_lines_and_surfaces_repeats_itself_and_reports_in_words(people):
    shown = document(*GAM, "--target", "y", "--drop", "id", "--pairs", 1)
    text = answer(*GAM, "--target", "y", "--drop", "id", "--pairs", 1).stdout
    assert text.splitlines()[-1] == f"SHA-256   {shown['model']['sha256']}"
    ((first, second),) = shown["pairs"]
    assert f"features 3, 1 of them categories pairs {first} and {second} target y (binary)" in words(text)
    assert re.search(r"^trained +in [\d.]+ s$", text, re.MULTILINE)
    assert not {"epochs", "validation_loss", "training_loss"} & set(shown)
    assert not {"loss", "epochs", "uses", "calibrated"} & {line.split(" ")[0] for line in text.splitlines()}
    assert answer(*GAM, "--target", "y", "--pairs", 0, "--quiet").output == ""


@needs_gam
def test_fit_of_lines_and_surfaces_takes_other_tasks_and_options(people):
    shown = document(*GAM, "--target", "age", "--drop", "debt", "--special-code", -9, "--special-code", 18)
    assert (shown["estimator"], shown["task"], shown["classes"]) == ("GAMRegressor", "regression", [])
    radius = ("--explanation-radius", 0.5, "--explanation-weight", 0.1)
    document(*GAM, "--target", "y", "--special-code", 3, *radius)
    assert "or one of 3" in str(suffice.load("new.safetensors").domains[0])
    calibration = document(*GAM, "--target", "y", "--drop", "id", "--calibrated")["calibration"]
    assert calibration["slope"] > 0
    assert "calibrated" in answer(*GAM, "--target", "y", "--drop", "id", "--calibrated").stdout


@pytest.mark.parametrize(
    "option",
    [
        ("--random-state", 0),
        ("--epochs", 60),
        ("--hidden", "64,32"),
        ("--basis", "separate"),
        ("--members", 1),
        ("--corrections",),
        ("--no-corrections",),
    ],
    ids=lambda option: option[0],
)
def test_options_of_networks_are_refused_for_lines_and_surfaces(people, option):
    result = call(*GAM, "--target", "y", *option)
    assert result.exit_code == 2
    assert option[0] in result.stderr
    assert "only networks have it; leave it out, or add --estimator nam" in words(result.stderr.replace("│", " "))


@needs_nam
def test_the_defaults_of_fit_are_those_of_the_estimators():
    from suffice.gam import GAMClassifier, choose_explanation_weight
    from suffice.nam import NAMClassifier

    ours, networks = inspect.signature(fit_command, eval_str=True).parameters, NAMClassifier().get_params()
    names = {
        "feature_budget": "feature_budget",
        "calibrated": "calibrated",
        "explanation_radius": "explanation_radius",
        "special_code": "special_codes",
    }
    of_networks = {
        "hidden": "hidden_layers",
        "basis": "basis",
        "members": "n_members",
        "epochs": "max_epochs",
        "corrections": "corrections",
    }
    for theirs in (networks, GAMClassifier().get_params()):
        assert float(ours["explanation_weight"].annotation.__metadata__[0].show_default) == theirs["explanation_weight"]
        assert {name: ours[name].default for name in names} == {name: theirs[names[name]] for name in names}
    # What is not given is left to the estimators; the help says what that is.
    assert {
        ours[name].default for name in ("pairs", "explanation_weight", "give_up", "random_state", *of_networks)
    } == {None}
    shown = {name: ours[name].annotation.__metadata__[0].show_default for name in ("pairs", *of_networks)}
    given_up = inspect.signature(choose_explanation_weight).parameters["give_up"].default
    assert float(ours["give_up"].annotation.__metadata__[0].show_default) == given_up
    assert shown["pairs"] == f"{GAMClassifier().pairs}; with networks {networks['pairs']}"
    units = ",".join(str(units) for units in networks["hidden_layers"])
    given = {"hidden": units, "corrections": "corrections" if networks["corrections"] else "no-corrections"}
    assert {name: shown[name] for name in of_networks} == {
        name: given.get(name, str(networks[of_networks[name]])) for name in of_networks
    }


USELESS = [
    (("--give-up", 0.002), "--give-up", "nothing is tried without --explanation-weight auto"),
    (
        ("--explanation-weight", 0.1, "--explanation-radius", 0.5, "--give-up", 0),
        "--give-up",
        "nothing is tried without --explanation-weight auto",
    ),
    (("--explanation-radius", 0.5), "--explanation-radius", "does nothing without --explanation-weight"),
    (("--explanation-weight", 0.1), "--explanation-weight", "needs --explanation-radius, in standard deviations"),
    (("--explanation-weight", "auto"), "--explanation-weight", "needs --explanation-radius, in standard deviations"),
    (
        ("--explanation-weight", "auto", "--explanation-radius", "inf"),
        "--explanation-radius",
        "inf is not a finite number",
    ),
    (
        ("--explanation-weight", "auto", "--explanation-radius", 0.5, "--give-up", "inf"),
        "--give-up",
        "inf is not a finite number",
    ),
    (("--special-code", "nan"), "--special-code", "nan is not a finite number"),
]


@pytest.mark.parametrize("fit", [GAM, NAM], ids=["gam", "nam"])
@pytest.mark.parametrize(("options", "option", "reason"), USELESS, ids=lambda v: None)
def test_what_options_cannot_do_is_refused_by_their_names_before_anything_is_trained(
    people, monkeypatch, options, option, reason, fit
):
    for package in ("suffice.gam", "suffice.nam"):
        monkeypatch.setitem(sys.modules, package, None)
    result = call(*fit, "--target", "y", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"Invalid value for {option}: {reason}" in words(result.stderr.replace("│", " "))


@pytest.mark.parametrize("fit", [GAM, NAM], ids=["gam", "nam"])
def test_a_picture_of_what_was_tried_needs_matplotlib_before_anything_is_trained(people, monkeypatch, fit):
    for package in ("suffice.gam", "suffice.nam", "matplotlib"):
        monkeypatch.setitem(sys.modules, package, None)
    for name in [name for name in sys.modules if name.startswith("suffice.present.plots")]:
        monkeypatch.delitem(sys.modules, name)
    auto = ("--explanation-weight", "auto", "--explanation-radius", 0.5)
    assert "pip install 'suffice[plot]'" in fail(*fit, "--target", "y", *auto, "--trade-off", "tried.png")
    told = fail(*fit, "--target", "y", *auto, "--trade-off", "tried.csv")
    assert "fit cannot run" in told  # a table needs no matplotlib


UNFIT = [
    (("--target", "z"), "'z' is not a column of people.csv"),
    (("--target", "y", "--drop", "z"), "'z' is not a column of people.csv"),
    (("--target", "debt"), "target 'debt' is missing in row 0"),
    (("--target", "y", "--task", "regression"), "a regression needs numbers"),
    (("--target", "y", "-o", "no/new.safetensors"), "no/new.safetensors: cannot be written: No such file"),
    (("--target", "y", "-o", "."), "cannot be written: it is a folder"),
    (("--target", "y", "-o", "people.csv"), "is the table itself"),
    (("--target", "age", "--calibrated"), "--calibrated is for classes: a regression of 'age' has no probabilities"),
]


@pytest.mark.parametrize("fit", [GAM, NAM], ids=["gam", "nam"])
@pytest.mark.parametrize(("options", "reason"), UNFIT, ids=lambda v: None)
def test_fit_tells_what_is_wrong_before_it_trains(people, monkeypatch, options, reason, fit):
    for package in ("suffice.gam", "suffice.nam"):
        monkeypatch.setitem(sys.modules, package, None)  # nobody gets as far as training
    before = (people / "people.csv").read_text()
    assert reason in fail(*fit, *options)
    assert (people / "people.csv").read_text() == before


@pytest.mark.parametrize(
    ("library", "fit", "extra"),
    [
        ("torch", NAM, "nam"),
        *((name, *kind) for name in ("pandas", "sklearn") for kind in ((GAM, "gam"), (NAM, "nam"))),
    ],
)
def test_fit_names_the_extra_to_install(people, library, fit, extra):
    code = f"""
import sys
from suffice.cli.app import app
class Absent:
    def find_spec(name, path=None, target=None):
        if name == {library!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}")
sys.meta_path.insert(0, Absent)
app({[*map(str, fit), "--target", "y"]})"""
    code, text, complaint = run(code=code)
    assert (code, text) == (1, "")
    assert complaint.count("\n") == 1
    assert complaint.startswith(f"Error: fit cannot run: No module named {library!r}")
    assert complaint.endswith(f"pip install 'suffice[{extra}]'\n")


@each_estimator
def test_fit_takes_what_columns_can_be(people, fit):
    (people / "domains.toml").write_text('debt = "-2:2"\nage = "1:90"\n')
    options = (
        "--drop",
        "id",
        "--integer",
        "debt",
        "--domains",
        "domains.toml",
        "--range",
        "age=18:",
        "--category",
        "sex",
    )
    document(*fit, "--target", "y", *options)
    domains = [str(domain) for domain in suffice.load("new.safetensors").domains]
    assert domains == ["the integers from 18 to 106", "the integers from -3 to 3, or one of missing", "one of f, m"]
    document(*fit, "--target", "y", "--drop", "id", "--category", "age")
    assert "18" in suffice.load("new.safetensors").domains[0].categories_
    assert "write a column and its range" in fail(*fit, "--target", "y", "--range", "age 18:")
    assert "did you mean 'age'?" in fail(*fit, "--target", "y", "--range", "Age=18:")


@each_estimator
def test_domains_are_shown_learned_and_written(people, fit):
    document(*fit, "--target", "y", "--drop", "id", "--range", "age=-inf:inf")
    assert "the integers from -∞ to ∞" in words(answer("domains", "new.safetensors").stdout)
    shown = document(
        "domains", "new.safetensors", "--learn", "people.csv", "--integer", "debt", "-o", "other.safetensors"
    )
    model = suffice.load("other.safetensors")
    assert [str(domain) for domain in model.domains[:2]] == [
        "the integers from 1 to 106",
        "the integers from -3 to 3, or one of missing",
    ]
    assert shown["model"]["sha256"] == file_hash("other.safetensors")
    order = ("--ordered", "sex=m<f", "-o", "ordered.safetensors")
    ordered = document("domains", "new.safetensors", "--learn", "people.csv", *order)["domains"]["sex"]
    assert (ordered["is_ordered"], [one["label"] for one in ordered["categories"]]) == (True, ["m", "f"])
    assert suffice.load("ordered.safetensors").features[2].deviation > 0
    document("domains", "new.safetensors", *order)  # how much ranks vary is not told
    assert suffice.load("ordered.safetensors").features[2].deviation is None
    document(*fit, "--target", "y", "--drop", "id", "--ordered", "sex=m<f")
    fitted = suffice.load("new.safetensors")
    assert str(fitted.domains[2]) == "m < f"
    assert fitted.features[2].deviation > 0
    assert "each of them one of m, f" in fail("domains", "ordered.safetensors", "--ordered", "sex=f<")
    assert "is an input of this command" in fail("domains", "new.safetensors", "-o", "new.safetensors")


@each_choice
@pytest.mark.parametrize(("rows", "options"), [(400, ("--pairs", 4)), (2400, ()), (2400, ("--feature-budget", 2))])
def test_of_noise_a_model_is_no_better_than_a_guess_on_rows_held_back(folder, rows, options, chosen):
    random = np.random.default_rng(2)
    table = np.column_stack([random.normal(size=(rows, 4)), random.integers(0, 2, rows)])
    np.savetxt("noise.csv", table, fmt="%.6g", delimiter=",", header="a,b,c,d,y", comments="")
    shown = document("fit", "noise.csv", "--target", "y", "-o", "noise.st", *chosen, *options)
    error = 0.5 / np.sqrt(0.15 * rows)
    assert {one["name"]: one["model"] for one in shown["scores"]}["accuracy"] < 0.5 + 3 * error


@needs_gam
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_rows_are_scored_by_a_model_that_never_saw_them(task):
    import pandas

    from suffice.gam import GAMClassifier, GAMRegressor

    fitted, scored = [], []

    class Watched(GAMClassifier if task == "classification" else GAMRegressor):
        def fit(self, X, y):
            fitted.append(X["id"].tolist())
            return super().fit(X, y)

        def predict(self, X):
            scored.append(X["id"].tolist())
            return super().predict(X)

    target = [*"aabb" * 10] if task == "classification" else np.arange(40.0).tolist()
    columns = {"id": np.arange(40.0).tolist(), "x": [1.0, 2.0] * 20}
    training = TrainingData(columns, (), target, task == "classification")
    frame = pandas.DataFrame(columns)
    model = Watched(pairs=0).fit(frame, target)
    found = held_back_scores(model, frame, training)
    assert found[0].name == ("AUC" if task == "classification" else "R²")
    whole, kept = fitted
    assert whole == frame["id"].tolist()
    assert all(rows == scored[0] for rows in scored)
    assert (len(scored[0]), sorted([*kept, *scored[0]])) == (6, whole)  # none of them twice
    few = TrainingData(
        {name: cells[:20] for name, cells in columns.items()}, (), target[:20], training.is_classification
    )
    assert held_back_scores(model, frame.iloc[:20], few) == []  # too few to hold any back


@each_choice
def test_rows_held_back_with_what_no_other_row_has_are_not_scored(folder, chosen):
    random = np.random.default_rng(0)
    lines = [
        f"{a:.3f},{f'only{k}' if k % 3 == 0 else 'often'},{int(a > 0)}" for k, a in enumerate(random.normal(size=90))
    ]
    (folder / "rare.csv").write_text("\n".join(["a,name,y", *lines, ""]))
    shown = document("fit", "rare.csv", "--target", "y", "-o", "rare.st", *chosen)
    assert [one["name"] for one in shown["scores"]] == ["AUC", "accuracy"]


@each_estimator
def test_fit_and_evaluate_say_how_good_the_model_is(people, fit):
    shown = document(*fit, "--target", "y")
    assert [one["name"] for one in shown["scores"]] == ["AUC", "accuracy"]
    assert all(0 <= one[key] <= 1 for one in shown["scores"] for key in ("model", "linear", "guess"))
    assert shown["scores"][0]["linear"] > 0.9  # the classes follow from a sum
    few = "the class 'bad' has 26 rows only; what is learned of it is hardly more than those."
    assert shown["doubts"] == ["'id' counts the rows, like an identifier; drop it.", few]
    text = words(answer(*fit, "--target", "y").stdout)
    assert "on rows held back (linear model" in text
    assert "Doubt: 'id' counts the rows, like an identifier; drop it." in text
    found = document("evaluate", "new.safetensors", "people.csv", "--target", "y")
    explainer = Explainer(suffice.load("new.safetensors"))
    lines = [line.split(",") for line in (people / "people.csv").read_text().split()[1:]]
    rows = [{"id": i, "age": a, "debt": d or None, "sex": s} for i, a, d, s, _ in lines]
    right = sum(explainer.predict(row) == line[-1] for row, line in zip(rows, lines, strict=True))
    assert found["rows"] == 80
    assert {one["name"]: one["model"] for one in found["scores"]}["accuracy"] == right / 80
    assert [one["name"] for one in found["scores"][2:]] == ["log loss", "Brier score", "calibration error"]
    chances = [explainer.predict_proba(row)[1] for row in rows]
    brier = sum((chance - (line[-1] == "good")) ** 2 for chance, line in zip(chances, lines, strict=True)) / 80
    assert found["scores"][3]["model"] == pytest.approx(brier)
    assert sum(group["rows"] for group in found["reliability"]) == 80
    assert sum(group["rows"] * group["predicted"] for group in found["reliability"]) == pytest.approx(sum(chances))
    assert (
        "Probability of good, in groups" in answer("evaluate", "new.safetensors", "people.csv", "--target", "y").stdout
    )
    assert "the simplest guess" in answer("evaluate", "new.safetensors", "people.csv", "--target", "y").stdout
    assert "which is not a class of the model" in fail("evaluate", "new.safetensors", "people.csv", "--target", "sex")

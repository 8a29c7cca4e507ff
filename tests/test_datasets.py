import gzip
import os
import pickle
import subprocess
import sys
from pathlib import Path
from urllib.error import URLError

import pytest

from suffice import datasets
from suffice.errors import DataError

pandas = pytest.importorskip("pandas", reason="data sets are pandas frames")
Bunch = pytest.importorskip("sklearn.utils", reason="data sets are fetched by scikit-learn").Bunch

DATA = Path(os.environ.get("SUFFICE_DATA", Path(__file__).parents[2] / "shared" / "data"))
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the folder of published tables is not here: $SUFFICE_DATA")

BEANS = {"BARBUNYA": 1322, "BOMBAY": 522, "CALI": 1630, "DERMASON": 3546, "HOROZ": 1928, "SEKER": 2027, "SIRA": 2636}
NOT_COMPAS = """age_cat juv_fel_count juv_misd_count juv_other_count days_b_screening_arrest c_days_from_compas
    c_charge_desc is_recid is_violent_recid decile_score score_text v_decile_score v_score_text two_year_recid"""
# Name, file, the file's columns that are no features, number of numeric and of categorical features, rows by class.
TABLES = [
    ("german_credit", "german_credit", "class", 7, 13, {"good": 700, "bad": 300}),
    ("heloc", "heloc", "RiskPerformance", 23, 0, {"Good": 5000, "Bad": 5459}),
    ("compas", "compas_two_years", NOT_COMPAS, 3, 3, {"no": 3363, "yes": 2809}),
    ("adult", "adult", "fnlwgt income split", 5, 8, {"<=50K": 37155, ">50K": 11687}),
    ("dry_bean", "dry_bean", "Class", 16, 0, BEANS),
    (
        "credit_default",
        "credit_default_taiwan",
        "default.payment.next.month",
        20,
        3,
        {"no": 23364, "yes": 6636},
    ),
    ("cdc_diabetes", "cdc_diabetes_brfss2015", "Diabetes_binary", 21, 0, {"no": 218334, "yes": 35346}),
]

HOUSES = pandas.DataFrame(
    {
        "median_house_value": [452600.0],
        "median_income": [8.3252],
        "housing_median_age": [41],
        "total_rooms": [880],
        "total_bedrooms": [129],
        "population": [322],
        "households": [126],
        "latitude": [37.88],
        "longitude": [-122.23],
    }
)
COMPAS = pandas.DataFrame(
    {
        "sex": ["Male", "Female", "Male", "Male", "Male", "Male", "Male"],
        "age": [69, 34, 24, 25, 26, 27, 28],
        "race": "Other",
        "priors_count": 0,
        "length_of_stay": [1.5, None, 2, 3, 4, 5, 6],
        "c_charge_degree": ["F", "M", "F", "F", "F", "O", "F"],
        "days_b_screening_arrest": [-30, 30, -31, None, 0, 0, 0],
        "is_recid": [0, 1, 0, 0, -1, 0, 0],
        "score_text": ["Low", "High", "Low", "Low", "Low", "Low", "N/A"],
        "two_year_recid": [0, 1, 0, 0, 0, 0, 0],
    }
)


def load(name, *path):
    return getattr(datasets, f"load_{name}")(*path)


def openml(monkeypatch, frame, target):
    """Put a table in the place of OpenML; return the list of ids that are asked for."""
    asked = []

    def fetch_openml(*, data_id, as_frame):
        assert as_frame is True
        asked.append(data_id)
        return Bunch(frame=frame, target_names=[target])

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    return asked


def heloc():
    features = datasets._BY_NAME["heloc"].features
    return pandas.DataFrame(1, index=range(10459), columns=features)


def repeated(rows, frame):
    return pandas.concat([frame] * (rows // len(frame)), ignore_index=True)


def test_import_needs_neither_pandas_nor_scikit_learn():
    code = "import sys, suffice.datasets; assert not {'pandas', 'sklearn'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_breast_cancer_comes_with_scikit_learn():
    data = datasets.load_breast_cancer()
    assert (data.name, data.task, data.classes) == ("breast_cancer", "binary", ("malignant", "benign"))
    assert data.frame.shape == (569, 30)
    assert all(dtype == "float64" for dtype in data.frame.dtypes)
    assert data.target.value_counts().to_dict() == {"malignant": 212, "benign": 357}
    assert data.special_codes == {}


@needs_data
@pytest.mark.parametrize(("name", "file", "left_out", "numeric", "categorical", "counts"), TABLES)
def test_classification_tables_are_as_published(name, file, left_out, numeric, categorical, counts):
    data = load(name, DATA)
    header = pandas.read_csv(DATA / f"{file}.csv.gz", nrows=0).columns
    assert list(data.frame) == [column for column in header if column not in left_out.split()]
    assert data.frame.shape == (sum(counts.values()), numeric + categorical)
    assert data.frame.select_dtypes("number").shape[1] == numeric
    categories = data.frame.select_dtypes("category")
    assert categories.shape[1] == categorical
    for column in categories:
        found = list(data.frame[column].cat.categories)
        assert found == sorted(set(data.frame[column].dropna()))
        assert all(isinstance(category, str) for category in found)
    assert (data.name, data.task) == (name, "binary" if len(counts) == 2 else "multiclass")
    assert data.classes == tuple(counts)
    assert data.target.value_counts().to_dict() == counts
    assert list(data.target.index) == list(data.frame.index) == list(range(len(data.frame)))
    assert name == "heloc" or data.special_codes == {}


@needs_data
def test_numeric_columns_of_german_credit():
    numeric = "duration credit_amount installment_commitment residence_since age existing_credits num_dependents"
    data = datasets.load_german_credit(DATA)
    assert list(data.frame.select_dtypes("number")) == numeric.split()
    assert [data.frame["credit_amount"].min(), data.frame["credit_amount"].max()] == [250, 18424]


@needs_data
def test_special_codes_of_heloc_are_those_of_each_column():
    data = datasets.load_heloc(DATA)
    minus_8 = """MSinceOldestTradeOpen MSinceMostRecentDelq MSinceMostRecentInqexcl7days NetFractionRevolvingBurden
        NetFractionInstallBurden NumRevolvingTradesWBalance NumInstallTradesWBalance NumBank2NatlTradesWHighUtilization
        PercentTradesWBalance"""
    expected = dict.fromkeys(data.frame, (-9.0,)) | dict.fromkeys(minus_8.split(), (-9.0, -8.0))
    expected |= dict.fromkeys(["MSinceMostRecentDelq", "MSinceMostRecentInqexcl7days"], (-9.0, -8.0, -7.0))
    assert data.special_codes == expected
    for column, codes in expected.items():
        assert data.frame.loc[~data.frame[column].isin(codes), column].min() >= 0


@needs_data
def test_no_length_of_stay_is_missing_after_the_filter_of_compas():
    assert not datasets.load_compas(DATA).frame.isna().any(axis=None)


@needs_data
def test_adult_has_missing_values_for_question_marks_and_the_training_part_first():
    frame = datasets.load_adult(DATA).frame
    missing = frame.isna().sum()
    assert missing[missing > 0].to_dict() == {"workclass": 2799, "occupation": 2809, "native-country": 857}
    assert frame.loc[0, ["age", "workclass"]].to_list() == [39, "State-gov"]
    assert frame.loc[32561, ["age", "education"]].to_list() == [25, "11th"]


@needs_data
def test_california_housing_has_the_means_of_scikit_learns_form():
    data = datasets.load_california_housing(DATA)
    assert (data.frame.shape, data.task, data.classes) == ((20640, 8), "regression", ())
    means = [3.8707, 28.6395, 5.4290, 1.0967, 1425.4767, 3.0707, 35.6319, -119.5697]
    assert data.frame.mean().round(4).to_list() == means
    assert round(data.target.mean(), 4) == 2.0686


def test_california_housing_is_derived_as_in_scikit_learn(tmp_path):
    HOUSES.to_csv(tmp_path / "california_housing.csv", index=False)
    data = datasets.load_california_housing(tmp_path)
    assert data.frame.to_dict("records") == [
        {
            "MedInc": 8.3252,
            "HouseAge": 41,
            "AveRooms": 880 / 126,
            "AveBedrms": 129 / 126,
            "Population": 322,
            "AveOccup": 322 / 126,
            "Latitude": 37.88,
            "Longitude": -122.23,
        }
    ]
    assert all(dtype == "float64" for dtype in [*data.frame.dtypes, data.target.dtype])
    assert (data.target.name, data.target.to_list()) == ("MedHouseVal", [4.526])


def test_compas_keeps_the_rows_that_propublica_kept(tmp_path):
    COMPAS.to_csv(tmp_path / "mine.csv", index=False)
    data = datasets.load_compas(tmp_path / "mine.csv")
    assert list(data.frame) == ["sex", "age", "race", "priors_count", "length_of_stay", "c_charge_degree"]
    assert data.frame["age"].to_list() == [69, 34]
    assert data.frame["length_of_stay"].isna().to_list() == [False, True]
    assert list(data.frame["c_charge_degree"].cat.categories) == ["F", "M"]
    assert data.target.to_list() == ["no", "yes"]


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_names_the_file_or_its_folder(tmp_path, ending, kind):
    file = tmp_path / f"california_housing.{ending}"
    HOUSES.to_csv(file, index=False)
    for path in (file, tmp_path):
        assert datasets.load_california_housing(kind(path)).target.to_list() == [4.526]


@pytest.mark.parametrize("path", ["nowhere", "nowhere/heloc.csv"])
def test_a_path_that_does_not_exist_is_refused(tmp_path, path):
    with pytest.raises(DataError, match=r"there is no file or folder '.*nowhere.*'; pass one that exists"):
        datasets.load_heloc(tmp_path / path)


@pytest.mark.parametrize("path", [3, b"heloc.csv", "~nobody-of-that-name/heloc.csv"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(DataError, match="is not the path of a file or a folder"):
        datasets.load_heloc(path)


def test_a_folder_without_the_file_is_refused_with_the_names_looked_for(tmp_path):
    with pytest.raises(DataError, match=r"holds no compas_two_years\.csv\.gz or compas_two_years\.csv; pass the path"):
        datasets.load_compas(tmp_path)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("empty.csv", b""),
        ("binary.csv", b"\xff\xfe\x00\x81"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3,4\n"),
        ("plain.csv.gz", b"a,b\n1,2\n"),
        ("truncated.csv.gz", gzip.compress(b"a,b\n" + bytes(range(48, 58)) * 99, mtime=0)[:-12]),
        ("garbled.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:10] + b"\xff" * 20),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, file, content):
    (tmp_path / file).write_bytes(content)
    with pytest.raises(DataError, match=rf"cannot read '.*{file}': .*; pass a CSV file, plain or gzipped"):
        datasets.load_heloc(tmp_path / file)


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("california_housing", HOUSES.drop(columns=["latitude", "population"]), "housing: latitude, population; pass"),
        ("compas", COMPAS.drop(columns=["is_recid", "length_of_stay"]), "of compas: length_of_stay, is_recid; pass"),
        ("compas", COMPAS.drop(columns="two_year_recid"), "lacks columns of compas: two_year_recid; pass"),
        ("california_housing", HOUSES.assign(population="many"), "'population' holds 'many', which is not a number"),
        ("california_housing", HOUSES.assign(median_house_value=None), "'median_house_value' holds nan, expected a n"),
        ("california_housing", HOUSES.head(0), "the table of california_housing has no row to use"),
        ("compas", COMPAS.assign(is_recid=-1), "the table of compas has no row to use"),
        ("compas", COMPAS.assign(two_year_recid=2), "'two_year_recid' holds 2, expected one of 0, 1; fix the file"),
        ("compas", COMPAS.assign(two_year_recid="yes"), "'two_year_recid' holds 'yes', which is not a number"),
        ("compas", COMPAS.assign(days_b_screening_arrest="x"), "'days_b_screening_arrest' holds 'x', which is not"),
    ],
)
def test_a_table_with_other_contents_is_refused(tmp_path, name, table, message):
    table.to_csv(tmp_path / "table.csv", index=False)
    with pytest.raises(DataError, match=message) as caught:
        load(name, tmp_path / "table.csv")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_an_unknown_class_is_refused(monkeypatch):
    openml(monkeypatch, heloc().assign(RiskPerformance="Ugly"), "RiskPerformance")
    with pytest.raises(DataError, match="'RiskPerformance' holds Ugly, expected one of Good, Bad"):
        datasets.load_heloc()


def test_adult_from_openml_takes_the_same_form(monkeypatch):
    rows = {
        "age": [25, 38],
        "workclass": pandas.Categorical(["Private", None], categories=["State-gov", "Private"]),
        "fnlwgt": [226802, 89814],
        "education": pandas.Categorical(["11th", "HS-grad"]),
        "education-num": [7, 9],
        "marital-status": pandas.Categorical(["Never-married", "Divorced"]),
        "occupation": pandas.Categorical(["Sales", None]),
        "relationship": pandas.Categorical(["Own-child", "Husband"]),
        "race": pandas.Categorical(["Black", "White"]),
        "sex": pandas.Categorical(["Male", "Male"]),
        "capital-gain": [0, 0],
        "capital-loss": [0, 0],
        "hours-per-week": [40, 50],
        "native-country": pandas.Categorical(["United-States", None]),
        "class": pandas.Categorical(["<=50K", ">50K"]),
    }
    asked = openml(monkeypatch, repeated(48842, pandas.DataFrame(rows)), "class")
    data = datasets.load_adult()
    assert asked == [1590]
    assert list(data.frame) == [column for column in rows if column not in ("fnlwgt", "class")]
    assert list(data.frame["workclass"].cat.categories) == ["Private"]
    assert data.frame["workclass"].isna().sum() == 24421
    assert (data.target.name, data.target.head(2).to_list()) == ("income", ["<=50K", ">50K"])


def test_numbers_that_openml_calls_categories_become_numbers(monkeypatch):
    nominal = {
        "MaxDelqEver": pandas.Categorical([-9] + [8] * 10458),
        "RiskPerformance": pandas.Categorical(["Good"] + ["Bad"] * 10458),
    }
    asked = openml(monkeypatch, heloc().assign(**nominal), "RiskPerformance")
    data = datasets.load_heloc()
    assert asked == [46932]
    assert all(dtype == "int64" for dtype in data.frame.dtypes)
    assert data.special_codes == {"MaxDelqEver": (-9.0,)}
    assert data.target.value_counts().to_dict() == {"Good": 1, "Bad": 10458}


def test_california_housing_from_openml_takes_the_same_form(monkeypatch, tmp_path):
    asked = openml(monkeypatch, repeated(20640, HOUSES), "median_house_value")
    HOUSES.to_csv(tmp_path / "california_housing.csv", index=False)
    fetched, local = datasets.load_california_housing(), datasets.load_california_housing(tmp_path)
    assert asked == [537]
    pandas.testing.assert_frame_equal(fetched.frame.head(1), local.frame)
    pandas.testing.assert_series_equal(fetched.target.head(1), local.target)


@needs_data
def test_german_credit_from_openml_equals_the_file(monkeypatch):
    table = pandas.read_csv(DATA / "german_credit.csv.gz")
    text = table.select_dtypes(exclude="number")
    asked = openml(monkeypatch, table.astype(dict.fromkeys(text, "category")), "class")
    fetched, local = datasets.load_german_credit(), datasets.load_german_credit(DATA)
    assert asked == [31]
    pandas.testing.assert_frame_equal(fetched.frame, local.frame)
    pandas.testing.assert_series_equal(fetched.target, local.target)


def test_another_table_on_openml_is_refused(monkeypatch):
    openml(monkeypatch, HOUSES, "median_house_value")
    with pytest.raises(DataError, match="data set 537 has 1 rows, not the 20640 of california_housing; pass the path"):
        datasets.load_california_housing()
    openml(monkeypatch, repeated(1000, HOUSES), "median_house_value")
    with pytest.raises(DataError, match="OpenML's data set 31 lacks columns of german_credit: checking_status, "):
        datasets.load_german_credit()


@pytest.mark.parametrize("error", [URLError("no route to host"), TimeoutError("too slow"), ValueError("not found")])
@pytest.mark.parametrize("name", ["german_credit", "heloc", "california_housing", "adult"])
def test_without_a_network_the_way_out_is_a_path(monkeypatch, name, error):
    def fail(**_):
        raise error

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fail)
    with pytest.raises(DataError, match=rf"cannot fetch {name} .*; without a network, pass the path of {name}\.csv"):
        load(name)


@pytest.mark.parametrize("name", ["compas", "dry_bean", "credit_default", "cdc_diabetes"])
def test_what_openml_does_not_have_needs_a_path(name):
    with pytest.raises(
        DataError, match=rf"{name} cannot be fetched, as no OpenML id .*; pass the path of {name}\w*\.csv"
    ):
        load(name)


@pytest.mark.parametrize("library", ["pandas", "sklearn.datasets"])
@pytest.mark.parametrize("name", ["breast_cancer", "adult"])
def test_a_missing_library_is_named_with_the_extra_to_install(monkeypatch, library, name):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(DataError, match=rf"{library}.*pip install suffice\[data\]"):
        load(name)

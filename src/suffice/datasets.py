"""Public data sets for tests and benchmarks, in their original units.

In comes a local CSV file, the folder that holds it, or nothing: then the data is fetched from OpenML. Out goes a
`Dataset`. Guaranteed of it: exactly the columns listed below, in that order, numbers in the numeric ones and text in
the categorical ones, and in every row a target that is a known class, or a number. Whatever cannot be brought into that
form raises a `DataError`. pandas and scikit-learn are imported by the loaders, not by this module.
"""

from __future__ import annotations

import importlib
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.errors import DataError

if TYPE_CHECKING:
    import pandas

Location = str | os.PathLike[str]


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Features and target of a data set, as its authors published them.

    Parameters
    ----------
    name : str
        Its name here, such as "german_credit".
    frame : pandas.DataFrame
        The features; categorical ones have dtype "category" with text as categories, all others are numeric.
    target : pandas.Series
        The class of each row as text, or a float for regression.
    task : {"binary", "multiclass", "regression"}
        What is to be predicted.
    classes : tuple of str
        All classes; for a binary task the negative and the positive one, the event of interest. None for regression.
    special_codes : mapping from column to tuple of float
        Numbers that are no ordinary values of their column, such as -9 for "no record".
    """

    name: str
    frame: pandas.DataFrame
    target: pandas.Series
    task: str
    classes: tuple[str, ...]
    special_codes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Source:
    """What the table of a data set is called and holds; `columns` are its features, a star marks a categorical one."""

    name: str
    file: str
    rows: int
    openml: int | None
    columns: str
    target: str
    classes: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()  # further columns, which only decide what rows are kept

    @property
    def features(self) -> list[str]:
        return self.columns.replace("*", "").split()


_GERMAN_CREDIT = """checking_status* duration credit_history* purpose* credit_amount savings_status* employment*
    installment_commitment personal_status* other_parties* residence_since property_magnitude* age other_payment_plans*
    housing* existing_credits job* num_dependents own_telephone* foreign_worker*"""
_HELOC = """ExternalRiskEstimate MSinceOldestTradeOpen MSinceMostRecentTradeOpen AverageMInFile NumSatisfactoryTrades
    NumTrades60Ever2DerogPubRec NumTrades90Ever2DerogPubRec PercentTradesNeverDelq MSinceMostRecentDelq
    MaxDelq2PublicRecLast12M MaxDelqEver NumTotalTrades NumTradesOpeninLast12M PercentInstallTrades
    MSinceMostRecentInqexcl7days NumInqLast6M NumInqLast6Mexcl7days NetFractionRevolvingBurden NetFractionInstallBurden
    NumRevolvingTradesWBalance NumInstallTradesWBalance NumBank2NatlTradesWHighUtilization PercentTradesWBalance"""
_COMPAS = "sex* age race* priors_count length_of_stay c_charge_degree*"
_HOUSES = "longitude latitude housing_median_age total_rooms total_bedrooms population households median_income"
# Adult without `fnlwgt`: that says how many people a row stands for in the survey, nothing about the person.
_ADULT = """age workclass* education* education-num marital-status* occupation* relationship* race* sex* capital-gain
    capital-loss hours-per-week native-country*"""
_DRY_BEAN = """Area Perimeter MajorAxisLength MinorAxisLength AspectRation Eccentricity ConvexArea EquivDiameter Extent
    Solidity roundness Compactness ShapeFactor1 ShapeFactor2 ShapeFactor3 ShapeFactor4"""
_CDC = """HighBP HighChol CholCheck BMI Smoker Stroke HeartDiseaseorAttack PhysActivity Fruits Veggies HvyAlcoholConsump
    AnyHealthcare NoDocbcCost GenHlth MentHlth PhysHlth DiffWalk Sex Age Education Income"""

_CREDIT_DEFAULT = """LIMIT_BAL SEX* EDUCATION* MARRIAGE* AGE PAY_0 PAY_2 PAY_3 PAY_4 PAY_5 PAY_6 BILL_AMT1 BILL_AMT2
    BILL_AMT3 BILL_AMT4 BILL_AMT5 BILL_AMT6 PAY_AMT1 PAY_AMT2 PAY_AMT3 PAY_AMT4 PAY_AMT5 PAY_AMT6"""

_NO_YES = ("no", "yes")  # 0 and 1 in the files
_BEANS = ("BARBUNYA", "BOMBAY", "CALI", "DERMASON", "HOROZ", "SEKER", "SIRA")
_KEPT_BY = ("days_b_screening_arrest", "is_recid", "score_text")
_SOURCES = (
    _Source("german_credit", "german_credit", 1_000, 31, _GERMAN_CREDIT, "class", ("good", "bad")),
    _Source("heloc", "heloc", 10_459, 46932, _HELOC, "RiskPerformance", ("Good", "Bad")),
    _Source("compas", "compas_two_years", 7_214, None, _COMPAS, "two_year_recid", _NO_YES, _KEPT_BY),
    _Source("california_housing", "california_housing", 20_640, 537, _HOUSES, "median_house_value"),
    _Source("adult", "adult", 48_842, 1590, _ADULT, "income", ("<=50K", ">50K")),
    _Source("dry_bean", "dry_bean", 13_611, None, _DRY_BEAN, "Class", _BEANS),
    _Source(
        "credit_default",
        "credit_default_taiwan",
        30_000,
        None,
        _CREDIT_DEFAULT,
        "default.payment.next.month",
        _NO_YES,
    ),
    _Source("cdc_diabetes", "cdc_diabetes_brfss2015", 253_680, None, _CDC, "Diabetes_binary", _NO_YES),
)
_BY_NAME = {source.name: source for source in _SOURCES}


def load_breast_cancer() -> Dataset:
    """Load Breast Cancer Wisconsin, which comes with scikit-learn: 569 tumours, 30 numeric features, is it benign?

    Examples
    --------
    >>> data = load_breast_cancer()
    >>> data.frame.shape, data.classes
    ((569, 30), ('malignant', 'benign'))
    """
    _library("pandas")
    bunch = _library("sklearn.datasets").load_breast_cancer(as_frame=True)
    classes = tuple(str(name) for name in bunch.target_names)
    return Dataset("breast_cancer", bunch.data, bunch.target.map(dict(enumerate(classes))), "binary", classes)


def load_german_credit(path: Location | None = None) -> Dataset:
    """Load German Credit (Hofmann 1994): 1,000 loans, 7 numeric and 13 categorical features, is the loan bad?

    The labels are UCI's, of which many are wrong: Groemping (2019), "South German Credit".

    Parameters
    ----------
    path : str or path-like, optional
        A CSV file, or a folder that holds german_credit.csv(.gz). Default: OpenML 31.
    """
    return _load("german_credit", path)


def load_heloc(path: Location | None = None) -> Dataset:
    """Load HELOC (FICO 2018): 10,459 home equity loans, 23 numeric features, is the risk bad?

    Special codes, for each column those that occur in it: -9 no record, -8 no usable trades or inquiries, -7 condition
    not met. FICO's own terms of use apply.

    Parameters
    ----------
    path : str or path-like, optional
        A CSV file, or a folder that holds heloc.csv(.gz). Default: OpenML 46932.
    """
    data = _load("heloc", path)
    codes = {
        name: tuple(code for code in (-9.0, -8.0, -7.0) if (data.frame[name] == code).any()) for name in data.frame
    }
    return replace(data, special_codes={name: found for name, found in codes.items() if found})


def load_compas(path: Location | None = None) -> Dataset:
    """Load COMPAS (ProPublica 2016): 6,172 defendants, 6 features, was there a new charge within two years?

    The file is ProPublica's compas-scores-two-years.csv with one more column: `length_of_stay`, the days between the
    dates of `c_jail_in` and `c_jail_out`. These are real people: for comparing methods only.

    Parameters
    ----------
    path : str or path-like
        A CSV file, or a folder that holds compas_two_years.csv(.gz). No copy on OpenML has all columns.
    """
    table = _table(_BY_NAME["compas"], path)
    # ProPublica's filter: a charge long before or after the screening is likely another one, -1 stands for no case
    # found, O for an ordinary traffic offence. No `length_of_stay` is missing in the rows that are left.
    kept = _numbers(table["days_b_screening_arrest"]).between(-30, 30) & (_numbers(table["is_recid"]) != -1)
    kept &= (table["c_charge_degree"] != "O") & (table["score_text"] != "N/A")
    return _dataset(_BY_NAME["compas"], table[kept])


def load_california_housing(path: Location | None = None) -> Dataset:
    """Load California Housing (Pace and Barry 1997): 20,640 block groups, 8 numeric features, regression.

    Features and target (the median house value in 100,000 dollars) are those that scikit-learn's
    `fetch_california_housing` derives from the raw counts.

    Parameters
    ----------
    path : str or path-like, optional
        A CSV file, or a folder that holds california_housing.csv(.gz), with the raw counts. Default: OpenML 537.
    """
    data = _load("california_housing", path)
    raw = data.frame.astype(float)
    derived = {
        "MedInc": raw["median_income"],
        "HouseAge": raw["housing_median_age"],
        "AveRooms": raw["total_rooms"] / raw["households"],
        "AveBedrms": raw["total_bedrooms"] / raw["households"],
        "Population": raw["population"],
        "AveOccup": raw["population"] / raw["households"],
        "Latitude": raw["latitude"],
        "Longitude": raw["longitude"],
    }
    target = (data.target / 100_000).rename("MedHouseVal")
    return replace(data, frame=_library("pandas").DataFrame(derived), target=target)


def load_adult(path: Location | None = None) -> Dataset:
    """Load Adult (Becker and Kohavi 1996): 48,842 people, 5 numeric and 8 categorical features, an income above 50K?

    What is unknown ("?") is missing. Rows stay in the order of the table: in the file, the training part comes first.

    Parameters
    ----------
    path : str or path-like, optional
        A CSV file, or a folder that holds adult.csv(.gz). Default: OpenML 1590.
    """
    return _load("adult", path)


def load_dry_bean(path: Location | None = None) -> Dataset:
    """Load Dry Bean (Koklu and Ozkan 2020): 13,611 beans sorted by class, 16 numeric features, which of 7 kinds?

    Parameters
    ----------
    path : str or path-like
        A CSV file, or a folder that holds dry_bean.csv(.gz). No OpenML id is known.
    """
    return _load("dry_bean", path)


def load_credit_default(path: Location | None = None) -> Dataset:
    """Load Default of Credit Card Clients (Yeh and Lien 2009): 30,000 clients in Taiwan, 23 features, a default next?

    Sex, education and marriage are codes, and so categories; `PAY_0` to `PAY_6` count months of delay: numbers.

    Parameters
    ----------
    path : str or path-like
        A CSV file, or a folder that holds credit_default_taiwan.csv(.gz). No OpenML id is known.
    """
    return _load("credit_default", path)


def load_cdc_diabetes(path: Location | None = None) -> Dataset:
    """Load CDC Diabetes Health Indicators (BRFSS 2015): 253,680 people, 21 numeric features, is there diabetes?

    Parameters
    ----------
    path : str or path-like
        A CSV file, or a folder that holds cdc_diabetes_brfss2015.csv(.gz). No OpenML id is known.
    """
    return _load("cdc_diabetes", path)


def _load(name: str, path: Location | None) -> Dataset:
    return _dataset(_BY_NAME[name], _table(_BY_NAME[name], path))


def _table(source: _Source, path: Location | None) -> Any:
    """Return the table as it is written, once it is known to have every column."""
    if path is None:
        table, where = _fetch(source), f"OpenML's data set {source.openml}"
    else:
        file = _find(source, path)
        table, where = _read(file), repr(str(file))
    lacking = [name for name in (*source.features, source.target, *source.filters) if name not in table]
    if lacking:
        raise DataError(f"{where} lacks columns of {source.name}: {', '.join(lacking)}; pass a file that has them")
    return table


def _find(source: _Source, path: Location) -> Path:
    try:
        place = Path(path).expanduser()
    except (TypeError, RuntimeError):  # not a path at all, or the home of an unknown user
        raise DataError(f"{path!r} is not the path of a file or a folder") from None
    names = (f"{source.file}.csv.gz", f"{source.file}.csv")
    for file in (place, *(place / name for name in names)):
        if file.is_file():
            return file
    if not place.is_dir():
        raise DataError(f"there is no file or folder {str(place)!r}; pass one that exists")
    raise DataError(f"the folder {str(place)!r} holds no {' or '.join(names)}; pass the path of the file itself")


def _read(file: Path) -> Any:
    # These marks alone mean missing: pandas' own list has "N/A" as well, a score text that ProPublica's filter names.
    options = {"keep_default_na": False, "na_values": ["", "?", "NA", "NaN"], "low_memory": False}
    pandas = _library("pandas")
    try:
        return pandas.read_csv(file, **options)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = str(error).strip()  # pandas ends some of its messages with a line break
        raise DataError(f"cannot read {str(file)!r}: {reason}; pass a CSV file, plain or gzipped") from error


def _fetch(source: _Source) -> Any:
    way_out = f"pass the path of {source.file}.csv or of its folder"
    if source.openml is None:
        raise DataError(f"{source.name} cannot be fetched, as no OpenML id is known for it; {way_out}")
    _library("pandas")
    datasets = _library("sklearn.datasets")
    try:
        bunch = datasets.fetch_openml(data_id=source.openml, as_frame=True)
    except Exception as error:  # whatever fails between here and OpenML, the way out is the same
        raise DataError(f"cannot fetch {source.name} from OpenML: {error}; without a network, {way_out}") from error
    if len(bunch.frame) != source.rows:
        found = f"OpenML's data set {source.openml} has {len(bunch.frame)} rows"
        raise DataError(f"{found}, not the {source.rows} of {source.name}; {way_out}")
    return bunch.frame.rename(columns=dict.fromkeys(bunch.target_names, source.target))  # Adult's is `class` there


def _dataset(source: _Source, table: Any) -> Dataset:
    if table.empty:
        raise DataError(f"the table of {source.name} has no row to use; pass a file that has some")
    table = table.reset_index(drop=True)
    frame = table[source.features].copy()
    for column in source.columns.split():
        name = column.rstrip("*")
        frame[name] = _categories(table[name]) if column.endswith("*") else _numbers(table[name])
    task = {0: "regression", 2: "binary"}.get(len(source.classes), "multiclass")
    return Dataset(source.name, frame, _target(source, table[source.target]), task, source.classes)


def _categories(column: Any) -> Any:
    # By way of text, so that the categories are those that occur, in one order, wherever the table came from.
    return column.astype(object).map(str, na_action="ignore").astype("category")


def _numbers(column: Any) -> Any:
    numbers = _library("pandas").to_numeric(column, errors="coerce")
    strange = column[numbers.isna() & column.notna()]
    if len(strange):
        raise DataError(f"the column {column.name!r} holds {strange.iloc[0]!r}, which is not a number; fix the file")
    return numbers


def _target(source: _Source, column: Any) -> Any:
    if source.classes:
        keys = (0, 1) if source.classes == _NO_YES else source.classes
        written = _numbers(column) if source.classes == _NO_YES else column.astype(object)
        target = written.map(dict(zip(keys, source.classes, strict=True))).astype(object)
        expected = f"one of {', '.join(map(str, keys))}"
    else:
        target, expected = _numbers(column).astype(float), "a number"
    strange = column[target.isna()]
    if len(strange):
        raise DataError(f"the target {source.target!r} holds {strange.iloc[0]}, expected {expected}; fix the file")
    return target.astype(str) if source.classes else target


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise DataError(f"data sets need pandas and scikit-learn ({error}): pip install suffice[data]") from error

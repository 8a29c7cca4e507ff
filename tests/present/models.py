"""Models that pictures, reports and pages are tried with: wide ones, hostile names, every kind of feature."""

import random

from suffice import (
    MISSING,
    AdditiveModel,
    Bins,
    Domain,
    Explainer,
    Feature,
    PairSteps,
    PiecewiseLinear,
    Product,
    Steps,
    Table,
)

HOSTILE = [
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "'; document.title='owned'; //",
    "${alert(1)} {{7*7}} $\\frac{$",
    "line one\nline two\t\x07",
    "name </style></svg></script> & &amp; ]]> -->",
]


def mixed() -> Explainer:
    """Return a model with a line, integers, categories, and integers with codes."""
    line = PiecewiseLinear([-1, 0, 2], [3, 0, 1], left_slope=1, right_slope=-1)
    months = Table({-9: 0, MISSING: 1}, otherwise=Steps([5, 9], [0, "1/7", -1]))
    features = [
        Feature("income", Domain.interval(-10, 10), deviation=2),
        Feature("age", Domain.integers(0, 120), deviation=12),
        Feature("colour", deviation=0),
        Feature("months", Domain.integers(0, 30) | Domain.codes(-9, MISSING), deviation=3),
    ]
    shapes = [line, line.rescaled(40, 20), Table({"red": -1, "blue": 2, "green": "1/3"}), months]
    return Explainer(AdditiveModel(shapes, "1/7", features=features, classes=["no", "yes"]))


def paired() -> Explainer:
    """Return the same model with terms over two features: steps, a table with codes, a surface, a product."""
    plain = mixed().model
    colours, months = Bins(keys=["red", "blue", "green"]), Bins([5, 9], keys=[-9, MISSING])
    pairs = {
        ("colour", "months"): PairSteps(colours, months, [[0, 1, -1, 0, 2], [1, 0, 0, "1/3", 0], [0, 0, -2, 0, 1]]),
        ("age", "income"): PairSteps([30, 60], [0], [[0, 1], ["1/2", 0], [-1, "1/7"]]),
        ("months", "age"): PairSteps(months, [45], [[0, 1], [1, 0], [0, 0], [2, 2], [0, 1]]),
        ("income", "colour"): Product(PiecewiseLinear([-2, 2], [-1, 1]), Table({"red": 1, "blue": 0, "green": -1})),
    }
    shapes = [term.shape for term in plain.mains]
    return Explainer(AdditiveModel(shapes, 2, features=plain.features, classes=plain.classes, pairs=pairs))


MIXED_ROW = {"income": "0.5", "age": 50, "colour": "green", "months": 7}


def wide(features: int = 60, letters: int = 40) -> Explainer:
    """Return a model with many long names, in wide letters."""
    sample = random.Random(3)
    shapes = [PiecewiseLinear([-1, 0, 1], [sample.gauss(0, 1) for _ in range(3)]) for _ in range(features)]
    names = [f"{k:02d} {'Wm' * letters}"[:letters] for k in range(features)]
    return Explainer(AdditiveModel(shapes, 3, features=names))


def hostile() -> Explainer:
    """Return a model whose names and categories try to become markup, scripts and formulas."""
    line = PiecewiseLinear([-1, 1], [-1, 1])
    shapes = [line * (k + 1) for k in range(len(HOSTILE))] + [Table({name: k for k, name in enumerate(HOSTILE)})]
    return Explainer(AdditiveModel(shapes, 1, features=[*HOSTILE, "category"], classes=[HOSTILE[0], HOSTILE[1]]))


HOSTILE_ROW = {**dict.fromkeys(HOSTILE, "0.5"), "category": HOSTILE[1]}

"""Draw the pictures of README and documentation: with the embedded model, and with a wide one of 60 long names.

.venv/bin/python scripts/draw_pictures.py            writes docs/pictures/*.svg
.venv/bin/python scripts/draw_pictures.py --png DIR  writes them as PNG instead, to look at
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

import suffice
from suffice import MISSING, AdditiveModel, Domain, Explainer, Feature, PiecewiseLinear, Steps, Table
from suffice.present import plots

ROOT = Path(__file__).parent.parent
DATA = ROOT / "src" / "suffice" / "data"


def figures() -> Iterator[tuple[str, Figure]]:
    """Yield each picture with its name."""
    explainer = Explainer(suffice.load(DATA / "breast_cancer.safetensors"))
    with (DATA / "breast_cancer_rows.csv").open() as file:
        rows = [{name: row[name] for name in explainer.model.names} for row in csv.DictReader(file)]
    why = explainer.explain(rows[1], radius=0.5, unit="std")
    yield "drops", plots.waterfall(why).figure
    yield "shapes", plots.shapes(why, most=6)
    steps = explainer.curve(rows[1], until=2, unit="std")
    yield "curve", plots.curve(steps, unit="standard deviations").figure

    loan = loan_model().explain({"income": 30, "late payments": 0, "housing": "own"}, radius=1)
    yield "concept-shapes", plots.shapes(loan)
    yield "concept-drops", plots.waterfall(loan).figure

    wide, sample = wide_model(), random.Random(2)
    found = [
        wide.explain(
            [sample.uniform(-3, 3) for _ in wide.model.names[:58]] + ["rented from a relative", MISSING],
            radius,
            unit="raw",
        )
        for radius in (0.5, 1, 2)
        for _ in range(40)
    ]
    yield "sizes", plots.sizes(found).figure
    yield "frequency", plots.frequency(found).figure
    largest = max(found, key=lambda one: one.size)
    yield "wide-drops", plots.waterfall(largest).figure
    yield "wide-shapes", plots.shapes(largest, [*largest.features[:4], *largest.model.names[-5:]])
    small = Figure(figsize=(5, 2.5), layout="constrained").subplots()
    yield "wide-drops-small", plots.waterfall(largest, small).figure


def loan_model() -> Explainer:
    """Return the model of docs/concepts.md."""
    shapes: list[suffice.Shape] = [
        PiecewiseLinear([0, 40, 80], [-1, 2, 2.5]),
        Steps([1, 3], [1, 0, -3]),
        Table({"own": 0.5, "rent": -0.25}),
    ]
    features = [
        Feature("income", Domain.interval(0, 100), deviation=10),
        Feature("late payments", Domain.integers(0, 20), deviation=3),
        "housing",
    ]
    return Explainer(AdditiveModel(shapes, features=features, classes=["refuse", "grant"]))


def wide_model() -> Explainer:
    """Return a model of 60 features with names of 40 letters: lines, steps, categories, codes."""
    random.seed(1)

    def shape(k: int) -> suffice.Shape:
        if k % 3 == 0:
            return Steps(sorted(random.sample(range(-3, 4), 3)), [random.gauss(0, 1 / (k + 1)) for _ in range(4)])
        return PiecewiseLinear([-3, -1, 0, 2, 3], [random.gauss(0, 3 / (k + 3)) for _ in range(5)])

    names = [f"answer {k:02d} of the household questionnaire" for k in range(60)]
    housing = Table(
        {"owned outright": 0.4, "owned with a mortgage": 0.1, "rented from a relative": -0.2, "rented": -0.4}
    )
    months = Table({-9: 0.1, MISSING: -0.3}, otherwise=PiecewiseLinear([0, 12, 60], [-0.6, 0.1, 0.5]))
    features = [*names[:58], names[58], Feature(names[59], Domain.integers(0, 100) | Domain.codes(-9, MISSING))]
    return Explainer(AdditiveModel([*map(shape, range(58)), housing, months], 4, features=features))


def main() -> None:
    """Write all pictures."""
    folder = Path(sys.argv[2]) if "--png" in sys.argv else ROOT / "docs" / "pictures"
    for name, figure in figures():
        if "--png" in sys.argv:
            figure.savefig(folder / f"{name}.png", dpi=110)
        else:
            (folder / f"{name}.svg").write_text(plots.to_svg(figure, name) + "\n")


if __name__ == "__main__":
    main()

"""What every package must show, through its own predictions: equal scores on 2,000 rows, and explanations that hold.

Nothing here reads the adapters: rows and perturbations are drawn from the features' domains in plain Python, and the
package's own function answers for them.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
from contextlib import contextmanager
from fractions import Fraction
from importlib import metadata
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from suffice import MISSING, Explainer

ROWS = 2_000
PERTURBATIONS = 10_000
UNSEEN = "(unseen)"
RECORD = os.environ.get("SUFFICE_RECORD")  # file to note in what was measured; docs/models.md is written from it


@pytest.fixture(autouse=True)
def one_thread():
    """Small networks gain nothing from threads, and lose much on a busy machine; for modules that import it."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@contextmanager
def code_base(name):
    """Import from a NAM code base: a folder below $SUFFICE_PEERS, for most of them are all called `nam`."""
    folder = Path(os.environ.get("SUFFICE_PEERS", "/nowhere")) / name
    if not folder.is_dir():
        pytest.skip(f"the code base {name} is not there: scripts/test-adapters fetches it")
    forget = [module for module in sys.modules if module.split(".")[0] in ("nam", "nam_pytorch", "nbm_spam")]
    for module in forget:
        del sys.modules[module]
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def check(
    name,
    model,
    ask,
    *,
    package=None,
    seed=0,
    radii=(0.5, math.inf),
    precision=1e-9,
    single=False,
    decide=None,
    unseen="???",
):
    """Compare an imported model with its package, and explain some rows of it.

    `ask` takes a list of rows (floats, names, None for missing, `unseen` for a category never seen) and returns the
    package's own scores; `decide` turns these into the package's own labels. `single`: numbers are rounded to float32,
    for a model that would round them itself before anything else.
    """
    explainer, draw = Explainer(model), random.Random(seed)
    pools = [pool(domain, pieces) for domain, pieces in zip(model.domains, explainer.pieces.values(), strict=True)]
    if single:
        pools = [[float(np.float32(one)) if isinstance(one, float) else one for one in values] for values in pools]
    rows = [[draw.choice(one) for one in pools] for _ in range(ROWS)]
    error = compare(explainer, rows, ask, precision, unseen)
    decide = decide or (lambda scores: labels(model, scores))
    explained = 0
    for k, row in enumerate(rows[:200]):
        radius = radii[k % len(radii)]
        why = ask_why(explainer, row, radius)
        if why is None or why.size == len(row) or float(why.slack) <= 1e-3:
            continue  # everything is kept, or the float model may tip over: nothing to try
        assert holds(model, row, why, radius, pools, draw, ask, decide, unseen)
        explained += 1
        if explained == 4:
            break
    assert explained, "no explanation with a free feature was found to try"
    note(name, package or name, model, error, explained)


def ask_why(explainer, row, radius):
    from suffice import Within

    if explainer.model.task == "regression":
        spread = max(abs(float(explainer.score(row))) / 2, 0.5)
        return explainer.explain(row, radius, claim=Within(spread), unit="raw")
    return explainer.explain(row, radius, unit="raw")


def compare(explainer, rows, ask, precision, unseen):
    """The largest difference between exact and own scores, relative to the largest score; refused above `precision`."""
    theirs = np.asarray(ask(plain(rows, unseen)), dtype=np.float64).reshape(len(rows), -1)
    scores = [explainer.score(row) for row in rows]
    ours = np.array([[float(one) for one in (score if isinstance(score, tuple) else (score,))] for score in scores])
    assert theirs.shape == ours.shape
    error = float(np.abs(theirs - ours).max() / max(1.0, np.abs(theirs).max()))
    assert error <= precision
    return error


def holds(model, row, why, radius, pools, draw, ask, decide, unseen):
    """Whether the package's own labels stay, whatever the freed features do."""
    columns = []
    for name, value, domain, values in zip(model.names, row, model.domains, pools, strict=True):
        choices = [value] if name in why.features else reachable(value, domain, radius, values, draw)
        columns.append(draw.choices(choices, k=PERTURBATIONS))
    moved = plain(zip(*columns, strict=True), unseen)
    scores = np.asarray(ask(moved), dtype=np.float64).reshape(PERTURBATIONS, -1)
    if model.task == "regression":
        here = float(Explainer(model).score(row))
        spread = max(abs(here) / 2, 0.5)
        return bool((np.abs(scores - here) <= spread * (1 + 1e-6)).all())
    return set(decide(scores)) == {why.prediction}


def labels(model, scores):
    if model.task == "multiclass":
        return [model.classes[k] for k in scores.argmax(axis=1)]
    positive = scores[:, 0] >= 0 if model.ties == "positive" else scores[:, 0] > 0
    return [model.classes[int(k)] for k in positive]


def reachable(value, domain, radius, values, draw):
    """Values that a free feature may take, by what `docs/notation.md` says of domains; many if it can move freely."""
    if radius == math.inf:
        return values
    if value in names(domain):
        return names(domain)
    if not isinstance(value, float) or Fraction(value) in codes(domain):
        return [value]
    low, high = Fraction(value) - Fraction(radius), Fraction(value) + Fraction(radius)
    near = [one for one in values if isinstance(one, float) and low <= Fraction(one) <= high]
    drawn = [draw.uniform(value - radius, value + radius) for _ in range(1000)]
    return [value, *near, *(one for one in drawn if one in domain and low <= Fraction(one) <= high)]


def names(domain):
    return [c if isinstance(c, str) else int(c.p) / int(c.q) for c in domain.categories_]


def codes(domain):
    return [Fraction(int(c.p), int(c.q)) for c in domain.codes_ if hasattr(c, "p")]


def pool(domain, pieces):
    """Values of every kind: where a shape bends or jumps, beside that, between, far out, names, missing, unseen."""
    knots = sorted({int(knot.p) / int(knot.q) for one in pieces for knot in one.knots})
    ends = [int(end.p) / int(end.q) for span in domain.spans for end in span[:2] if end is not None]
    places = sorted({*knots, *ends, 0.0, 1.0})
    found = {*places, places[0] - 3.7, places[-1] + 3.9}
    found |= {math.nextafter(place, side) for place in places for side in (-math.inf, math.inf)}
    found |= {a + (b - a) * 0.43 for a, b in pairwise(places)}
    if any(span.is_integers for span in domain.spans):
        found |= {float(round(place)) for place in found}
    numbers = [value for value in sorted(found) if value in domain]
    labels = [c if not hasattr(c, "p") else int(c.p) / int(c.q) for c in (*domain.categories_, *domain.codes_)]
    return numbers + labels * max(1, len(numbers) // 20 if labels else 1)


def plain(rows, unseen):
    return [[None if cell is MISSING else unseen if cell == UNSEEN else cell for cell in row] for row in rows]


def note(name, package, model, error, explained):
    """Write down what was measured, if asked to."""
    if RECORD is None:
        return
    path = Path(RECORD)
    known = json.loads(path.read_text()) if path.exists() else {}
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        version = "source"
    known[name] = {
        "package": package,
        "version": version,
        "task": model.task,
        "rows": ROWS,
        "error": f"{error:.0e}",
        "explanations": explained,
        "perturbations": PERTURBATIONS,
    }
    path.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")


def note_attack(package, name, found=None, refused="", because=""):
    """Write down what became of one of the common configurations, if asked to."""
    if RECORD is None:
        return
    path = Path(RECORD).with_name("configurations.json")
    known = json.loads(path.read_text()) if path.exists() else {}
    facts = {"package": package, "version": metadata.version(package), "name": name}
    if found is None:
        facts |= {"refused": refused, "because": because}
    else:
        facts |= {
            "task": found.model.task,
            "seconds": round(found.seconds, 1),
            "rows": found.rows,
            "labels": found.labels,
            "error": f"{found.error:.0e}",
            "explanations": found.explanations,
            "counterexamples": found.counterexamples,
        }
    known[f"{package}: {name}"] = facts
    path.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")

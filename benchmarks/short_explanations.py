"""What training for short explanations costs in AUC, and what it gains in proven size.

    python benchmarks/short_explanations.py --data FOLDER [--estimator gam] [--sets a,b] [--weights 0.0003,0.003]
                                            [--repeats 2] [--explained 200] [--output results.json] [--plot curve.png]

For each data set and explanation weight, on `--repeats` splits into training rows and a fifth of test rows: the AUC on
the test rows, and the mean size of proven cardinally-minimal explanations of some of them. A free number may move by
`--radius` standard deviations (of the training rows, special codes left out), a free category may become any other.
Losses and ratios are those to weight 0 on the same splits. Last, `choose_explanation_weight` picks a weight from the
training rows of the first split alone, and what it picked is measured on the test rows.

With `--output`, every finished fit is written at once and used again by a run of the same settings and code.
FOLDER holds the CSV files that `suffice.datasets` reads; Breast Cancer needs none.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
from itertools import islice

import numpy as np
from accuracy import Results, folds_of, gam, identity, limit_threads, load_sets, nam, names_from, numbers_of, versions
from sklearn.metrics import roc_auc_score

import suffice
from suffice.gam import choose_explanation_weight

SETS = ("breast_cancer", "german_credit", "heloc")
WEIGHTS = (0.0001, 0.0003, 0.001, 0.003, 0.01)


# --- measuring --------------------------------------------------------------------------------------------------------


def estimator_of(data, weight, repeat, options):
    penalty = {"explanation_radius": options.radius, "explanation_weight": weight}
    if options.estimator == "gam":  # nothing is drawn at random
        return gam(data, options, **penalty)
    return nam(data, options, **penalty).set_params(random_state=repeat)


def sizes_of(estimator, table, radius):
    """Return the size of a proven smallest explanation of each row that the training rows make possible."""
    explainer, found = suffice.Explainer(estimator.to_additive()), []
    for _, row in table.iterrows():
        try:
            found.append(explainer.explain(row, radius=radius, unit="std"))
        except suffice.RowError:
            continue
    assert all(why.status is suffice.Status.PROVEN for why in found)
    return [why.size for why in found]


def measure(data, weight, repeat, split, results, options):
    """Return the cell of one weight on one split: fitted, scored and explained, or found among the results."""
    estimator = estimator_of(data, weight, repeat, options)
    key = {"set": data.name, "repeat": repeat, "model": identity(estimator)}
    cell = results.find(**key)
    if cell is not None:
        return cell
    target, (train, test) = numbers_of(data), split
    began = time.perf_counter()
    estimator.fit(data.frame.iloc[train], target[train])
    fitted = time.perf_counter()
    auc = roc_auc_score(target[test], estimator.decision_function(data.frame.iloc[test]))
    chosen = np.random.default_rng(repeat).permutation(test)[: options.explained]
    sizes = sizes_of(estimator, data.frame.iloc[chosen], options.radius)
    times = {"fit_seconds": fitted - began, "explain_seconds": time.perf_counter() - fitted}
    cell = key | {"weight": weight, "auc": auc, "size": statistics.mean(sizes), "sizes": sizes} | times
    results.add(cell)
    line = f"AUC {auc:.4f}, mean size {cell['size']:.2f}, {cell['fit_seconds']:.1f} s"
    print(f"{data.name}, split {repeat}, weight {weight:g}: {line}", file=sys.stderr, flush=True)
    return cell


def choose(data, split, results, options):
    """Return the weight picked from the training rows of a split, and what was tried."""
    estimator = estimator_of(data, 0.0, 0, options)
    key = {"set": data.name, "choice": f"{options.give_up} {options.weights} {identity(estimator)}"}
    cell = results.find(**key)
    if cell is None:
        train, _ = split
        chosen = choose_explanation_weight(
            estimator,
            data.frame.iloc[train],
            numbers_of(data)[train],
            give_up=options.give_up,
            weights=[weight for weight in options.weights if weight],
        )
        cell = key | {"weight": chosen.weight, "tried": [list(one) for one in chosen.tried]}
        results.add(cell)
    return cell["weight"], cell["tried"]


# --- showing ----------------------------------------------------------------------------------------------------------


def curve_of(cells_of_weight):
    """Return, for each weight, its mean AUC and size, the AUC lost and the ratio of sizes to weight 0."""
    means = {
        weight: [statistics.mean(cell[key] for cell in cells) for key in ("auc", "size")]
        for weight, cells in cells_of_weight.items()
    }
    best, longest = means[0.0]
    return {weight: (auc, size, best - auc, _ratio(size, longest)) for weight, (auc, size) in means.items()}


def _ratio(size, longest):
    return size / longest if longest else float("nan")


def show(data, curve, options):
    test = f"{options.repeats} split(s), {options.explained} rows explained in each"
    print(f"\n{data.name}: {data.frame.shape[1]} columns, radius {options.radius:g} standard deviations, {test}")
    print(f"  {'weight':>7} {'AUC':>8} {'AUC lost':>9} {'mean size':>10} {'size / size at 0':>17}")
    for weight, (auc, size, lost, ratio) in curve.items():
        print(f"  {weight:7g} {auc:8.4f} {lost:+9.4f} {size:10.2f} {ratio:17.3f}")


def show_choice(data, weight, tried, cell, plain, options):
    print(f"\n{data.name}: choose_explanation_weight giving up at most {options.give_up:g} picks {weight:g}")
    for one, score, width, size in tried:
        lost = f"({tried[0][1] - score:+.4f} lost)"
        print(f"  tried {one:g}: validated AUC {score:.4f} {lost}, shapes move {width:.3f}, mean size {size:.2f}")
    print(
        f"  on the test rows: AUC {cell['auc']:.4f} ({plain['auc'] - cell['auc']:+.4f} lost), "
        f"mean size {cell['size']:.2f} ({_ratio(cell['size'], plain['size']):.3f} of {plain['size']:.2f})"
    )


def plot(curves, path):
    """Draw the trade-off of every data set: to the left is short, up is accurate."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no plot: matplotlib is not installed", file=sys.stderr)
        return
    figure = Figure(figsize=(4.2 * len(curves), 3.6), layout="constrained")
    axes = figure.subplots(1, len(curves), squeeze=False)[0]
    for axis, (name, curve) in zip(axes, curves.items(), strict=True):
        sizes, scores = [size for _, size, *_ in curve.values()], [auc for auc, *_ in curve.values()]
        axis.plot(sizes, scores, marker="o", color="tab:blue")
        for weight, size, auc in zip(curve, sizes, scores, strict=True):
            axis.annotate(f"{weight:g}", (size, auc), xytext=(5, 5), textcoords="offset points", fontsize=8)
        axis.set(title=name, xlabel="mean proven explanation size", ylabel="AUC on test rows")
        axis.margins(0.12)
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=150)
    print(f"\nplot: {path}")


# --- command line -----------------------------------------------------------------------------------------------------


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the CSV files")
    parser.add_argument("--estimator", choices=("gam", "nam"), default="gam")
    parser.add_argument("--sets", type=names_from(SETS), default=list(SETS))
    parser.add_argument("--weights", type=lambda text: [float(one) for one in text.split(",")], default=list(WEIGHTS))
    parser.add_argument("--radius", type=float, default=0.5, help="in standard deviations")
    parser.add_argument("--repeats", type=int, default=2, help="how many splits, 1 to 5")
    parser.add_argument("--explained", type=int, default=200, help="test rows to explain in each split")
    parser.add_argument("--choose", type=names_from(SETS), default=["heloc"], help="sets to choose a weight for")
    parser.add_argument("--give-up", type=float, default=0.002, help="AUC that the chosen weight may cost")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", help="JSON file, written after every fit; a run goes on from it")
    parser.add_argument("--plot", help="picture of the trade-off (needs matplotlib)")
    parser.add_argument("--epochs", type=int, help="most epochs (default: the estimator's own)")
    parser.add_argument("--rows", type=int, help="use only so many rows of each set, to try things out")
    options = parser.parse_args()
    if options.data is None and options.sets != ["breast_cancer"]:
        parser.error("all sets but breast_cancer need --data FOLDER")
    if not 1 <= options.repeats <= 5:
        parser.error("--repeats is a number from 1 to 5")
    options.weights = sorted({0.0, *options.weights})
    return options


def main():
    options = read_options()
    limit_threads(options.threads)
    used = {name: version for name, version in versions().items() if name not in ("interpret-core", "dnamite")}
    settings = {name: getattr(options, name) for name in ("radius", "explained", "threads", "epochs", "rows")} | used
    results, curves = Results(options.output, settings), {}
    shown = ", ".join(f"{name} {version}" for name, version in used.items())
    print(f"Python {platform.python_version()}, {platform.machine()}, {options.threads} thread(s)\n{shown}", flush=True)
    for data in load_sets(options.sets, options.data, options.rows):
        splits = list(islice(folds_of(data, numbers_of(data), 5), options.repeats))
        cells = {
            weight: [measure(data, weight, *split, results, options) for split in enumerate(splits)]
            for weight in options.weights
        }
        curves[data.name] = curve_of(cells)
        show(data, curves[data.name], options)
        if data.name in options.choose:
            weight, tried = choose(data, splits[0], results, options)
            cell = measure(data, weight, 0, splits[0], results, options)
            show_choice(data, weight, tried, cell, cells[0.0][0], options)
        sys.stdout.flush()
    if options.plot:
        plot(curves, options.plot)


if __name__ == "__main__":
    main()

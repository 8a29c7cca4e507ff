"""Models with pair terms: default EBMs of real data, and random tables that are hard on purpose, all in one run.

    python benchmarks/pairs.py [--data FOLDER] [--sets breast_cancer german_credit heloc adult california_housing]
        [--rows 60] [--proofs 10] [--radii 0.1 0.5 1 inf] [--stress 30 60 100] [--instances 8] [--seconds 10]
        [--models FOLDER] [--bags N] [--most 25000]

EBMs: defaults of interpret (at most 25,000 rows; `--bags` outer bags), read by `from_model`. For test rows at each
radius, CPU time of one explanation (median, 95 %, most), its size, the share that is proven; the same through
`explain_batch`; how often the smallest set of the model without its pair terms does not suffice; and ratios: to
`ebm.explain_local`, and of our worst case of all features to toulbar2's, if pytoulbar2 is installed (its network is
made beforehand; it works with nine decimals, to which the two are compared). Of some answers at each radius also the
size of the certificate, and what it takes to make it and to check it, the model's file read anew.

Random tables: categorical features with six labels each, every feature in six pairs on average, pair terms a third as
strong as the features' own and as strong. The row's score is a third of the worst fall, so that about a third of the
features are needed. How many answers are proven within the time, and how far apart set and bound are in the others.
The time is that of the processor: the library's clock is replaced, so that it does not matter what else runs.

The folder of data holds the CSV files that `suffice.datasets` reads; Breast Cancer needs none. Fitted EBMs are kept in
that of models, if one is given, for the next run.
"""

from __future__ import annotations

import argparse
import math
import platform
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np

time.monotonic = time.process_time  # limits of time are of the processor's

import suffice  # noqa: E402
import suffice_check  # noqa: E402
from suffice import datasets  # noqa: E402
from suffice.core.worst_case import FAR, sight  # noqa: E402

LABELS, DEGREE, PART = 6, 6, 0.35
BATCH = 200  # rows at least, the same ones again and again
LOADERS = {
    "breast_cancer": lambda folder: datasets.load_breast_cancer(),
    "german_credit": datasets.load_german_credit,
    "heloc": datasets.load_heloc,
    "adult": datasets.load_adult,
    "california_housing": datasets.load_california_housing,
}


def clock(function):
    began = time.process_time()
    result = function()
    return time.process_time() - began, result


def spread(times):
    return f"{1e3 * np.median(times):.2f} / {1e3 * np.quantile(times, 0.95):.2f} / {1e3 * max(times):.2f} ms"


# --- default EBMs -----------------------------------------------------------------------------------------------------


def trained(name, folder, bags, models, most):
    """Return a default EBM, its training rows and its test rows; kept in a folder, if there is one."""
    import joblib
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
    from sklearn.model_selection import train_test_split

    path = None if models is None else Path(models) / f"{name}-{bags or 'default'}.joblib"
    if path is not None and path.exists():
        return joblib.load(path)
    data = LOADERS[name](folder)
    frame, target = data.frame, data.target
    if len(frame) > most:
        frame = frame.sample(most, random_state=0)
        target = target.loc[frame.index]
    is_regression = data.task == "regression"
    train, test, wanted, _ = train_test_split(
        frame, target, test_size=0.2, random_state=0, stratify=None if is_regression else target
    )
    kind = ExplainableBoostingRegressor if is_regression else ExplainableBoostingClassifier
    ebm = kind(n_jobs=1, random_state=0, **({} if bags is None else {"outer_bags": bags})).fit(train, wanted)
    if path is not None:
        joblib.dump((ebm, train, test), path)
    return ebm, train, test


def worst_by_toulbar2(ground):
    """Return the CPU seconds that toulbar2 takes for the worst case of all features, and its fall; None without it."""
    try:
        import pytoulbar2
    except ImportError:
        return None
    graph, unit = ground.graph, math.ldexp(1.0, -ground.landscape.bits)
    net, offset = pytoulbar2.CFN(1e7, resolution=9, verbose=-1), 0.0
    sizes = np.diff(graph.first)
    for i, size in enumerate(sizes):
        net.AddVariable(f"x{i}", range(int(size)))
    for i in range(len(sizes)):
        own = graph.own[graph.first[i] : graph.first[i + 1]] * unit
        offset += own.max()
        net.AddFunction([i], list(own.max() - own))
    for e, (i, j) in enumerate(graph.ends.tolist()):
        both = graph.both[graph.start[e] : graph.start[e + 1]] * unit
        offset += both.max()
        net.AddFunction([i, j], list(both.max() - both))
    seconds, found = clock(lambda: net.Solve(showSolutions=0, timeLimit=20))
    return seconds, offset - found[1]


def worst_by_us(ground):
    """Return the CPU seconds of our worst case of all features, and its fall."""
    everything = range(len(ground.row))
    seconds, found = clock(lambda: [sight(ground, everything, len(everything), -1, FAR) for _ in range(5)])
    return max(seconds, 1e-4) / 5, math.ldexp(found[0].sum, -ground.landscape.bits)


def written(model):
    """Return the bytes of a model's file."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.safetensors")
        return (Path(folder) / "model.safetensors").read_bytes()


def certified(why, content):
    """Return bytes of a certificate, CPU seconds to make it and to check it; nothing where there is none."""
    try:
        making, certificate = clock(why.certificate)
    except suffice.CertificateError:
        return []
    text = certificate.text.encode()
    checking, _ = clock(lambda: suffice_check.check(content, text))  # raises if it is not accepted
    return [(len(text), making, checking)]


def of_real_data(name, folder, bags, models, most, count, radii, certificates):
    """Print what explaining rows of a default EBM takes."""
    ebm, train, test = trained(name, folder, bags, models, most)
    seconds, explainer = clock(lambda: suffice.Explainer(suffice.from_model(ebm, reference=train)))
    model, table = explainer.model, test.iloc[:count]
    local = [clock(lambda k=k: ebm.explain_local(table.iloc[k : k + 1], None))[0] for k in range(10)]
    print(f"{name}: {len(model.features)} features, {len(model.pairs)} pairs, read in {seconds:.1f} s")
    measure(explainer, table, radii, local, certificates)


def measure(explainer, table, radii, local, certificates=10):
    """Print what explaining the rows of a table takes; `local`: seconds of `explain_local`, if known."""
    model, rows = explainer.model, [table.iloc[k] for k in range(len(table))]
    many = table.iloc[np.arange(max(BATCH, len(table))) % len(table)]
    ours = {"claim": suffice.Within("1/2")} if model.task == "regression" else {}
    bare = suffice.Explainer(
        suffice.AdditiveModel(
            [term.shape for term in model.mains], model.intercept, model.task, model.features, model.classes, model.ties
        )
    )
    content = written(model)
    for radius in radii:
        asked = {"radius": radius, **ours}
        explainer.explain(rows[0], **asked)
        times, sizes, proven, wrong, silent, ratios, proofs = [], [], 0, 0, 0, [], []
        for row in rows:
            seconds, why = clock(lambda row=row, asked=asked: explainer.explain(row, **asked))
            times.append(seconds)
            sizes.append(why.size)
            proven += why.status is suffice.Status.PROVEN
            if model.task != "regression" and bare.predict(row) != why.prediction:
                silent += 1
            else:
                fixed = bare.explain(row, **asked).features
                wrong += not explainer.is_sufficient(row, fixed, **asked)
            if len(proofs) < certificates:
                proofs += certified(why, content)
            ground = why.case.constraints[0].ground
            theirs = worst_by_toulbar2(ground)
            if theirs is not None:
                seconds, fall = worst_by_us(ground)
                assert abs(fall - theirs[1]) < 1e-5, "the two differ"
                ratios.append(theirs[0] / seconds)
        explainer.explain_batch(table, threads=1, **asked)
        batch_seconds, found = clock(lambda many=many, asked=asked: explainer.explain_batch(many, threads=1, **asked))
        told = f"; explain_local {np.median(local) / np.median(times):.1f} times as long" if local else ""
        told += f"; toulbar2 {np.median(ratios):.1f} times as long (each of {len(ratios)} equal)" if ratios else ""
        if proofs:
            bits, making, checking = (np.array(part) for part in zip(*proofs, strict=True))
            told += (
                f"; {len(proofs)} certificates of {np.median(bits) / 1e3:.1f} KB (most {bits.max() / 1e3:.1f}), made in"
                f" {1e3 * np.median(making):.0f} ms and checked in {1e3 * np.median(checking):.0f} ms"
            )
        print(
            f"  radius {radius:>4}: {spread(times)}; size {np.median(sizes):g} (most {max(sizes)}); "
            f"{proven} of {len(rows)} proven; batch {len(many) / max(batch_seconds, 1e-4):.0f} rows/s, "
            f"{found.was_exact.mean():.0%} exact; without pairs "
            f"{wrong} of {len(rows) - silent} do not suffice, {silent} predict another class{told}",
            flush=True,
        )


# --- random tables ----------------------------------------------------------------------------------------------------


def lowest(mains, tables):
    """Return a low score of random tables: from many starts, one feature after the other goes where it is lowest."""
    rng = np.random.default_rng(0)
    around = [[] for _ in mains]
    for (i, j), table in tables.items():
        around[i].append((j, table))
        around[j].append((i, table.T))
    best = np.inf
    for _ in range(50):
        labels, before = rng.integers(LABELS, size=len(mains)), np.inf
        while True:
            for i, main in enumerate(mains):
                labels[i] = np.argmin(main + sum(table[:, labels[j]] for j, table in around[i]))
            score = sum(main[a] for main, a in zip(mains, labels, strict=True))
            score += sum(table[labels[i], labels[j]] for (i, j), table in tables.items())
            if score >= before:
                break
            before = score
        best = min(best, before)
    return best


def random_model(count, strength, seed):
    """Return an explainer of random tables, and a row whose score is a third of what all features can do together."""
    rng = np.random.default_rng(seed)
    names, values = [f"f{i}" for i in range(count)], [f"c{a}" for a in range(LABELS)]
    every = list(combinations(range(count), 2))
    chosen = rng.choice(len(every), size=min(len(every), count * DEGREE // 2), replace=False)
    mains = rng.normal(size=(count, LABELS))
    tables = {every[k]: strength * rng.normal(size=(LABELS, LABELS)) for k in sorted(chosen.tolist())}
    score = mains[:, 0].sum() + sum(table[0, 0] for table in tables.values())
    intercept = -score + PART * (score - lowest(mains, tables))
    bins = suffice.Bins(keys=values)
    model = suffice.AdditiveModel(
        [suffice.Table(dict(zip(values, main.tolist(), strict=True))) for main in mains],
        intercept,
        "binary",
        [suffice.Feature(name, suffice.Domain.categories(*values)) for name in names],
        pairs={(names[i], names[j]): suffice.PairSteps(bins, bins, table.tolist()) for (i, j), table in tables.items()},
    )
    return suffice.Explainer(model), [values[0]] * count


def stress(sizes, instances, seconds, strengths):
    """Print what is proven of random tables within a time."""
    print(f"random tables, {LABELS} labels, degree {DEGREE}, at most {seconds:g} s each, {instances} of each kind:")
    for count in sizes:
        for strength in strengths:
            times, gaps, kept, proven = [], [], [], 0
            for seed in range(instances):
                explainer, row = random_model(count, strength, seed)
                spent, why = clock(
                    lambda explainer=explainer, row=row: explainer.explain(
                        row, radius="inf", max_seconds=seconds, max_nodes=10**9
                    )
                )
                if why.status is suffice.Status.PROVEN:
                    proven += 1
                    times.append(spent)
                else:
                    gaps.append(why.size - why.lower_bound)
                kept.append(why.size)
            said = f"{np.median(times):.2f} s of CPU (at most {max(times):.2f})" if times else "-"
            left = f"{np.median(gaps):g} (at most {max(gaps)})" if gaps else "-"
            print(
                f"  {count:3d} features, pairs x{strength:g}: {proven} of {instances} proven in {said}; size "
                f"{np.median(kept):g}; size less bound in the others {left}",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with CSV files")
    parser.add_argument("--sets", nargs="*", choices=list(LOADERS), default=list(LOADERS))
    parser.add_argument("--models", help="folder to keep fitted EBMs in")
    parser.add_argument("--most", type=int, default=25_000, help="rows of a table, drawn from all")
    parser.add_argument("--bags", type=int, help="outer bags of the EBMs (default: interpret's)")
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--proofs", type=int, default=10, help="certificates at each radius")
    parser.add_argument("--radii", nargs="*", default=["0.1", "0.5", "1", "inf"])
    parser.add_argument("--stress", type=int, nargs="*", default=[30, 60, 100])
    parser.add_argument("--instances", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--strengths", type=float, nargs="*", default=[0.3, 1.0], help="of pairs, in random tables")
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, {platform.machine()}, one core, CPU time")
    for name in arguments.sets:
        of_real_data(
            name,
            arguments.data,
            arguments.bags,
            arguments.models,
            arguments.most,
            arguments.rows,
            arguments.radii,
            arguments.proofs,
        )
    if arguments.stress:
        stress(arguments.stress, arguments.instances, arguments.seconds, arguments.strengths)


if __name__ == "__main__":
    main()

"""Which normalisation and radius lead to sizes like the published ones on Breast Cancer and CREDIT?

    python benchmarks/paper/normalisation.py --data FOLDER [--store FOLDER] [--seeds 1] [--epochs 100,1000] [--rows 50]

The paper perturbs "the normalized input" and does not say how it is normalised, nor how its networks were trained. Here
plain PyTorch networks 64-64-32, one for each feature, are trained with Adam on the binary cross-entropy, without weight
decay, dropout or early stopping, on 80 % of the rows: inputs as the file has them, scaled to [0, 1] or to [-1, 1] by
the training rows, or standardised; CREDIT with the categories of its file in alphabetical order and in UCI's. Sizes
are the exact smallest ones (`Explainer.explain`) over the first rows of the test set whose explanation is neither empty
nor everything, in the unit that the network sees.

It prints three tables: the sizes, and of how many rows the published shares and means can be. Three steps, each of
which keeps what it has made in the folder: `prepare` reads the data, `train` needs PyTorch alone (and takes a GPU if
there is one), `sizes` prints. FOLDER holds german_credit.csv.gz and german_credit_codes.json (the categories of each
column in the order of UCI's codes).
"""

from __future__ import annotations

import argparse
import json
import statistics
from itertools import pairwise, product
from pathlib import Path

import numpy as np

BATCH = 128
HIDDEN = (64, 64, 32)
EPSILONS = (0.01, 0.1, 0.2, 0.5)
SCALINGS = ("raw", "[0, 1]", "[-1, 1]", "standard")
TITLES = {"breast_cancer": "Breast Cancer", "alphabet": "CREDIT, alphabetical", "uci": "CREDIT, UCI's order"}
KEY = ("data", "seed", "epochs", "scaling", "rows")  # of a record
PUBLISHED = {  # mean, deviation: Tables 1 to 3
    "Breast Cancer, ε = 0.01": (4.00, 4.24),
    "Breast Cancer, ε = 0.1": (4.45, 3.98),
    "Breast Cancer, ε = 0.2": (6.29, 3.50),
    "Breast Cancer, ε = 0.5": (9.76, 2.75),
    "CREDIT, ε = 0.1": (1.79, 1.07),
    "CREDIT, ε = 0.2": (2.80, 2.07),
    "CREDIT, ε = 0.5": (3.76, 2.62),
    "FICO HELOC, ε = 0.1": (2.77, 1.62),
    "FICO HELOC, ε = 0.2": (3.88, 1.58),
    "FICO HELOC, ε = 0.5": (5.59, 1.80),
    "Breast Cancer, lexicographic": (16.58, 5.44),
    "Breast Cancer, sensitivity": (16.27, 5.57),
    "CREDIT, lexicographic": (12.42, 6.45),
    "CREDIT, sensitivity": (3.82, 1.84),
    "FICO HELOC, lexicographic": (15.60, 7.53),
    "FICO HELOC, sensitivity": (9.45, 5.90),
    "CREDIT, sampling": (2.67, 3.10),
    "FICO HELOC, sampling": (3.04, 3.05),
}
SHARES = {"accuracy on Breast Cancer": 97.37, "accuracy on CREDIT": 94.92, "accuracy on FICO HELOC": 69.02}
SHARES |= {"sufficient by sampling, CREDIT": 31.37, "sufficient by sampling, FICO HELOC": 25.49}


# --- prepare ----------------------------------------------------------------------------------------------------------


def prepare(options):
    """Write the tables of numbers, split into training and test rows."""
    from sklearn.model_selection import train_test_split

    from suffice import datasets

    file = Path(options.store) / "inputs.npz"
    if file.exists():
        return
    tables = {}
    for name in TITLES:
        is_credit = name != "breast_cancer"
        data = datasets.load_german_credit(options.data) if is_credit else datasets.load_breast_cancer()
        codes = json.loads((Path(options.data) / "german_credit_codes.json").read_text()) if name == "uci" else {}
        frame = data.frame.copy()
        for column in frame.columns[frame.dtypes == "category"]:
            order = [one["label"] for one in codes[column]] if codes else list(frame[column].cat.categories)
            frame[column] = frame[column].map({label: place for place, label in enumerate(order)}).astype(float)
        assert not frame.isna().any().any()
        target = (data.target == data.classes[1]).to_numpy(int)
        split = train_test_split(frame.to_numpy(float), target, test_size=0.2, random_state=0, stratify=target)
        tables |= dict(zip((f"{name}/{k}" for k in ("train", "test", "y_train", "y_test")), split, strict=True))
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(file, **tables)


def scaled(train, table, scaling):
    """Return a table as the networks see it."""
    low, high = train.min(axis=0), train.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    if scaling == "raw":
        return table
    if scaling == "standard":
        deviation = train.std(axis=0)
        return (table - train.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    unit = (table - low) / spread
    return unit if scaling == "[0, 1]" else 2 * unit - 1


# --- train ------------------------------------------------------------------------------------------------------------


def train(options):
    """Train a model for each data set, scaling and seed, and write its weights after some epochs."""
    inputs = np.load(Path(options.store) / "inputs.npz")
    for seed, name, scaling in product(range(options.seeds), options.sets, options.scalings):
        files = {epoch: _weights(options, name, scaling, seed, epoch) for epoch in options.epochs}
        if not all(file.exists() for file in files.values()):
            table = inputs[f"{name}/train"]
            for epoch, arrays in _fit(scaled(table, table, scaling), inputs[f"{name}/y_train"], seed, options.epochs):
                np.savez(files[epoch], *arrays)
                print(f"{name}, {scaling}, seed {seed}: {epoch} epochs", flush=True)


def _weights(options, name, scaling, seed, epoch):
    return Path(options.store) / f"weights-{name}-{SCALINGS.index(scaling)}-{seed}-{epoch}.npz"


def _fit(table, target, seed, epochs):
    """Yield the epoch and the weights; the networks of all features are stacked: (features, units out, units in)."""
    import torch

    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    generator = torch.Generator().manual_seed(seed)
    rows, features = table.shape
    parameters = []
    for inputs, units in pairwise([1, *HIDDEN, 1]):  # PyTorch's own start: uniform, by the number of inputs
        for shape in ((features, units, inputs), (features, units, 1)):
            drawn = (2 * torch.rand(shape, generator=generator) - 1) / inputs**0.5
            parameters.append(drawn.to(device).requires_grad_())
    bias = torch.zeros(1, device=device, requires_grad=True)
    x = torch.tensor(table.T[:, None, :], dtype=torch.float32, device=device)
    y = torch.tensor(target, dtype=torch.float32, device=device)
    optimiser = torch.optim.Adam([*parameters, bias], lr=1e-3)
    for epoch in range(1, max(epochs) + 1):
        for batch in torch.randperm(rows, generator=generator).to(device).split(BATCH):
            h = x[..., batch]
            for layer in range(0, len(parameters), 2):
                h = torch.baddbmm(parameters[layer + 1], parameters[layer], h)
                h = h.relu() if layer < len(parameters) - 2 else h
            scores = h[:, 0].sum(dim=0) + bias
            optimiser.zero_grad(set_to_none=True)
            torch.nn.functional.binary_cross_entropy_with_logits(scores, y[batch]).backward()
            optimiser.step()
        if epoch in epochs:
            yield epoch, [one.detach().cpu().numpy() for one in (*parameters, bias)]


# --- sizes ------------------------------------------------------------------------------------------------------------


def model_of(arrays):
    """Return a trained model as an exact additive model of its scaled inputs."""
    import suffice

    *parameters, bias = arrays
    shapes = []
    for feature in range(len(parameters[0])):
        weights = [matrix[feature] for matrix in parameters[::2]]
        biases = [offset[feature][:, 0] for offset in parameters[1::2]]
        shapes.append(suffice.ReluNetwork(weights, biases))
    return suffice.AdditiveModel(shapes, float(bias[0]))


def measure(inputs, known, arrays, rows):
    """Return what is known of one model: accuracies, and for each radius the rows tried and the sizes."""
    import suffice

    table, name = inputs[f"{known['data']}/train"], known["data"]
    explainer = suffice.Explainer(model_of(arrays))
    views = {part: scaled(table, inputs[f"{name}/{part}"], known["scaling"]) for part in ("train", "test")}
    found = {part: np.array([explainer.predict(row) for row in views[part]]) for part in views}
    right = {part: 100 * float(np.mean(found[part] == inputs[f"{name}/y_{part}"])) for part in views}
    order, by_radius = np.random.default_rng(0).permutation(len(views["test"])), {}
    for epsilon in EPSILONS:
        sizes, tried = [], 0
        for row in views["test"][order]:
            if len(sizes) == rows:
                break
            tried += 1
            size = explainer.explain(row, epsilon, unit="raw").size
            sizes += [size] if 0 < size < len(row) else []
        by_radius[str(epsilon)] = [tried, sizes]
    return known | right | {"sizes": by_radius}


def sizes(options):
    """Measure every model once, and print the tables, of all that was measured with so many rows."""
    file = Path(options.store) / "sizes.jsonl"
    inputs = np.load(Path(options.store) / "inputs.npz")
    lines = file.read_text().splitlines() if file.exists() else []
    records = {tuple(one[key] for key in KEY): one for one in map(json.loads, lines)}
    for key in product(options.sets, range(options.seeds), options.epochs, options.scalings, [options.rows]):
        if key not in records:
            known = dict(zip(KEY, key, strict=True))
            place = (known[name] for name in ("data", "scaling", "seed", "epochs"))
            with np.load(_weights(options, *place)) as loaded:
                records[key] = measure(inputs, known, [loaded[name] for name in loaded.files], options.rows)
            with file.open("a") as written:
                written.write(json.dumps(records[key]) + "\n")
    print(size_table([one for one in records.values() if one["rows"] == options.rows]))
    print(share_table())
    print(mean_table())


def size_table(records):
    """Return the sizes by data, scaling and epochs, over all seeds, as Markdown."""
    header = ["data", "inputs", "epochs", "training / test accuracy [%]", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)]
    rows = []
    epochs = sorted({one["epochs"] for one in records})
    for name, scaling, epoch in product(TITLES, SCALINGS, epochs):
        group = [one for one in records if (one["data"], one["scaling"], one["epochs"]) == (name, scaling, epoch)]
        if group:
            accuracy = " / ".join(f"{statistics.mean(one[part] for one in group):.1f}" for part in ("train", "test"))
            rows.append([TITLES[name], scaling, epoch, accuracy, *(_cell(group, epsilon) for epsilon in EPSILONS)])
    return _markdown(header, rows)


def _cell(group, epsilon):
    """Return the mean size of each seed, lowest and highest, and how many of the rows tried are worth explaining."""
    found = [one["sizes"][str(epsilon)] for one in group]
    means = sorted({f"{statistics.mean(each):.2f}" for _, each in found if each}, key=float)
    worth, tried = sum(len(each) for _, each in found), sum(tried for tried, _ in found)
    return f"{' to '.join(dict.fromkeys((means[0], means[-1]))) if means else '-'} ({worth} of {tried})"


def share_table():
    """Return which numbers of rows a published percentage can be a share of."""
    rows = []
    for what, share in SHARES.items():
        counts = [n for n in range(1, 301) if _is_share(share, n)]
        large = [n for n in (50, 51, 114, 200, 250, 300, 700, 800, 1000, 2092) if _is_share(share, n)]
        rows.append([what, f"{share:.2f}", ", ".join(map(str, counts[:6])), ", ".join(map(str, large)) or "none"])
    return _markdown(
        ["published", "%", "fewest rows that it can be a share of", "of 50, 51, 114, 200, ..., 2092"], rows
    )


def _is_share(share, count):
    return any(f"{100 * right / count:.2f}" == f"{share:.2f}" for right in _near(share / 100, count))


def _near(mean, count):
    return range(max(int(mean * count) - 1, 0), int(mean * count) + 3)


def mean_table():
    """Return which numbers of rows a published mean of sizes can come from, and the fewest with its deviation too."""
    fewest, rows = _fewest_rows(), []
    for what, (mean, spread) in PUBLISHED.items():
        answers = ["yes" if _is_mean(mean, count) else "no" for count in (50, 51)]
        rows.append([what, f"{mean:.2f} ± {spread:.2f}", *answers, fewest[what]])
    return _markdown(
        ["published", "size", "mean of 50 sizes?", "of 51?", "fewest rows of that mean and deviation"], rows
    )


def _is_mean(mean, count):
    return any(f"{total / count:.2f}" == f"{mean:.2f}" for total in _near(mean, count))


def _fewest_rows(largest=29, most=24):
    """Return for each published mean and deviation the fewest sizes from 1 to 29 that have them, by trying all sums."""
    found = {}
    reach = np.zeros((most * largest + 1, most * largest**2 + 1), dtype=bool)  # by sum, and by sum of squares
    reach[0, 0] = True
    for count in range(1, most + 1):
        following = np.zeros_like(reach)
        for size in range(1, largest + 1):
            following[size:, size**2 :] |= reach[:-size, : -(size**2)]
        reach = following
        for what, (mean, spread) in PUBLISHED.items():
            totals = [total for total in _near(mean, count) if f"{total / count:.2f}" == f"{mean:.2f}"]
            if what not in found and any(_has_spread(reach[total], total, count, spread) for total in totals):
                found[what] = count
    return {what: found.get(what, f"more than {most}") for what in PUBLISHED}


def _has_spread(squares, total, count, spread):
    """Whether some sum of squares gives the deviation, of a sample or of all."""
    variation = np.flatnonzero(squares) - total**2 / count
    return any(
        f"{value:.2f}" == f"{spread:.2f}"
        for divisor in {count, max(count - 1, 1)}
        for value in np.sqrt(np.maximum(variation, 0) / divisor)
        if abs(value - spread) < 0.01
    )


def _markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("steps", nargs="*", default=["prepare", "train", "sizes"], help="prepare, train, sizes")
    parser.add_argument("--data", default=None, help="folder with the CSV files")
    parser.add_argument("--store", default=".cache/normalisation")
    parser.add_argument("--sets", default=",".join(TITLES))
    parser.add_argument("--scalings", default=";".join(SCALINGS))
    parser.add_argument("--epochs", default="100,1000")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=int, default=50)
    options = parser.parse_args()
    options.sets, options.scalings = options.sets.split(","), options.scalings.split(";")
    options.epochs = tuple(map(int, options.epochs.split(",")))
    for step in options.steps:
        {"prepare": prepare, "train": train, "sizes": sizes}[step](options)


if __name__ == "__main__":
    main()

"""Train the model that ships inside the package: a NAM on scikit-learn's Breast Cancer data.

    .venv/bin/python scripts/train_demo_model.py

Writes src/suffice/data/breast_cancer.safetensors (the file that ships was trained by version 0.1.0, and training has
changed since: this writes another) and the rows that `suffice demo` explains, and prints the model's
accuracy on the rows it was not trained on.
"""

from __future__ import annotations

import csv
from pathlib import Path

import torch
from sklearn.model_selection import train_test_split

from suffice.datasets import load_breast_cancer
from suffice.model.reading import file_hash
from suffice.nam import NAMClassifier

DATA = Path(__file__).parent.parent / "src" / "suffice" / "data"


def main() -> None:
    """Train, save, and choose three patients from the test rows."""
    torch.set_num_threads(1)
    data = load_breast_cancer()
    parts = train_test_split(data.frame, data.target, test_size=0.2, random_state=0, stratify=data.target)
    train, test, train_target, test_target = parts
    nam = NAMClassifier(
        (64, 64, 32),
        patience=15,
        output_penalty=0.001,
        explanation_radius=0.5,
        explanation_weight=0.0006,
        corrections=False,
        random_state=0,
    )
    nam.fit(train, train_target)
    nam.to_additive().save(DATA / "breast_cancer.safetensors")
    print(f"test accuracy {nam.score(test, test_target):.4f} on {len(test)} rows, trained in {nam.fit_seconds_:.1f} s")
    print(f"SHA-256 {file_hash(DATA / 'breast_cancer.safetensors')}")
    scores = nam.decision_function(test)
    # A clear case of either class, and the closest call.
    chosen = [
        int(scores.argsort()[len(scores) // 4]),
        int(scores.argsort()[3 * len(scores) // 4]),
        int(abs(scores).argmin()),
    ]
    with (DATA / "breast_cancer_rows.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["patient", *data.frame.columns, "diagnosis"])
        for k in chosen:
            writer.writerow([int(test.index[k]), *test.iloc[k].tolist(), test_target.iloc[k]])


if __name__ == "__main__":
    main()

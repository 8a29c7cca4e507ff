"""Questions about whole models and tables: how long they take, and what they say of two public tables.

    python benchmarks/decisions.py [--data FOLDER] [--sets german_credit adult] [--train 5000]

An EBM without interactions (one bag, 300 rounds, seed 0) is trained on a sample of each table and asked of all of its
rows: monotonicity of each feature with numbers, with the perverse rows; for which share protected features never
matter, by predicted class; the share of stable rows over radii; the sizes of reasons. Times are of the processor.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections import Counter

from interpret.glassbox import ExplainableBoostingClassifier

from suffice import AtLeast, Explainer, from_model
from suffice.datasets import load_adult, load_german_credit

SETS = {
    "german_credit": (load_german_credit, [["age"], ["personal_status"], ["foreign_worker"]]),
    "adult": (load_adult, [["sex"], ["race"], ["sex", "race", "native-country"]]),
}
IMMUTABLE = {
    "german_credit": ["age", "personal_status", "foreign_worker"],
    "adult": ["age", "sex", "race", "native-country"],
}
RADII = [0.05, 0.1, 0.25, 0.5, 1]


def timed(what, ask):
    begin = time.process_time()
    found = ask()
    print(f"  [{time.process_time() - begin:.3f} s] {what}")
    return found


def main():
    """Print what is found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with the tables, as suffice.datasets names them")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--train", type=int, default=5000, help="how many rows to train on")
    given = parser.parse_args()
    print(platform.platform(), platform.processor())
    for name in given.sets:
        measure(name, given.data, given.train)


def measure(name, folder, train):
    """Print what is found of one table."""
    load, groups = SETS[name]
    data = load(folder)
    frame = data.frame
    part = frame.sample(min(train, len(frame)), random_state=0)
    model = ExplainableBoostingClassifier(interactions=0, outer_bags=1, max_rounds=300, random_state=0, n_jobs=1)
    explainer = Explainer(from_model(model.fit(part, data.target[part.index]), part))
    additive = explainer.model
    print(f"\n{name}: {len(frame)} rows, {len(additive.features)} features, classes {additive.classes}")
    explainer.unaffected(frame.head(10), [additive.names[0]])  # compiles the kernel
    held = [feature.name for feature in additive.features if not feature.domain.spans]
    numeric = [feature.name for feature in additive.features if feature.domain.spans]
    for feature in numeric:
        for direction in ("up", "down"):
            found = timed(
                f"monotone {feature} {direction}",
                lambda f=feature, d=direction: explainer.monotone(f, d, table=frame),
            )
            print(f"      {'proven' if found else 'refuted'}; perverse rows {len(found.perverse)} of {found.rows}")
    worst = timed("check: the score is at least -100 everywhere", lambda: explainer.check({}, claim=AtLeast(-100)))
    print(f"      {'proven' if worst else 'refuted'}")
    for group in groups:
        found = timed(f"unaffected by {', '.join(group)}", lambda g=group: explainer.unaffected(frame, g))
        each = ", ".join(f"{one}: {share}" for one, share in found.by_class.items())
        print(f"      {found.share}; {each}; largest effect {float(found.effect):.3f}")
    found = timed("stability", lambda: explainer.stability(frame, RADII, labels=data.target, immutable=held))
    for radius, share, right in zip(found.radii, found.shares, found.right, strict=True):
        print(f"      {radius}: stable {share}, and right {right}")
    for outcome in additive.classes:
        some = timed(
            f"reasons of all {outcome}", lambda o=outcome: explainer.reasons_batch(frame, o, immutable=IMMUTABLE[name])
        )
        sizes = sorted(Counter(some.sizes.tolist()).items())
        print(f"      {len(some.rows)} rows, {some.exact} exactly; sizes {dict(sizes)}")
    few = some.rows[:50].tolist()
    timed("reasons of 50 rows one by one", lambda: [explainer.reasons(frame.iloc[k], some.reference.row) for k in few])
    again = timed(
        "stability, compiled before", lambda: explainer.stability(frame, RADII, labels=data.target, immutable=held)
    )
    assert again.shares == found.shares


if __name__ == "__main__":
    main()

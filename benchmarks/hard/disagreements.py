"""Verdicts of verifiers that exact arithmetic contradicts: each case built anew, asked, and judged.

    python benchmarks/hard/disagreements.py [--output PAGE.md] [--components 10] [--timeout 20]

Two parts. Networks made to be hard: sums that floats lose, tiny weights, a spike between the points of a grid. And
components of the trained model that ships with suffice, asked at thresholds ever closer to their exact minimum.
Verifiers that are not installed are left out, and the page says so.
"""

from __future__ import annotations

import argparse
import datetime
import warnings
from collections import Counter
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import networks

import suffice
from suffice.numbers.exact import nearest_float, rational
from suffice.paper import (
    BisectionVerifier,
    ExactVerifier,
    GridSampling,
    JointSampling,
    Problem,
    Verdict,
    VerifierError,
    disagreements,
)
from suffice.paper.verifiers import lirpa, marabou

MAKERS = {
    "bisection (float64, outward rounding)": BisectionVerifier,
    "auto_LiRPA, float32": lirpa.LirpaVerifier,
    "auto_LiRPA, float64": lambda: lirpa.LirpaVerifier("float64"),
    "α,β-CROWN, float32": lirpa.AbcrownVerifier,
    "Marabou": marabou.MarabouVerifier,
    "Marabou, without our guards": lambda: marabou.MarabouVerifier(tiny=0.0, self_test=False),
    "sampling, evenly spaced per feature": GridSampling,
    "sampling, joint": JointSampling,
}
MARGINS = (1e-2, 1e-4, 1e-5, 1e-6, 1e-7)


def single(network, intercept, radius):
    """Return the query "is intercept + network(x) ≥ 0 for |x| ≤ radius?"."""
    model = suffice.AdditiveModel([network], 0, "regression")
    instance = Problem(model).instance([0], radius=radius, claim=suffice.AtLeast(-(10**12)))
    return instance.component_at_least(0, -rational(intercept))


def constructed():
    """Return the hard networks by name."""
    cases = {
        "x lost in x + 2^24: 1/4 - max(x, 0) ≥ 0 for x in [-0.4, 0.4]": single(
            networks.lost_in_rounding(24), Fraction(1, 4), Fraction(2, 5)
        ),
        "x lost in x + 2^53: 1/4 - max(x, 0) ≥ 0 for x in [-0.4, 0.4]": single(
            networks.lost_in_rounding(53), Fraction(1, 4), Fraction(2, 5)
        ),
        "weights 1 + 2^-30 and 1: 0.0001 - x / 1024 ≥ 0 for x in [-0.9, 0.9]": single(
            networks.last_bits(30), Fraction(1, 10**4), Fraction(9, 10)
        ),
        "a spike of depth 2 between two points of a 1,000-point grid": single(networks.hidden_spike(2.0), 1, 1),
    }
    model = suffice.AdditiveModel(networks.near_equal(30, gap=0.0), 29)
    cases["30 features, each able to lower a score of 29 by 1"] = Problem(model).instance([0] * 30, radius=1).sides
    for seed in range(4):
        network = networks.tiny_weights(seed)
        probe = ExactVerifier().ask(single(network, -(10**6), 1), 60.0)
        above = Fraction(int(probe.value.p), int(probe.value.q)) + 10**6 + Fraction(1, 100)
        cases[f"weights of 1e-8 among others (seed {seed}), 0.01 below the claim"] = single(network, -above, 1)
    return cases


def judge(verifier, query, seconds):
    """Return the verdict and whether it is wrong, in words."""
    verifier.asked.clear()
    answer = verifier.ask(query, seconds)
    wrong = disagreements(verifier.asked, ExactVerifier(), 60.0)
    if wrong and wrong[0].verdict is Verdict.HOLDS:
        return "**holds, wrong**"
    if wrong:
        return "**counterexample that breaks nothing**"
    return answer.verdict.value


def trained(count):
    """Return components of the shipped model: the query at a threshold, for rows at the middle of the training data."""
    model = suffice.load(Path(str(files("suffice"))) / "data" / "breast_cancer.safetensors")
    row = [feature.center for feature in model.features]
    instance = Problem(model).instance(row, radius=0.5, unit="model")
    chosen = []
    for feature in range(count):
        low = ExactVerifier().ask(instance.component_at_least(feature, rational(10**6)), 60.0)
        chosen.append((instance, feature, low.value + 10**6))
    return chosen


def tally(verifier, components, margin, is_true, seconds):
    """Return how often a verifier is right, does not know, and is wrong, at thresholds so far from the minimum."""
    counts = Counter()
    for instance, feature, minimum in components:
        threshold = minimum - rational(margin) if is_true else minimum + rational(margin)
        verdict = judge(verifier, instance.component_at_least(feature, threshold), seconds)
        counts["wrong" if "*" in verdict else "unknown" if verdict == "unknown" else "right"] += 1
    return f"{counts['right']} / {counts['unknown']} / {counts['wrong']}"


def page(options):
    verifiers, missing = {}, []
    for name, make in MAKERS.items():
        try:
            verifiers[name] = make()
        except VerifierError:
            missing.append(name)
    lines = [
        "# Where verifiers disagree with exact arithmetic",
        "",
        f"Written by `python benchmarks/hard/disagreements.py --components {options.components}` on "
        f"{datetime.date.today():%Y-%m-%d}. Not installed: {', '.join(missing) or 'none'}. "
        "A verdict is wrong if the exact verifier refutes it: it says that a claim holds although a point breaks it, "
        "or gives a point that breaks nothing. Such points are evaluated exactly and then count as unknown.",
        "",
        "What this means: Marabou cannot be trusted with weights between 1e-10 and 1e-6 without guards. Ours set such "
        "weights to 0, charge for it, and test Marabou on each network before an `unsat` is believed. Where weights "
        "need more bits, a verifier in float32 sees a different network. No verdict in floating point means anything "
        "below its rounding error; ours then says unknown. Sampling only reports what it has seen.",
        "",
        "## Networks made to be hard",
        "",
        "| query | exact lowest value | " + " | ".join(verifiers) + " |",
        "|" + " --- |" * (len(verifiers) + 2),
    ]
    for name, query in constructed().items():
        exact = ExactVerifier().ask(query, 60.0)
        lowest = f"{nearest_float(exact.value):.6g}" if exact.value is not None else "≥ 0"
        cells = [_tried(verifier, query, options.timeout) for verifier in verifiers.values()]
        lines.append(f"| {name} | {lowest} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    components = trained(options.components)
    lines += [
        "",
        "## Trained components, close to their minimum",
        "",
        f"The first {options.components} components of the model that ships with suffice, radius 0.5, threshold below "
        "the exact minimum (the claim holds) or above it (it does not). Each cell: right / unknown / wrong.",
        "",
        "| margin | claim | " + " | ".join(verifiers) + " |",
        "|" + " --- |" * (len(verifiers) + 2),
    ]
    for margin in MARGINS:
        for is_true in (True, False):
            cells = [tally(v, components, margin, is_true, options.timeout) for v in verifiers.values()]
            lines.append(f"| {margin:g} | {'true' if is_true else 'false'} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    lines += [
        "",
        "Wrong verdicts met while explaining rows are listed on the pages of [reproduction](reproduction/README.md) "
        "that compare verifiers, with the command that reproduces them.",
    ]
    return "\n".join(lines) + "\n"


def _tried(verifier, query, seconds):
    try:
        return judge(verifier, query, seconds)
    except VerifierError as error:
        return f"refuses: {str(error)[:60]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--timeout", type=float, default=20.0)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # auto_LiRPA still uses torch.jit
        text = page(options)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()

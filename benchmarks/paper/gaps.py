"""Why α,β-CROWN settles joint queries of one model and not of another: how far its first bounds are from the minimum.

    python benchmarks/paper/gaps.py --data FOLDER

For each data set and each training: the joint query about the smallest sufficient prefix, which the method has to ask;
how far the score's exact lowest value is from 0 there, and how far the bounds of CROWN and of α-CROWN (20 steps) lie
below that value. A query whose bound is off by less than its distance is settled without branching; any other needs
branch and bound over all free networks at once. Needs auto_LiRPA 0.7 or newer, from its source.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings

import setting

from suffice.numbers.exact import ZERO, nearest_float
from suffice.paper import ExactVerifier, cardinally_minimal
from suffice.paper.verifiers import lirpa
from suffice.paper.verifiers.exact import lowest_side

STEPS = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--store", default=".cache/paper")
    parser.add_argument("--sets", default=",".join(setting.DEFAULT))
    parser.add_argument("--rows", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| data | training | rows | quality | distance | CROWN is off by | α-CROWN is off by | settled | CPU [s] |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in options.sets.split(","):
        for training in setting.TRAININGS:
            where = setting.load(name, options.data, options.store, setting.HIDDEN, training)
            rows, _ = where.chosen(setting.EPSILON[name], options.rows)
            found = [gaps(where.instance(row, setting.EPSILON[name])) for row in rows]
            distance, crown, alpha, seconds = (statistics.median(column) for column in zip(*found, strict=True))
            settled = sum(one[2] < one[0] for one in found)
            shown = f"{distance:.2g} | {crown:.2g} | {alpha:.2g} | {settled} of {len(found)} | {seconds:.1f}"
            quality = where.model.quality
            print(f"| {setting.TITLES[name]} | {training} | {len(found)} | {quality} | {shown} |", flush=True)


def gaps(instance):
    """Return the distance of the query's exact lowest value from 0, what two bounds are off by, and CPU seconds."""
    import torch
    from auto_LiRPA import BoundedModule, BoundedTensor, PerturbationLpNorm

    torch.set_num_threads(1)
    result, _ = cardinally_minimal(instance, ExactVerifier())
    (query,) = instance.sufficient(result.fixed)
    lowest = lowest_side(query)
    module = lirpa.joint_module(query, torch.float32)
    ends = [torch.tensor([[nearest_float(part.scaled[k]) for part in query.parts]]) for k in (0, 1)]
    box = BoundedTensor((ends[0] + ends[1]) / 2, PerturbationLpNorm(x_L=ends[0], x_U=ends[1]))
    bounded = BoundedModule(module, ends[0])
    bounded.set_bound_opts({"optimize_bound_args": {"iteration": STEPS}})
    began, off = time.process_time(), []
    for method in ("CROWN", "CROWN-Optimized"):
        bottom, _ = bounded.compute_bounds(x=(box,), method=method, bound_upper=False)
        off.append(nearest_float(lowest) - bottom.item())
    assert lowest >= ZERO, "the set suffices"
    return nearest_float(lowest), *off, time.process_time() - began


if __name__ == "__main__":
    main()

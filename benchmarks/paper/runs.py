"""Measured runs: a record for each row, method and verifier, written at once and never measured twice."""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path

import setting

from suffice.numbers.exact import nearest_float
from suffice.paper import (
    ExactVerifier,
    Minimality,
    Parallel,
    Trust,
    by_sensitivity,
    cardinally_minimal,
    disagreements,
    greedy_subset_minimal,
    interval_search,
    lexicographic,
    logarithmic_search,
)
from suffice.paper.verifiers.exact import lowest_side

METHODS = ("ours", "lexicographic", "sensitivity")
SEARCHES = {"ours": logarithmic_search, "intervals": interval_search}
_DEFAULT_PRECISION = 2.0**-20


class Runs:
    """The records of a file; `measure` adds what is missing."""

    def __init__(self, options):
        self.options, self.file = options, Path(options.store) / "runs.jsonl"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        self.records = {}
        for line in lines:
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue  # the line that a kill cut short
            self.records[_key(record)] = record

    def measure(self, name, epsilon, method, verifier, rows, workers=1):
        """Return a record for each of the first `rows` rows worth explaining."""
        options = self.options
        where = setting.load(name, options.data, options.store, options.hidden, options.training)
        chosen, _ = where.chosen(epsilon, rows)
        found = []
        for row in chosen:
            wanted = {
                "set": name,
                "hidden": ",".join(map(str, options.hidden)),
                "training": options.training,
                "epsilon": epsilon,
                "method": method,
                "verifier": verifier,
                "row": row,
                "workers": workers,
                "timeout": options.timeout,
                "limit": options.limit,
            }
            if _key(wanted) not in self.records:
                self._add(wanted | self._run(where, wanted))
            found.append(self.records[_key(wanted)])
        return found

    def _add(self, record):
        with self.file.open("a") as file:
            file.write(json.dumps(record) + "\n")
        self.records[_key(record)] = record
        shown = f"{record['set']} ε={record['epsilon']} row {record['row']}: {record['method']}, {record['verifier']}"
        print(f"{shown}: size {record['size']} in {record['cpu_seconds']:.2f} CPU s", file=sys.stderr, flush=True)

    def _run(self, where, wanted):
        row = wanted["row"]
        instance = where.instance(row, wanted["epsilon"])
        verifier = setting.verifier_of(wanted["verifier"])
        if verifier.name == "exact":  # tabulation belongs to the model, not to a row
            for part in instance.sides[0].parts:
                _ = part.component.pieces
        if wanted["workers"] > 1:
            with Parallel(verifier, wanted["workers"]) as several:
                return self._explain(where, wanted, row, instance, several)
        return self._explain(where, wanted, row, instance, verifier)

    def _explain(self, where, wanted, row, instance, verifier):
        options = {"timeout": self.options.timeout, "limit": self.options.limit}
        extra = {}
        began = time.process_time()
        if wanted["method"] in SEARCHES:
            precision = setting.PRECISION.get(wanted["verifier"], _DEFAULT_PRECISION)
            search = SEARCHES[wanted["method"]]
            result, sorting = cardinally_minimal(instance, verifier, search=search, precision=precision, **options)
            if search is logarithmic_search:
                extra = check_counts(result, sorting, instance.size, precision)
        else:
            order = {"lexicographic": lexicographic, "sensitivity": by_sensitivity}[wanted["method"]](instance)
            result = greedy_subset_minimal(instance, verifier, order, **options)
            assert result.joint_calls <= instance.size
        spent = time.process_time() - began + verifier.child_seconds
        judged = [] if verifier.trust is Trust.SAMPLED else verifier.asked
        wrong = disagreements(judged, ExactVerifier(), 60.0)
        return (
            extra
            | {
                "size": result.size,
                "smallest": where.explain(row, wanted["epsilon"]).size,
                "explain_seconds": where.explain_seconds(row, wanted["epsilon"]),
                "is_sufficient": where.is_sufficient(row, result.fixed, wanted["epsilon"]),
                "minimality": result.minimality.value,
                "trust": result.trust.value,
                "seconds": result.seconds,
                "cpu_seconds": spent,  # with one worker; a busy machine does not count, nor a child that was killed
                "sorting_seconds": result.sorting_seconds,
                "component_calls": result.component_calls,
                "joint_calls": result.joint_calls,
                "unknown": result.unknown,
                "wrong": [
                    [
                        one.verdict.value,
                        len(one.query.parts),
                        None if one.minimum is None else nearest_float(one.minimum),
                        one.note,
                    ]
                    for one in wrong
                ],
                "queries": [_query(query, answer) for query, answer in judged],
                "steps": [[round(step.seconds, 6), *step[1:]] for step in result.steps],
            }
        )


def _query(query, answer):
    """Return what became of a query: free features, exact distance of its minimum from 0, verdict, stage, seconds."""
    lowest = lowest_side(query)
    assert lowest is not None, "every region of the paper is bounded"
    return [len(query.parts), nearest_float(lowest), answer.verdict.value, answer.note, round(answer.seconds, 4)]


def check_counts(result, sorting, features, precision):
    """Check the number of queries against Propositions 2 and 4, and return what they speak of."""
    assert result.joint_calls <= math.ceil(math.log2(features + 1)), "Proposition 4"
    assert result.component_calls <= features * sorting.rounds, "Proposition 2: a query for each component and round"
    # The second optimisation asks beside the bisection: at most one such query for each that halves an interval.
    assert sorting.rounds <= 2 * sorting.allowed_rounds(precision), "Proposition 2: rounds"
    assert result.minimality in (Minimality.CARDINAL, Minimality.NONE)
    gaps = [xi for xi in sorting.precisions if 0 < xi < math.inf]
    return {"rounds": sorting.rounds, "xi": min(gaps, default=None), "is_total": sorting.is_total}


def _key(record):
    names = ("set", "epsilon", "method", "verifier", "row", "workers", "timeout", "limit")
    older = record.get("hidden", ",".join(map(str, setting.HIDDEN))), record.get("training", "own")
    return (*older, *(record[name] for name in names))

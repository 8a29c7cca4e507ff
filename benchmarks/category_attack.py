"""Every question about random models of numbers, ordered and other categories, against trying all inputs.

    python benchmarks/category_attack.py [--models 2000] [--first 0]

The models, and what is so of them, are those of tests/oracles/mixed.py, which shares no code with the library: with and
without terms over two features, ranks and names, codes, units, limits on changes. Each answer is compared, each
certificate given to the checker, each batch compared with its rows. The first mistake ends the run and names its seed.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "search")]
from test_category_distances import try_world  # noqa: E402


def main() -> int:
    """Ask, and print how many models held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first model")
    given = parser.parse_args()
    began = time.process_time()
    for seed in range(given.first, given.first + given.models):
        try:
            try_world(seed)
        except Exception:
            traceback.print_exc()
            print(f"seed {seed} fails")
            return 1
        if (seed - given.first) % 200 == 199:
            done = seed - given.first + 1
            print(f"{done} models, every question: nothing wrong; {time.process_time() - began:.0f} s CPU", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

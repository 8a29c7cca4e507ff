"""Write requirements-dev.lock from what pip would install today: pip's report, read from standard input.

Versions and hashes only: where a package came from stays out of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

_HEAD = """\
# What scripts/check and scripts/test run with, hash by hash. Written by scripts/lock for {implementation} {python} on
# {system} {machine}: other machines have other wheels, with other hashes. To install it:
#
#     pip install --require-hashes --no-deps --requirement requirements-dev.lock
#     pip install torch=={torch}             # not locked: which of its builds fits depends on the machine
#     pip install --no-deps --no-build-isolation --editable .
"""


def lock(report: Mapping[str, Any]) -> Iterator[str]:
    """Return the lines of the lock file for a report of pip."""
    found = {one["metadata"]["name"].lower().replace("_", "-"): one for one in report["install"]}
    del found["suffice"]
    where = report["environment"]
    yield _HEAD.format(
        implementation=where["platform_python_implementation"],
        python=where["python_version"],
        system=where["platform_system"],
        machine=where["platform_machine"],
        torch=found.pop("torch")["metadata"]["version"].partition("+")[0],
    )
    for name, one in sorted(found.items()):
        hashes = one["download_info"]["archive_info"]["hashes"]
        yield f"{name}=={one['metadata']['version']} --hash=sha256:{hashes['sha256']}\n"


if __name__ == "__main__":
    sys.stdout.writelines(lock(json.load(sys.stdin)))

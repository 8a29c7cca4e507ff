"""Write docs/ebm-german-credit.md: run the snippets of ebm-page.md, and put what they print below them.

Needs interpret-core, pandas and the data set: python scripts/write_ebm_page.py FOLDER-OF-german_credit.csv.gz
"""

from __future__ import annotations

import io
import re
import sys
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "ebm-german-credit.md"


def main(folder: str) -> None:
    """Run the snippets in one go and write the page."""
    space: dict[str, Any] = {"folder": folder}

    def run(snippet: re.Match[str]) -> str:
        printed = io.StringIO()
        with warnings.catch_warnings(), redirect_stdout(printed):
            exec(snippet.group(1), space)
        return f"{snippet.group(0)}\n```text\n{printed.getvalue()}```\n"

    text = (ROOT / "scripts" / "ebm-page.md").read_text()
    PAGE.write_text(re.sub(r"```python\n(.*?)```\n", run, text, flags=re.DOTALL))


if __name__ == "__main__":
    main(sys.argv[1])

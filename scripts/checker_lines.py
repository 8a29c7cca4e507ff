"""Count the lines of the checker, file by file: all, and those of code, without docstrings, comments and blank lines.

python scripts/checker_lines.py [revision]      # of the files as they are, or of a revision
"""

import ast
import io
import subprocess
import sys
import tokenize
from pathlib import Path

FOLDER = "src/suffice_check"
ROOT = Path(__file__).resolve().parent.parent
PARTS = {  # what each file is for; files that are not named are counted at the end
    "the core": ["ordered", "tree", "core", "alone", "ranges", "verdict"],
    "the question": ["claims", "exponential", "question", "domain"],
    "shapes as pieces": ["roots", "curves", "shapes", "network"],
    "files": ["reading", "tensors", "shape_reading", "model", "certificate", "checker"],
    "words": ["sentence", "words", "api", "__main__", "__init__"],
    "terms over two features": ["pairs", "pair_reading", "joint", "scenarios", "together"],
    "smooth shapes": ["balls", "smooth_functions", "smooth", "cells"],
}
SKIPPED = tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER


def lines_of_code(text: str) -> int:
    """Return how many lines hold code."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = {line for token in tokens if token.type not in SKIPPED for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            found -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(found)


def files(revision: str | None) -> dict[str, str]:
    """Return the text of each file of the checker, by its name."""
    if revision is None:
        return {path.stem: path.read_text() for path in sorted((ROOT / FOLDER).glob("*.py"))}

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout

    names = git("ls-tree", "--name-only", revision, f"{FOLDER}/").split()
    return {Path(name).stem: git("show", f"{revision}:{name}") for name in names if name.endswith(".py")}


def main() -> None:
    """Print a table."""
    texts = files(sys.argv[1] if len(sys.argv) > 1 else None)
    named = {name for names in PARTS.values() for name in names}
    print("| part | files, with lines of code | lines of code | all lines |\n| --- | --- | --- | --- |")
    sums = [0, 0]
    for part, names in {**PARTS, "others": [name for name in texts if name not in named]}.items():
        each = {name: (lines_of_code(texts[name]), len(texts[name].splitlines())) for name in names if name in texts}
        if each:
            code, every = (sum(column) for column in zip(*each.values(), strict=True))
            sums = [sums[0] + code, sums[1] + every]
            listed = ", ".join(f"`{name}.py` {count}" for name, (count, _) in each.items())
            print(f"| {part} | {listed} | {code:,} | {every:,} |")
    print(f"| together | | {sums[0]:,} | {sums[1]:,} |")


if __name__ == "__main__":
    main()

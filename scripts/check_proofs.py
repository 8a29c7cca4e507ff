"""Check the proofs of proofs/ with Coq, and print the axioms that each theorem rests on.

    scripts/proofs [folder]
    scripts/proofs --extract program    # compile the proven check of covering trees, which needs OCaml too

Exit code 0: every proof holds, and no axiom is used but those by which Coq's standard library defines the reals.
1: not so. 2: Coq is missing. Nothing is written into the folder.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

REALS = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
# The standard library proves with it that the exponential function increases.
EXPONENTIAL = {"Decisions": {"Classical_Prop.classic"}}
ASSUMED = ("Admitted", "admit", "give_up", "Axiom", "Axioms", "Parameter", "Parameters", "Conjecture", "Conjectures")
LIBRARY = "Suffice"
PROOFS = Path(__file__).resolve().parent.parent / "proofs"
Group = tuple[str, list[str]]  # a file, and some of what it states
# Asked one by one; all others file by file, for Coq goes through the whole library of reals each time.
MAIN = [
    "Claims.sufficiency", "Claims.sufficiency_of_few", "Claims.break_together", "Questions.no_cheaper_set",
    "Questions.no_cheaper_set_of_few", "Questions.enumeration_is_complete", "Questions.relevant_by_pair",
    "Questions.irrelevant", "Changes.no_cheap_change", "Radii.radius_attained", "Pieces.region_bounded",
    "Networks.network_of_one_input", "Labels.labels_are_enough", "Pairs.messages_bound", "Pairs.scenario_inequality",
    "Program.accepts_is_right",
]  # fmt: skip


def main(arguments: list[str]) -> int:
    """Check all proofs, or compile a program."""
    if arguments[:1] == ["--extract"]:
        return extract(Path(arguments[1]).resolve())
    folder = Path(arguments[0]) if arguments else PROOFS
    files = sorted(folder.glob("*.v"))
    if not files:
        print(f"there are no proofs in {folder}", file=sys.stderr)
        return 1
    assumed = [f"{path.name}: {word}" for path in files for word in words(path.read_text()) if word in ASSUMED]
    if assumed:
        print("something is assumed and not proven:", *assumed, sep="\n  ", file=sys.stderr)
        return 1
    if shutil.which("coqc") is None:
        print("coqc is missing: install Coq 8.16 or later, on Debian with apt-get install coq", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as build:
        for path in files:
            shutil.copy(path, build)
        try:
            return check(build, files)
        except subprocess.CalledProcessError as error:
            print(f"{' '.join(error.cmd)} failed:", error.stdout, error.stderr, sep="\n", file=sys.stderr)
            return 1


def check(build: str, files: list[Path]) -> int:
    """Compile all files in a folder, and print the axioms in use."""
    paths = ["-Q", ".", LIBRARY]
    for name in run(build, "coqdep", *paths, "-sort", *(path.name for path in files)).split():
        run(build, "coqc", *paths, name)
    # A second, smaller program reads the compiled proofs and checks them once more.
    run(build, "coqchk", "-silent", *paths, *(part for path in files for part in ("-norec", f"{LIBRARY}.{path.stem}")))
    stated = {path.stem: names(path.read_text()) for path in files}
    main = [(name.partition(".")[0], [name.partition(".")[2]]) for name in MAIN if name.partition(".")[0] in stated]
    wrong = 0
    for (module, some), found in used(build, paths, [*stated.items(), *main]):
        beyond = found - REALS - EXPONENTIAL.get(module, set())
        wrong += bool(beyond)
        mark = f"  NOT ALLOWED: {', '.join(sorted(beyond))}" if beyond else ""
        short = ", ".join(sorted(axiom.rpartition(".")[2] for axiom in found)) or "none"
        print(f"{module}.{some[0] if len(some) == 1 else f'v, all {len(some)} of it'}: {short}{mark}")
    count, lines = sum(map(len, stated.values())), sum(len(path.read_text().splitlines()) for path in files)
    size = f"{count} theorems and lemmas in {len(files)} files of {lines} lines"
    print(f"{size}: axioms beyond the reals in {wrong or 'none'}")
    return 1 if wrong else 0


def extract(program: Path) -> int:
    """Compile the program that Program.v proves right."""
    missing = [name for name in ("coqc", "ocamlfind") if shutil.which(name) is None]
    if missing:
        print(f"{missing[0]} is missing: on Debian, apt-get install coq ocaml", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as build:
        for path in (*PROOFS.glob("*.v"), *(PROOFS / "extraction").iterdir()):
            shutil.copy(path, build)
        try:
            for name in run(build, "coqdep", "-Q", ".", LIBRARY, "-sort", "Extract.v").split():
                run(build, "coqc", "-Q", ".", LIBRARY, name)
            run(build, "ocamlfind", "ocamlopt", "-o", str(program), "tree_check.mli", "tree_check.ml", "main.ml")
        except subprocess.CalledProcessError as error:
            print(f"{' '.join(error.cmd)} failed:", error.stdout, error.stderr, sep="\n", file=sys.stderr)
            return 1
    return 0


def used(build: str, paths: list[str], groups: list[Group]) -> list[tuple[Group, set[str]]]:
    """Return the axioms that theorems of a file use together, by what Coq itself says."""
    groups = [group for group in groups if group[1]]
    text = [f"From {LIBRARY} Require {' '.join(sorted({module for module, _ in groups}))}."]
    for k, (module, some) in enumerate(groups):
        every = "".join(f"(pair (@{LIBRARY}.{module}.{name}) " for name in some) + "tt" + ")" * len(some)
        text.append(f'Definition group_{k} := {every}.\nGoal True. idtac "@{k}". Abort.\nPrint Assumptions group_{k}.')
    Path(build, "Axioms_used.v").write_text("\n".join(text))
    answers = re.split(r"^@\d+$", run(build, "coqc", *paths, "Axioms_used.v"), flags=re.MULTILINE)[1:]
    if len(answers) != len(groups) or not all(re.search("Axioms:|Closed under", answer) for answer in answers):
        raise SystemExit("Coq did not answer for every theorem")
    found = [re.findall(r"^([\w.']+)\s*:", one.partition("Axioms:")[2], flags=re.MULTILINE) for one in answers]
    return list(zip(groups, map(set, found), strict=True))


def names(text: str) -> list[str]:
    """Return what a file states."""
    return re.findall(r"^\s*(?:Theorem|Corollary|Lemma)\s+([\w']+)", without_comments(text), flags=re.MULTILINE)


def words(text: str) -> Iterator[str]:
    """Yield the words of a file, comments left out."""
    yield from re.findall(r"[\w']+", without_comments(text))


def without_comments(text: str) -> str:
    """Return a file without its comments, which may be nested."""
    kept, depth = [], 0
    for part in re.split(r"(\(\*|\*\))", text):
        if part in ("(*", "*)"):
            depth += 1 if part == "(*" else -1
        elif depth == 0:
            kept.append(part)
    return " ".join(kept)


def run(build: str, *command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, cwd=build, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

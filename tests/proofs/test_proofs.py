"""The theorems of proofs/: Coq accepts them, nothing is assumed, and the pages name them rightly."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is missing: apt-get install coq")


def run(*arguments, path=None):
    environment = os.environ if path is None else os.environ | {"PATH": path}
    command = [sys.executable, str(ROOT / "scripts" / "check_proofs.py"), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def stated(kinds="Theorem|Corollary|Lemma"):
    """Return what the files state, as `File.name`."""
    return {
        f"{path.stem}.{name}"
        for path in (ROOT / "proofs").glob("*.v")
        for name in re.findall(rf"^\s*(?:{kinds})\s+([\w']+)", path.read_text(), flags=re.MULTILINE)
    }


def named(page):
    """Return what a page names in this way: a word in capitals that is no file of proofs stands for something else."""
    files = {path.stem for path in (ROOT / "proofs").glob("*.v")}
    found = re.findall(r"`([A-Z]\w*)\.(\w+)`", (ROOT / "docs" / page).read_text())
    return {f"{file}.{name}" for file, name in found if file in files}


def test_every_theorem_that_a_page_names_exists():
    assert named("proofs.md") <= stated()
    assert named("certificate.md") <= stated()
    assert "Claims.sufficiency" in named("proofs.md")


def test_the_page_tells_of_every_theorem():
    assert stated("Theorem|Corollary") <= named("proofs.md")


@pytest.mark.parametrize("line", ["Axiom wrong : False.", "Lemma wrong : False. Admitted.", "Parameter some : nat."])
def test_what_is_assumed_is_refused_before_anything_else(tmp_path, line):
    (tmp_path / "Some.v").write_text(
        f"(* An Axiom or Admitted in a comment, (* even a nested one, *) is none. *)\n{line}\n"
    )
    code, _, complaint = run(tmp_path, path="")
    assert (code, "something is assumed and not proven" in complaint) == (1, True)
    assert f"Some.v: {next(word for word in ('Axiom', 'Admitted', 'Parameter') if word in line)}" in complaint


def test_without_coq_there_is_one_clear_line():
    code, said, complaint = run(path="")
    assert (code, said) == (2, "")
    assert complaint == "coqc is missing: install Coq 8.16 or later, on Debian with apt-get install coq\n"


@needs_coq
def test_coq_names_what_a_proof_assumes_in_other_ways(tmp_path):
    (tmp_path / "Some.v").write_text("Variable hidden : False.\nLemma wrong : 1 = 2. Proof. destruct hidden. Qed.\n")
    code, said, _ = run(tmp_path)
    assert code == 1
    assert "Some.wrong: hidden  NOT ALLOWED: Some.hidden\n" in said


@needs_coq
def test_coq_refuses_a_proof_with_a_gap(tmp_path):
    (tmp_path / "Some.v").write_text("Lemma wrong : 1 = 2.\nProof. reflexivity. Qed.\n")
    code, _, complaint = run(tmp_path)
    assert (code, "Unable to unify" in complaint) == (1, True)


@pytest.mark.slow
@needs_coq
def test_coq_accepts_every_proof_with_no_axioms_but_those_of_the_reals():
    done = subprocess.run([str(ROOT / "scripts" / "proofs")], capture_output=True, text=True)
    said = done.stdout
    assert done.returncode == 0, done.stderr
    assert said.endswith("axioms beyond the reals in none\n")
    assert "Questions.no_cheaper_set: functional_extensionality_dep, sig_forall_dec\n" in said
    assert f"{len(stated())} theorems and lemmas" in said

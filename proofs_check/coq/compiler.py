"""Run coqc, the Coq compiler, on exported lemmas, and read which axioms the proofs assume."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

PRELUDE = Path(__file__).with_name("prelude.v")
# The real numbers of Coq's library rest on the first three; the Interval library computes with machine
# integers, whose arithmetic Coq takes as axioms.
ALLOWED = (
    r"ClassicalDedekindReals\.sig_forall_dec",
    r"ClassicalDedekindReals\.sig_not_dec",
    r"(FunctionalExtensionality\.)?functional_extensionality_dep",
    r"Classical_Prop\.classic",
    r"(PrimInt63|Uint63|Uint63Axioms)\.\w+",
)


@dataclass(frozen=True)
class Lemma:
    """A lemma for Coq: its name, its statement and its proof, as texts."""

    name: str
    statement: str
    proof: str

    @property
    def text(self) -> str:
        """The lemma as Coq source text."""
        return f"Lemma {self.name} : {self.statement}.\nProof.\n{self.proof}\nQed.\n"


class CoqError(RuntimeError):
    """Raised if Coq does not accept a file."""


def version() -> str | None:
    """Return the version of coqc on this machine, or None without coqc.

    >>> version() is None or version()[0].isdigit()
    True
    """
    if shutil.which("coqc") is None:
        return None
    done = subprocess.run(["coqc", "--print-version"], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split()[0]


def compiled(text: str, timeout: float) -> str:
    """Return what coqc prints when it compiles a file with this text.

    Raises:
        CoqError: if coqc does not accept the file in time; the error has coqc's message and the lemma where it
            stopped.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cross_check.v"
        path.write_text(text, encoding="utf-8")
        try:
            done = subprocess.run(
                ["coqc", "-q", path.name], cwd=path.parent, capture_output=True, text=True, timeout=timeout
            )
        except subprocess.TimeoutExpired:
            raise CoqError(f"coqc gave no answer within {timeout:g} s") from None
    if done.returncode:
        raise CoqError(f"{place(text, done.stderr)}{done.stderr.strip()[-1500:]}")
    return done.stdout


def accepted(
    lemmas: Iterable[Lemma], seconds: int, head: str | None = None, path: Path | None = None
) -> frozenset[str]:
    """Return the names of the lemmas that Coq proves one by one, with a time limit for each step.

    Only the search for new proofs uses this function. It runs the interactive program coqtop, which continues after
    an error, so the libraries are loaded only once. ``head`` is the text before the lemmas, instead of the tactics;
    ``path`` is the folder with the compiled files that it needs.
    """
    chosen = list(lemmas)
    head = PRELUDE.read_text(encoding="utf-8") if head is None else head
    text = "\n".join([head, *(_timed(x, seconds) for x in chosen)])
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["coqtop", "-q"], input=text, cwd=path or folder, capture_output=True, text=True, check=False
        )
    printed = set(re.findall(r"^(\w+)\n +:", done.stdout, re.MULTILINE))
    return frozenset(printed & {x.name for x in chosen})


def _timed(x: Lemma, seconds: int) -> str:
    steps = re.split(r"(?<=[.}])\s+|(?<=\{)\s+", x.proof)
    limit = f"Timeout {seconds} "
    body = "\n".join(step if step[0] in "{}" or step.endswith("{") else limit + step for step in steps)
    return f"Lemma {x.name} : {x.statement}.\nProof.\n{body}\n{limit}Qed.\nAbort All.\nCheck {x.name}."


def place(text: str, message: str) -> str:
    """Return the lemma of a file in which coqc stopped, from its message."""
    lines = re.findall(r'^File "[^"]*", line (\d+)', message, re.MULTILINE)
    above = text.splitlines()[: int(lines[-1])] if lines else []
    names = [line.split()[1] for line in above if line.startswith("Lemma ")]
    return f"in lemma {names[-1]}: " if names else ""


def foundations(printed: str) -> frozenset[str]:
    r"""Return the axioms that the lemmas of a file assume. ``printed`` is the output of coqc.

    >>> foundations("Closed under the global context\n")
    frozenset()

    Raises:
        CoqError: if the output is not a list of assumptions.
    """
    if printed.strip() == "Closed under the global context":
        return frozenset()
    head, found, body = printed.partition("Axioms:\n")
    if not found or head.strip():
        raise CoqError(f"coqc printed something unexpected: {(head or printed)[:300]}")
    return frozenset(re.findall(r"^([\w.']+)(?: :|\n|$)", body, re.MULTILINE))


def strangers(names: Iterable[str], allowed: Sequence[str] = ALLOWED) -> list[str]:
    """Return the assumptions in ``names`` that are not in the list ``allowed``."""
    return sorted(x for x in names if not any(re.fullmatch(pattern, x) for pattern in allowed))

"""Functions on which the rate of right explanations is measured, and nothing else is.

A violation that `dpproof.audit` finds may come with a sentence on the likely cause. The rules behind these
sentences were made with other functions. The functions here were written without knowledge of the rules: small
pieces of code that somebody could have written wrongly, with one fault each. The kind of the fault was stated from
the code alone, before any audit was run.

**Nobody may tune on this set.** Who changes the rules runs the measurement at the end and reports what it says. A
wrong answer here is no reason to change a rule, a threshold, a function, or a kind: look for the reason in functions
of your own. If somebody did tune on a function, it moves to the set for tuning, and another one is written for its
place.

Who does not work on the rules, and has not read them, may add functions. State the kind from the code, and do not
change it after a run. A function is removed only if it cannot run, or if the audit finds no violation of its claim.

The kinds are:

- ``bits``: only the low bits of floating-point noise reveal anything;
- ``structure``: a record decides which parts or words the output has, or whether the function raises an exception;
- ``plain``: a value is released without noise, always or at times;
- ``reused``: one draw of noise is used for two or more numbers of the output;
- ``normal``: Gaussian noise, large enough for some delta, under a claim with delta 0;
- ``scale``: Laplace, geometric or Gaussian noise that is too small by a factor, and has no other fault;
- ``bounded``: noise with a largest or a smallest value, so that some outputs are possible on one input only;
- ``local``: noise whose scale depends on the data;
- ``grid``: noise on a grid that is added to numbers off the grid;
- the empty kind: anything else, where no explanation is right.

Functions of the other kinds may also draw their noise with numpy, so that its low bits reveal something. That does
not count: the kind is the fault that remains for real numbers.

``python -m benchmarks.audits.held_out`` measures all of them, and writes the rates that the explanations state. It
takes about ten minutes, and needs pandas.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import dpproof
from benchmarks.audits.held import bits, normal, other, plain, reused, scale, structure
from benchmarks.audits.held.fault import Fault
from dpproof.audits.engine.explaining.explanations import EXPLANATIONS
from dpproof.audits.recording.evidence import Evidence

__all__ = ["FAULTS", "Answer", "Fault", "Measured", "Rate", "answered", "measured"]

FAULTS: tuple[Fault, ...] = (
    *bits.FAULTS,
    *structure.FAULTS,
    *plain.FAULTS,
    *reused.FAULTS,
    *normal.FAULTS,
    *scale.FAULTS,
    *other.FAULTS,
)
KINDS = (*EXPLANATIONS, "")
SEEDS = (0, 1, 2)
FILE = Path(__file__).resolve().parents[2] / "audits" / "engine" / "explaining" / "rates.json"
TOLERANCE = 0.05
"""How far the stated smallest factor may exceed the truth, as a share of the truth."""
_FACTOR = re.compile(r"at least (\d+(?:\.\d+)?) times")


@dataclass(frozen=True)
class Answer:
    """What an audit at one seed said: whether it found a violation, and the kind and the factor it explained."""

    violated: bool
    kind: str
    factor: float | None


@dataclass(frozen=True)
class Measured:
    """A function and the answers at all seeds."""

    fault: Fault
    answers: tuple[Answer, ...]

    @property
    def kind(self) -> str:
        """The kind that most seeds gave, of those that gave one; empty if none did. A tie goes to a wrong kind."""
        kinds = [answer.kind for answer in self.answers if answer.kind]
        return max(kinds, key=lambda kind: (kinds.count(kind), kind != self.fault.kind), default="")

    @property
    def factor(self) -> float | None:
        """The median of the stated factors."""
        stated = [a.factor for a in self.answers if a.kind == "scale" and a.factor is not None]
        return statistics.median(stated) if stated else None

    @property
    def right(self) -> bool:
        """Whether the kind is the truth, and for the kind scale, whether the smallest factor is true."""
        truth = self.fault.factor
        if self.kind != self.fault.kind or truth is None:
            return self.kind == self.fault.kind
        return self.factor is not None and self.factor <= (1 + TOLERANCE) * truth

    def __str__(self) -> str:
        """One line: the function, the truth, the answers, and whether they are right."""
        truth = self.fault.kind + (f" {self.fault.factor:.2f}" if self.fault.factor else "")
        told = ", ".join(_words(answer) for answer in self.answers)
        return f"{self.fault.name}: {truth or '-'}; {told}; {'right' if self.right else 'wrong'}"


@dataclass(frozen=True)
class Rate:
    """For one kind: how often it was given and right, and for how many functions it is the truth.

    For the empty kind, ``given`` counts the functions without an explanation.
    """

    given: int
    right: int
    cases: int


def answered(fault: Fault, seed: int) -> Answer:
    """Audit a function at one seed."""
    found = dpproof.audit(
        fault.function,
        fault.data,
        adjacency=fault.adjacency,
        epsilon=fault.epsilon,
        delta=fault.delta,
        failures=fault.failures,
        seed=seed,
        power=False,
    )
    kind = "" if found.shown is None else found.shown.kind
    return Answer(found.verdict.violated, kind, _factor(found) if kind == "scale" else None)


def measured(faults: Iterable[Fault] = FAULTS, *, tell: bool = False) -> dict[str, Rate]:
    """Audit each function at three seeds, and return for each kind how often it was given and right.

    ``tell`` prints a line for each function.
    """
    found = []
    for fault in faults:
        found.append(Measured(fault, tuple(answered(fault, seed) for seed in SEEDS)))
        if tell:
            print(found[-1], flush=True)
    return {kind: _rate(kind, found) for kind in KINDS}


def table(rates: dict[str, Rate]) -> str:
    """The rates as rows of Markdown."""
    rows = ["| kind | given | right | functions with this fault |", "|---|---|---|---|"]
    rows += [f"| {kind or 'none'} | {r.given} | {r.right} | {r.cases} |" for kind, r in rates.items()]
    named = [rate for kind, rate in rates.items() if kind]
    given, right = sum(rate.given for rate in named), sum(rate.right for rate in named)
    return "\n".join([*rows, f"| any | {given} | {right} | {sum(rate.cases for rate in named)} |"])


def _rate(kind: str, found: list[Measured]) -> Rate:
    given = [one for one in found if one.kind == kind]
    return Rate(len(given), sum(one.right for one in given), sum(one.fault.kind == kind for one in found))


def _factor(found: Evidence) -> float | None:
    """The factor that the answer states."""
    stated = _FACTOR.search(" ".join(found.words))
    return float(stated.group(1)) if stated else None


def _words(answer: Answer) -> str:
    if not answer.violated:
        return "no violation"
    return (answer.kind or "none") + (f" {answer.factor:.2f}" if answer.factor is not None else "")


def main() -> None:
    """Measure all functions, print the table, and write the rates that the explanations state."""
    rates = measured(tell=True)
    print(table(rates))
    written = {kind: {"right": rate.right, "given": rate.given} for kind, rate in rates.items() if kind}
    FILE.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""What ``dpproof explain`` knows besides statements and mechanisms: notions, relations, verdicts, errors."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Mapping

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.trust import TrustModel
from dpproof.proofs_check.verdict import MEANINGS

__all__ = ["ERRORS", "NOTIONS", "WORDS", "documentation"]

NOTIONS = {
    "pure-dp": "dpproof.accountant.guarantees.notions:PureDP",
    "approximate-dp": "dpproof.accountant.guarantees.notions:ApproxDP",
    "gaussian-dp": "dpproof.accountant.guarantees.notions:GaussianDP",
    "renyi-dp": "dpproof.accountant.guarantees.notions:RenyiDP",
    "zcdp": "dpproof.accountant.guarantees.notions:ZCDP",
    "privacy-loss": "dpproof.accountant.privacy_loss.notion:PrivacyLoss",
}
"""Notion -> what stands for it; its docstring is the explanation."""
ERRORS = {
    "UnprovedAdjacencyError": "dpproof.accountant.claims.adjacency:UnprovedAdjacencyError",
    "UnsupportedEventError": "dpproof.accountant.interop.dp_events:UnsupportedEventError",
    "BudgetExceededError": "dpproof.accountant.theorems.filters:BudgetExceededError",
    "UnreachableTargetError": "dpproof.accountant.guarantees.targets:UnreachableTargetError",
    "NoNoiseNeededError": "dpproof.accountant.guarantees.targets:NoNoiseNeededError",
    "GridTooLargeError": "dpproof.accountant.privacy_loss.planning:GridTooLargeError",
    "UndecidedError": "dpproof.accountant.numbers.bounds:UndecidedError",
    "NoAuditError": "dpproof.audits.engine.unaudited:NoAuditError",
    "LoadError": "dpproof.audits.engine.unaudited:LoadError",
    "UncomparableError": "dpproof.audits.data.records:UncomparableError",
    "SimulationError": "dpproof.mechanisms.randomness:SimulationError",
    "InvalidNeighboursError": "dpproof.audits.data.pairs:InvalidNeighboursError",
    "MechanismError": "dpproof.audits.engine.sampling.callables:MechanismError",
    "CommandError": "dpproof.audits.engine.sampling.commands:CommandError",
    "UnwritableError": "dpproof.audits.recording.written:UnwritableError",
    "ReplayError": "dpproof.audits.recording.replaying:ReplayError",
    "UnreadableOutputError": "dpproof.audits.data.canonical:UnreadableOutputError",
    "OutOfTimeError": "dpproof.audits.time_budget:OutOfTimeError",
    "TargetError": "dpproof.accountant.guarantees.targets:TargetError",
    "TooManyTermsError": "dpproof.accountant.smooth_sensitivity.bessel_sums:TooManyTermsError",
    "TooManyProfilesError": "dpproof.accountant.counting.profiles:TooManyProfilesError",
    "EmptyActiveSetError": "dpproof.mechanisms.rl.sdp_pe.coverage:EmptyActiveSetError",
    "UnreachableStateError": "dpproof.mechanisms.rl.sdp_pe.policies:UnreachableStateError",
    "UntranslatableError": "dpproof.proofs_check.coq.export:UntranslatableError",
    "CoqError": "dpproof.proofs_check.coq.compiler:CoqError",
}
"""Error -> where it is defined."""
VERDICTS = {
    **{verdict.value: text for verdict, text in MEANINGS.items()},
    "substantive": "Severity: what a reader relies on fails, and what is proved instead is less.",
    "repairable": "Severity: with a changed step, constant or hypothesis the later results stand.",
    "slip": "Severity: a misprint or a boundary case; nothing later changes.",
    "reading": """A step of the argument that people read and the kernel does not check: how obligations make
        up a statement, what a definition means in them. dpproof explain ID lists them.""",
    "law": "A density, tail or generating function of a named law that is taken as known, from one table.",
    "kept": """The certified guarantee implies the promise. The answer names the statement that it rests on,
        and its verdict.""",
    "broken": "A pair of neighbours, or an audit, refutes the promise.",
    "broken (floating point only)": """The low bits of floating-point numbers refute the promise, and
        nothing else does; a claim that promises no more than real arithmetic says arithmetic = "real".""",
    "tolerated (floating point only)": """Only the low bits of floating-point numbers refute the promise,
        which is about real arithmetic. The exit code is that of what is known without the bits.""",
    "not certified": """A mechanism of this project whose certified guarantee does not imply the promise, or
        rests on a statement that is open.""",
    "refused": """A claim that cannot be checked: it is written wrongly, or what it names does not exist or
        fails. The line beside it says the value and the rule; the other claims are checked. Exit code 2.""",
    "out of time": """Only an audit could speak for the claim, and the seconds of the file's budget were spent
        before it ended. A refutation that there was no time to confirm is said beside it. Exit code 3.""",
    "too weak": """Under --strict: an audit that could not have seen twice the promised epsilon; give it a
        larger budget.""",
    "as recorded": "All verdicts on a paper's statements came out as last recorded, refuted ones included.",
    "not as recorded": "A verdict on a paper's statement, or an audit of the corpus, that was another once.",
    "violation": "The promise is false, at the stated confidence; the witness replays.",
    "violation (floating point only)": """The promise is false of the floating-point numbers that are
        released: their low bits tell the neighbours apart. Nothing was found without the bits, so it may hold
        in real arithmetic; a claim that promises no more says arithmetic = "real".""",
    "consistent": """Not refuted on the pair that was run, by an audit that sees violations of twice the
        promised epsilon there with power 0.9, in each of the classes of events that it names.""",
    "inconclusive": """Not refuted, and such violations in one of these classes are not seen, or nothing was
        measured. The answer says which class; give a larger budget, or scores that see it.""",
}


def _members(kind: type[Adjacency] | type[TrustModel]) -> dict[str, str]:
    """Member -> the text that stands below it: Python keeps none for the members of an enumeration."""
    (body,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(body, ast.ClassDef)
    texts: dict[str, str] = {}
    for above, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(above, ast.Assign) and isinstance(below, ast.Expr):
            texts[str(ast.literal_eval(above.value))] = str(ast.literal_eval(below.value))
    return texts


GLOSSARY = {
    "epsilon": """How much more likely one neighbour may make any output than the other: at most e^epsilon
        times, up to delta. Smaller is more private; 0 tells nothing.""",
    "delta": """The probability that epsilon's promise may leave out; well below one over the number of
        users.""",
    "adjacency": """Which two data sets count as neighbours, and so whose data are protected; part of every
        promise. dpproof explain add-remove, replace, rewards-only, expert or by-sensitivity.""",
    "sensitivity": "How far an answer can move between neighbours; noise is scaled to it.",
    "query": """What is asked: count, histogram, or 'sum in [a, b]' of one number a record. The sensitivity
        under add-remove or replace follows from it, where each user has one record.""",
    "mu": """The unit of Gaussian differential privacy: telling neighbours apart is no easier than telling a
        normal variable of mean 0 from one of mean mu, both of variance 1.""",
    "rho": "The unit of zero-concentrated differential privacy; rho = mu^2 / 2 for Gaussian noise.",
    "post-processing": "What is computed from a private output without the data is as private as the output.",
    "certificate": """What proves a statement: data that a small program checks step by step (python -m
        dpproof.proofs_check.kernel FILE).""",
    "witness": """What a finding is made of: the two inputs, the event, how often it was seen, the seed.
        dpproof audit --replay runs it again.""",
    "e-value": """The wealth of bets against a promise that began with 1; if the promise holds it exceeds
        1/alpha with probability at most alpha, whenever one looks.""",
    "would have seen": "The smallest epsilon that this audit would have found with probability 0.9.",
    "failures": """What an audit does with a call that raises: failures = "error" ends it, "token" makes the
        exception's type an output. In a claim file: audit = { failures = "token" }; in a test:
        privacy.audit(f, first, second, failures="token"); nan = "token" does the same for NaN.""",
    "attained": "A named pair of neighbours loses at least so much: the bound cannot be smaller than that.",
    "tight": "The best guarantee that is proved here, beside the published one.",
}
"""Words of the answers -> what they mean, for who has not met them."""
WORDS: Mapping[str, str] = {**_members(Adjacency), **_members(TrustModel), **VERDICTS, **GLOSSARY}
"""Relations, trust models, verdicts and other words -> what they mean."""


def documentation(where: str) -> str:
    """The docstring of ``module:name``."""
    module, _, name = where.partition(":")
    return inspect.getdoc(getattr(importlib.import_module(module), name)) or ""

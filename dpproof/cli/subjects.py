"""What ``dpproof explain`` knows besides statements and mechanisms: notions, relations, verdicts, errors."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Mapping

from accountant.adjacency import Adjacency
from accountant.trust import TrustModel

__all__ = ["ERRORS", "NOTIONS", "WORDS", "documentation"]

NOTIONS = {
    "pure-dp": "accountant.notions:PureDP",
    "approximate-dp": "accountant.notions:ApproxDP",
    "gaussian-dp": "accountant.notions:GaussianDP",
    "renyi-dp": "accountant.notions:RenyiDP",
    "zcdp": "accountant.notions:ZCDP",
    "privacy-loss": "accountant.privacy_loss.notion:PrivacyLoss",
}
"""Notion -> what stands for it; its docstring is the explanation."""
ERRORS = {
    "UnprovedAdjacencyError": "accountant.adjacency:UnprovedAdjacencyError",
    "UnsupportedEventError": "accountant.interop.dp_events:UnsupportedEventError",
    "BudgetExceededError": "accountant.filters:BudgetExceededError",
    "UnreachableTargetError": "accountant.targets:UnreachableTargetError",
    "NoNoiseNeededError": "accountant.targets:NoNoiseNeededError",
    "GridTooLargeError": "accountant.privacy_loss.planning:GridTooLargeError",
    "UndecidedError": "accountant.bounds:UndecidedError",
    "NoAuditError": "audits.unaudited:NoAuditError",
    "InvalidPairError": "audits.pairs:InvalidPairError",
    "MechanismError": "audits.callables:MechanismError",
    "CommandError": "audits.commands:CommandError",
    "ReplayError": "audits.replaying:ReplayError",
}
"""Error -> where it is defined."""
VERDICTS = {
    "PROVED": "Every inequality the statement comes down to has a certificate that the kernel re-checks.",
    "REFUTED": "A point is named at which the statement fails; the corrected statement stands beside it.",
    "PROVED ON A SUBDOMAIN": "True where the domain says, which contains the paper's own parameters.",
    "PROVED GIVEN": "Proved, but for rules that are named.",
    "ASSUMED": "A quoted theorem or a definition, with the reason why it is not proved here.",
    "OPEN": "Not decided; what was tried is said.",
    "kept": "The guarantee that is proved implies the promise.",
    "broken": "A pair of neighbours, or an audit, refutes the promise.",
    "not certified": "A mechanism of this project whose proved guarantee does not imply the promise.",
    "violation": "The promise is false, at the stated confidence; the witness replays.",
    "consistent": "Not refuted by a test that would have seen twice the promised epsilon with power 0.9.",
    "inconclusive": "Not refuted, by a test too weak to say more; give it a larger budget.",
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


WORDS: Mapping[str, str] = {**_members(Adjacency), **_members(TrustModel), **VERDICTS}
"""Relations, trust models and verdicts -> what they mean."""


def documentation(where: str) -> str:
    """The docstring of ``module:name``."""
    module, _, name = where.partition(":")
    return inspect.getdoc(getattr(importlib.import_module(module), name)) or ""

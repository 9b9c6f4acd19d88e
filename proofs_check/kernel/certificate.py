"""Certificates: strict reading, identity of the claim, and the one entry point `check`."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, NoReturn

from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.goals import keys, task
from dpproof.proofs_check.kernel.nodes import refute, replay

FIELDS = {"v", "id", "claim", "claim_sha256", "verdict", "proof", "prec"}
MAX_TEXT = 1_000_000


@dataclass(frozen=True)
class Outcome:
    """An accepted certificate: PROVED or REFUTED, the kinds of node it used, the point if refuted.

    A kind ends in "+atoms" where the enclosed range of a transcendental or a root decided something.
    """

    verdict: str
    leaves: frozenset[str]
    point: dict[str, str] | None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise Rejected("a key occurs twice")
    return dict(pairs)


def _no_float(text: str) -> NoReturn:
    raise Rejected(f"a floating-point number: {text[:40]}")


def load(text: str) -> Any:
    """Read certificate JSON; floats, NaN, infinities and repeated keys are rejected."""
    if len(text) > MAX_TEXT:
        raise Rejected("the certificate is too long")
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_float=_no_float, parse_constant=_no_float)
    except RecursionError:
        raise Rejected("nested too deeply") from None
    except ValueError as error:
        raise Rejected(f"not JSON: {error}") from None


def _canonical(claim: object) -> str:
    return json.dumps(claim, sort_keys=True, separators=(",", ":"), allow_nan=False)


def goal_hash(claim: object) -> str:
    """Return the SHA-256 of the claim in canonical JSON.

    >>> goal_hash({"vars": {}, "goal": [">=", "1", "0"]})[:8]
    '17568f19'
    """
    return hashlib.sha256(_canonical(claim).encode()).hexdigest()


def check(certificate: object, claim: object) -> Outcome:
    """Re-check a certificate against the claim it is meant for.

    Args:
        certificate: the parsed file; nothing in it is believed.
        claim: the obligation, from the registry and not from the file.

    Raises:
        Rejected: with the reason. Every other error on the way is turned into this one.

    """
    try:
        return _check(certificate, claim)
    except Rejected:
        raise
    except Exception as error:
        raise Rejected(f"malformed: {type(error).__name__}") from None


def _check(certificate: object, claim: object) -> Outcome:
    data = keys(certificate, FIELDS)
    if type(data["v"]) is not int or data["v"] != 1 or type(data["id"]) is not str:
        raise Rejected("unknown certificate version or identity")
    if _canonical(data["claim"]) != _canonical(claim):
        raise Rejected("the certificate is for another claim")
    if data["claim_sha256"] != goal_hash(claim):
        raise Rejected("the hash does not belong to the claim")
    t = task(claim, data["prec"])
    if data["verdict"] == "REFUTED":
        return Outcome("REFUTED", frozenset({"point"}), refute(t, data["proof"]))
    if data["verdict"] != "PROVED":
        raise Rejected("a certificate says PROVED or REFUTED")
    replay(t, data["proof"])
    return Outcome("PROVED", frozenset(t.leaves), None)

"""Number certificates: a published epsilon with all that is needed to compute an upper bound of it again.

A certificate has a claim (what the mechanism is, delta, epsilon) and a plan (how to bound delta). Nothing in the plan
is trusted: a bad plan can only fail. What the kernel takes for granted is in docs/notes/carried_numbers.md.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.composition import Grid, certainly, composed
from dpproof.proofs_check.kernel.expressions import rational
from dpproof.proofs_check.kernel.goals import Node, keys

FIELDS = {"v", "number", "id", "claim", "plan"}
IDENTITY = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}\Z", re.ASCII)
"""The names of certificates. No two of them look the same on a screen."""
MAX_ANSWERS, MAX_BITS = 1000, 2000
_PRECISION = 128


@dataclass(frozen=True)
class Number:
    """An accepted number: the mechanism satisfies (epsilon, delta)-differential privacy if the facts in the note hold.

    ``kind`` is ``zcdp`` or ``discrete-gaussians``. ``mechanism`` has the parameters: ``rho``, or ``answers`` as pairs
    of the noise's parameter v and a number of answers.
    """

    id: str
    kind: str
    mechanism: Mapping[str, Any]
    epsilon: Fraction
    delta: Fraction


def check_number(certificate: object) -> Number:
    """Return the number that a certificate proves. Reject any other certificate.

    Args:
        certificate: the parsed JSON data. The caller compares the claim with the deployment that it is about.

    Raises:
        Rejected: the certificate is not accepted. All other errors also become `Rejected`.
    """
    try:
        data = keys(certificate, FIELDS)
        if type(data["v"]) is not int or data["v"] != 1:
            raise Rejected("unknown certificate version")
        if type(data["id"]) is not str or not IDENTITY.match(data["id"]):
            raise Rejected(
                "the id must be 1 to 100 small letters, digits, points, hyphens or underscores, in ASCII"
            )
        if type(data["number"]) is not str or data["number"] not in KINDS:
            raise Rejected(f"the kind of a number must be one of: {', '.join(sorted(KINDS))}")
        mechanism, epsilon, delta = KINDS[data["number"]](data["claim"], data["plan"])
        return Number(data["id"], data["number"], mechanism, epsilon, delta)
    except Rejected:
        raise
    except Exception as error:
        raise Rejected(f"the certificate is malformed: {type(error).__name__}") from None


Found = tuple[Mapping[str, Any], Fraction, Fraction]


def _zcdp(claim: object, plan: object) -> Found:
    """Check epsilon and delta of rho-zCDP at one order a.

    delta >= exp((a - 1) (a rho - epsilon) + (a - 1) log(a - 1) - a log(a)), as `classic.zcdp_conversion` says.
    """
    data = keys(claim, {"rho", "epsilon", "delta"})
    epsilon, delta = _ends(data)
    rho, order = rational(data["rho"]), rational(keys(plan, {"order"})["order"])
    if rho <= 0 or order <= 1:
        raise Rejected("rho must be positive, and the order above 1")
    gap = order - 1
    terms = [ia.point(gap * (order * rho - epsilon)), _entropy(gap), ia.neg(_entropy(order), _PRECISION)]
    exponent = ia.add(ia.add(terms[0], terms[1], _PRECISION), terms[2], _PRECISION)
    if ia.exp(exponent, _PRECISION).hi > (0, delta):
        raise Rejected("delta is not certainly large enough for this epsilon")
    return {"rho": rho}, epsilon, delta


def _entropy(x: Fraction) -> ia.Interval:
    """Return an interval that contains x log(x)."""
    return ia.mul(ia.point(x), ia.log(ia.point(x), _PRECISION), _PRECISION)


def _gaussians(claim: object, plan: object) -> Found:
    """Check epsilon and delta of answers with discrete Gaussian noise, each of which two inputs shift by one."""
    data, told = keys(claim, {"answers", "epsilon", "delta"}), keys(plan, {"step", "bits", "tail"})
    epsilon, delta = _ends(data)
    answers = [_answer(item) for item in _list(data["answers"])]
    step, bits, tail = rational(told["step"]), told["bits"], told["tail"]
    if step <= 0 or type(bits) is not int or type(tail) is not int or not 0 < tail < bits <= MAX_BITS:
        raise Rejected("the step must be positive, and 0 < tail < bits")
    grid = Grid(step, bits, tail)
    if not certainly(composed(answers, grid), grid, epsilon, delta):
        raise Rejected("delta is not certainly large enough for this epsilon")
    return {"answers": tuple(answers)}, epsilon, delta


def _list(data: object) -> list[object]:
    if type(data) is not list or not 0 < len(data) <= MAX_ANSWERS:
        raise Rejected(f"the answers must be a list of 1 to {MAX_ANSWERS} pairs")
    return data


def _answer(item: object) -> tuple[Fraction, int]:
    if type(item) is not list or len(item) != 2 or type(item[1]) is not int:
        raise Rejected("an answer must be a pair of the noise's parameter and a number of answers")
    v, count = rational(item[0]), item[1]
    if v <= 0 or not 0 < count <= MAX_ANSWERS:
        raise Rejected(f"the noise's parameter must be positive, and the number from 1 to {MAX_ANSWERS}")
    return v, count


def _ends(data: Node) -> tuple[Fraction, Fraction]:
    """Return epsilon and delta of a claim."""
    epsilon, delta = rational(data["epsilon"]), rational(data["delta"])
    if epsilon < 0 or not 0 < delta < 1:
        raise Rejected("epsilon must be at least 0, and delta between 0 and 1")
    return epsilon, delta


KINDS: Mapping[str, Callable[[object, object], Found]] = {"zcdp": _zcdp, "discrete-gaussians": _gaussians}

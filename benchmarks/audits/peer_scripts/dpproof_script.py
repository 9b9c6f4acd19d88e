"""dpproof itself: an audit of a black box, or `dpproof.compare_runs`, which sees the call of numpy."""

from tasks import sample, serve

import dpproof
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import ApproxDP, PureDP
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.paired.finding import Answer
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.call import audit


def black_box(task):
    """It stops at the violation. Floating-point bits alone do not count as a find."""
    pair = Neighbours(0.0, 1.0, Adjacency.BY_SENSITIVITY, "0 and 1")
    found = audit(
        task["claim"],
        ApproxDP(task["claimed"], task["delta"]) if task["delta"] else PureDP(task["claimed"]),
        lambda label, n, rng: sample(task, label, n, rng),
        pair,
        seed=task["seed"],
        delta=task["delta"],
        alpha=task["alpha"],
        budget=2 * task["per_side"],
    )
    return {"epsilon_lower": None, "refutes": found.verdict is Finding.VIOLATION, "samples": found.samples}


def paired(task):
    """Two runs with the same noise."""
    found = dpproof.compare_runs(
        lambda label, rng: sample(task, label, 1, rng)[0],
        0.0,
        1.0,
        epsilon=task["claimed"],
        delta=task["delta"],
    )
    bound = float(found.loss.epsilon(task["delta"]).lower)
    return {"epsilon_lower": bound, "refutes": found.answer is Answer.DIFFERENCE, "samples": 2}


def answer(task, rng):
    """The black box, or the paired runs."""
    return paired(task) if "paired" in task["peer"] else black_box(task)


serve(answer, "dpproof")

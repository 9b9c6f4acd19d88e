"""dpproof itself: `dpproof.audit` on a black box, or `dpproof.compare_runs`, which sees the call of numpy."""

from tasks import sample, serve

import dpproof
from dpproof.audits.paired.finding import Answer


def black_box(task):
    """It stops by itself. Floating-point bits alone do not count as a find."""
    found = dpproof.audit(
        lambda label, n, rng: sample(task, label, n, rng),
        pair=(0.0, 1.0),
        adjacency="by-sensitivity",
        epsilon=task["claimed"],
        delta=task["delta"],
        seed=task["seed"],
        alpha=task["alpha"],
        budget=2 * task["per_side"],
        power=False,
    )
    return {"epsilon_lower": None, "refutes": found.verdict.value == "violation", "samples": found.samples}


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

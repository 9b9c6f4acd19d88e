"""StatDP on one pair of inputs: it selects an event on half of the samples, and tests it on the others."""

from multiprocessing.pool import ThreadPool

from statdp import hypothesis_test, select_event
from tasks import serve


def answer(task, rng):
    """Its own events and tests; half of alpha for each direction, as many samples for the event as for the test."""
    n = task["per_side"]
    noise = rng.laplace if task["mechanism"] == "laplace" else rng.normal

    def algorithm(_prng, queries):
        return queries[0] + noise(0, task["scale"])

    pair, epsilon = ([0.0], [1.0], {}), task["claimed"]
    with ThreadPool(1) as pool:
        *chosen, event = select_event(algorithm, [pair], epsilon, n, pool, quiet=True)
        found = hypothesis_test(algorithm, *chosen, event, epsilon, n, pool)
    refutes = bool(min(found) < task["alpha"] / 2)
    return {"epsilon_lower": None, "refutes": refutes, "p": float(min(found)), "samples": 4 * n}


serve(answer, "statdp")

"""How often an explanation of a violation is right, on the faults with which the explanations were made.

``python -m benchmarks.audits.explanations`` audits the broken functions of `own_data` and the cases of the corpus
that are listed here, at three seeds, and prints the rates. A case counts once, as right if its explanation was right at
most of the seeds at which one was given. The rates that dpproof states come from other faults (`held_out`).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import dpproof
from benchmarks.audits.own_data import TWINS
from dpproof.audits.corpus.all_cases import case_named
from dpproof.audits.engine.explaining.explanations import EXPLANATIONS
from dpproof.audits.recording.evidence import Evidence

SEEDS = (0, 1, 2)
CORPUS: Mapping[str, tuple[str, ...]] = {
    "bits": (
        "laplace",
        "noisy histogram, one count changed",
        "prefix sums, one count changed",
        "gaussian, at its point",
        "textbook Laplace sampler, bits",
        "Box-Muller sampler, bits",
        "counter with numpy's Laplace noise",
        "abstains at times",
    ),
    "scale": (
        "laplace, 1.5 times the loss",
        "laplace, 2 times the loss",
        "noisy histogram, all counts changed",
        "noisy histogram, scale epsilon",
        "prefix sums, all counts changed",
        "gaussian, half the noise, curve",
        "gaussian, a quarter of the noise, point",
        "counter with half of numpy's Laplace noise",
        "one to three outputs",
        "counts, printed noise",
        "counts, tree, noise for one node",
        "counts, square root, one-sided count",
        "counts, fresh noise every episode",
        "counts, local, scale 1/epsilon",
        "counts, local, printed noise",
        "rlsvi variance quarter",
        "shuffled count, bits, a hundredth of the smallest threshold",
        "policy evaluation, sqrt(w) for w",
    ),
    "reused": (
        "counts, local, shared noise",
        "counts, local, one noise for two families",
        "rlsvi reused noise",
    ),
    "plain": ("rlsvi first visit unprotected",),
    "local": ("policy evaluation, local sensitivity", "policy evaluation, range from the data"),
    "": (
        "largest noisy count",
        "randomised response, 1.5 claimed as 1",
        "sparse vector 5",
        "shuffled count, as printed",
        "expert release, threshold without noise",
    ),
}
"""The explanation that is right -> cases; none of them is for the last."""


def measured(seeds: tuple[int, ...] = SEEDS) -> dict[str, Any]:
    """Of each explanation in how many cases it was given, and in how many of these it was right."""
    right, given = Counter[str](), Counter[str]()
    for name, truth, found in _all(seeds):
        kinds = Counter(one.shown.kind for one in found if one.shown is not None and one.shown.kind)
        said = kinds.most_common(1)[0][0] if kinds else ""
        print(f"{name}: {truth or 'none'}, said {dict(kinds)}", file=sys.stderr)
        given[said] += 1
        right[said] += said == truth
    return {kind: {"right": right[kind], "given": given[kind]} for kind in EXPLANATIONS if given[kind]}


def _all(seeds: tuple[int, ...]) -> Iterator[tuple[str, str, list[Evidence]]]:
    """Every case with its truth and its findings."""
    for one in TWINS:
        asked = {"adjacency": one.adjacency, "epsilon": 1, "power": False}
        yield one.name, one.kind, [dpproof.audit(one.broken, one.data, seed=seed, **asked) for seed in seeds]
    for truth, names in CORPUS.items():
        for name in names:
            case = case_named(name)
            yield name, truth, [case.audit(seed=seed, power=False) for seed in seeds]


if __name__ == "__main__":
    print(json.dumps(measured(), indent=2))

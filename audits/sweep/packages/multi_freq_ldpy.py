"""The clients of multi-freq-ldpy: protocols of local differential privacy for one value, many values, many reports.

The input is the value (or the tuple of values) of one person, so any two inputs are neighbours.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.sweep.table import Entry, Meaning, Package

K = 4
"""The number of values of each attribute."""
PURE, LONG, MANY = "pure_frequency_oracles", "long_freq_est", "mdim_freq_est"


@dataclass(frozen=True)
class Run:
    """A client by its module and name, with its keyword arguments. The package's noise has no seed.

    Attributes:
        where: the module below ``multi_freq_ldpy``.
        name: the name without ``_Client``.
        parameters: the keyword arguments after the input.
    """

    where: str
    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, data: Any, n: int, rng: np.random.Generator) -> list[Any]:
        """Return ``n`` reports, each flat. The generator ``rng`` is not used."""
        module = importlib.import_module(f"multi_freq_ldpy.{self.where}")
        client = getattr(module, f"{self.name}_Client")
        reports = [client(data, *self.parameters.values()) for _ in range(n)]
        if self.name == "LH":
            return [_fits(value, seed, 4 if self.parameters["optimal"] else 2) for value, seed in reports]
        return [_flat(report) for report in reports]


def _fits(value: int, seed: int, groups: int) -> list[int]:
    """Return for each of the inputs 0 and 1 whether its hash is the reported value. ``groups`` is e + 1 or 2."""
    import xxhash

    return [int(xxhash.xxh32(str(one), seed=seed).intdigest() % groups == value) for one in (0, 1)]


def _flat(report: Any) -> Any:
    """Return a report as a number or a list of numbers."""
    if isinstance(report, (int, np.integer)):
        return int(report)
    return [int(one) if one == int(one) else float(one) for one in np.hstack(report)]


def _entry(
    where: str,
    name: str,
    given: Mapping[str, Any],
    pairs: Sequence[tuple[Any, Any]] = ((0, 1),),
    word: str = "",
) -> Entry:
    return Entry(
        name=f"{name}{word}",
        sampler=Run(where, name, given),
        epsilon=1.0,
        pairs=pairs,
        budget=20_000,
        seeded=False,
        power=False,
    )


ONE: Mapping[str, Any] = {"k": K, "epsilon": 1.0}
REPORT: Mapping[str, Any] = {"k": K, "eps_perm": 2.0, "eps_1": 1.0}
TUPLE: Mapping[str, Any] = {"lst_k": [K, K], "d": 2, "epsilon": 1.0}
WHOLE, ATTRIBUTE = (((0, 0), (1, 1)),), (((0, 0), (1, 0)),)
FAKE = ("RSpFD_GRR", "RSpFD_UE_zero", "RSpFD_UE_rnd")
PLAIN = {True: "", False: ", optimal=False"}
ENTRIES = (
    *(_entry(f"{PURE}.{name}", name, ONE) for name in ("GRR", "SS", "HE", "ADP")),
    _entry(f"{PURE}.SS", "SS", {**ONE, "k": 10}, word=" (10 values)"),
    *(
        _entry(f"{PURE}.{name}", name, {**ONE, "optimal": optimal}, word=word)
        for name in ("UE", "LH")
        for optimal, word in PLAIN.items()
    ),
    *(
        _entry(f"{LONG}.{name}", name, REPORT, word=" (one report)")
        for name in ("L_GRR", "L_OUE", "L_SOUE", "L_SUE", "L_OSUE", "L_ADP")
    ),
    _entry(f"{LONG}.dBitFlipPM", "dBitFlipPM", {"k": K, "b": K, "d_bits": 2, "eps_perm": 1.0}),
    *(
        _entry(f"{MANY}.{name[:3]}_solution", name, TUPLE, WHOLE, " (two attributes)")
        for name in ("SMP_GRR", "SMP_UE", "SMP_SS", "SPL_GRR", "SPL_UE", "SPL_SS")
    ),
    *(_entry(f"{MANY}.RSpFD_solution", name, TUPLE, WHOLE, " (two attributes)") for name in FAKE),
    *(_entry(f"{MANY}.RSpFD_solution", name, TUPLE, ATTRIBUTE, " (one of two attributes)") for name in FAKE),
)
ORDER = Meaning(
    "new",
    "The reported set is an array, and the true value always comes first in it. So the true value never stands at "
    "another place.",
    1,
    math.inf,
    0.111,
)
AMPLIFIED = Meaning(
    "by design",
    "The package uses a larger epsilon because it samples one attribute. The claim holds if one attribute of the tuple "
    "changes. If all attributes change, the report has no attribute that does not depend on the change.",
    2,
    math.log(2 * (math.e - 1) + 1),
)
RANDOM = Meaning(
    "by design",
    "The package uses a larger epsilon because it samples one attribute. If all attributes change, the report has no "
    "attribute that does not depend on the change. The draft computes a least epsilon of 1.18 if one attribute "
    "changes, which no audit of this sweep found.",
    2,
    AMPLIFIED.exact,
)
TABLE = Package(
    "multi-freq-ldpy",
    ENTRIES,
    "The package speaks of local differential privacy, so any two inputs are neighbours. For several attributes it "
    "does not say whether one attribute or the whole tuple changes.",
    {
        "L_LH, SMP and SPL with LH or ADP, RSpFD_ADP": "they call protocols that are in the table",
        "long_mdim_freq_est": "it calls long_freq_est for each attribute",
        "aggregators": "they process reports, and have no noise",
    },
    {
        **{(f"{name} (two attributes)", Adjacency.BY_SENSITIVITY): AMPLIFIED for name in FAKE[:2]},
        ("RSpFD_UE_rnd (two attributes)", Adjacency.BY_SENSITIVITY): RANDOM,
        ("SS (10 values)", Adjacency.BY_SENSITIVITY): ORDER,
        ("SPL_SS (two attributes)", Adjacency.BY_SENSITIVITY): replace(ORDER, delta=0.333),
    },
    bits_exact=(("HE", Adjacency.BY_SENSITIVITY),),
    bits=Meaning(
        "float only",
        "The last bits of the sum of a value and noise can show the value (arXiv 2207.13793).",
        3,
    ),
)

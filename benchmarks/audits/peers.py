"""Other tools on the same claims, each in a Python of its own; one that is missing is skipped, visibly.

What such a Python needs (3.11 does for all):

- jax-privacy: ``pip install jax-privacy==2.0.0``.
- dp-sniper: its source on the path, with torch, scikit-learn, tensorboard and mmh3.
- statdp: its source (cmla-psu/statdp, commit d1f1e8f) installed with pip.
- dp_auditorium: its source (python/dp_auditorium of google/differential-privacy) on the path, with
  tensorflow 2.15.0, tensorflow-probability 0.23.0, google-vizier 0.1.6, etils 1.5.2, pipeline-dp, protobuf
  4.23.4, grpcio and grpcio-tools 1.60.0, googleapis-common-protos 1.56.4, google-api-core 2.15.0 and numpy
  1.26.3: later releases of these do not fit each other.
- MMD e-process: the folder of the notebook numerical_experiments.ipynb (dp_sequential_test of
  google-research/google-research, commit cacca8e) on the path, with numpy and scipy.
- dp-recorder: its source (the folder src of ObliviousAI/dp-recorder, commit 85d189e) on the path, with dp-accounting
  0.4.4, scikit-learn, tqdm, matplotlib, seaborn, graphviz and pandas.
- dpproof: the Python that runs this module.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.audits.rows import Row

SCRIPTS = Path(__file__).with_name("peer_scripts")
ALPHA, DELTA, SIGMA = 0.01, 1e-5, 3.730632


@dataclass(frozen=True)
class Claim:
    """A mechanism and what it is said to guarantee: ``(claimed, delta)``.

    Attributes:
        name: as in the tables.
        mechanism: laplace or gaussian, on inputs 1 apart.
        scale: of its noise.
        delta: of the claim.
        true: its true epsilon at ``delta``.
        claimed: the epsilon of the claim.
    """

    name: str
    mechanism: str
    scale: float
    delta: float
    true: float
    claimed: float = 1.0


SMALL = "Laplace 0.1 -> 1.0"
"""A claim that was added later, because the MMD e-process is made for small epsilons."""
CLAIMS = (
    *(Claim(f"Laplace 1 -> {true}", "laplace", 1 / true, 0.0, true) for true in (1.0, 1.1, 1.5, 2.0)),
    Claim("Gaussian point, exact", "gaussian", SIGMA, DELTA, 1.0),
    Claim("Gaussian point, noise .5", "gaussian", SIGMA / 2, DELTA, 2.155),
    Claim(SMALL, "laplace", 1.0, 0.0, 1.0, claimed=0.1),
)


@dataclass(frozen=True)
class Peer:
    """A tool: its name, the samples per input it is tried with, how often, and the claims it is asked about.

    Attributes:
        stops: whether it stops by itself. The size is then the most that it may draw.
        only_pure: whether it cannot judge a claim with delta above 0.
        only: the only claim that it is asked about; empty for all.
    """

    name: str
    script: str
    sizes: tuple[int, ...]
    runs: int
    only_pure: bool = False
    stops: bool = False
    only: str = ""

    def judges(self, claim: Claim) -> bool:
        """Return whether it is asked about a claim."""
        return self.only in ("", claim.name) and not (self.only_pure and claim.delta)


STEPS = tuple(base * 10**k for k in range(2, 6) for base in (1, 2, 5))
PEERS = {
    "dpproof": Peer("dpproof", "dpproof_script.py", (100_000,), 20, stops=True, only=SMALL),
    "jax-privacy": Peer("jax-privacy", "jax_privacy_script.py", STEPS, 20),
    "dp-sniper": Peer("dp-sniper", "dp_sniper_script.py", STEPS[3:], 5, only_pure=True),
    "statdp": Peer("statdp", "statdp_script.py", STEPS[:10], 5, only_pure=True),
    "dp_auditorium": Peer("dp_auditorium", "dp_auditorium_script.py", (1_000, 10_000, 100_000), 3),
    "MMD e-process": Peer("MMD e-process", "mmd_script.py", (2_000,), 10, stops=True),
    "dp-recorder, sampled noise": Peer(
        "dp-recorder, sampled noise", "dp_recorder_script.py", (500, 5_000, 50_000), 5
    ),
    "dp-recorder, trusted noise": Peer("dp-recorder, trusted noise", "dp_recorder_script.py", (1,), 5),
    "dpproof, paired runs": Peer("dpproof, paired runs", "dpproof_script.py", (1,), 5),
}


def tasks(peer: Peer, known: Sequence[Row]) -> Iterator[Row]:
    """What is left to do, small samples first."""
    done = {(row["claim"], row["per_side"], row["seed"]) for row in known if row["peer"] == peer.name}
    for size in peer.sizes:
        for claim in CLAIMS:
            for seed in range(peer.runs):
                if (claim.name, size, seed) not in done and peer.judges(claim):
                    yield _task(peer, claim, size, seed)


def _task(peer: Peer, claim: Claim, size: int, seed: int) -> Row:
    about = {"peer": peer.name, "claim": claim.name, "mechanism": claim.mechanism, "scale": claim.scale}
    return {
        **about,
        "claimed": claim.claimed,
        "delta": claim.delta,
        "alpha": ALPHA,
        "per_side": size,
        "seed": seed,
    }


def measured(peer: Peer, python: str, left: Sequence[Row]) -> Iterator[Row]:
    """Rows of the tool as they come.

    Args:
        peer: the tool.
        python: an interpreter that can import it.
        left: the tasks.

    Raises:
        RuntimeError: the tool failed; with the last line it printed.
    """
    if not left:
        return
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(
            [python, str(SCRIPTS / peer.script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            env=environment,
        ) as process,
    ):
        for task in left:
            answer = _ask(process, json.dumps(task))
            if not answer:
                said.seek(0)
                raise RuntimeError(f"{peer.name}: {(said.read().strip().splitlines() or ['no answer'])[-1]}")
            yield json.loads(answer)


def _ask(process: Any, question: str) -> str:
    """The line that the process answers with; nothing if it has ended."""
    try:
        process.stdin.write(question + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        process.stdin = None
    return str(process.stdout.readline())

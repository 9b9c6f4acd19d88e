"""One accounting task by one library, in a process of its own.

``python -m benchmarks.accounting_tasks TASK LIBRARY``

Prints one JSON object: the two ends it gives (null where it gives none), the seconds of the first run and the
median of three more, and the largest resident memory of the process in MiB.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Ends = tuple[float | None, float | None]
SIGMAS = [0.8 + 1.2 * i / 199 for i in range(200)]


def _training(rate: float, sigma: float, steps: int) -> Any:
    from dpproof.accountant.pairs.gaussian import SubsampledGaussian
    from dpproof.accountant.privacy_loss.notion import PrivacyLoss

    pair = SubsampledGaussian(rate, sigma)
    return PrivacyLoss([[(pair, steps)], [(pair.reversed(), steps)]])


def _ends(bound: Any) -> Ends:
    return bound.lower, bound.upper


def ours_dp_sgd(steps: int, delta: str, sigma: float = 1.0, rate: float = 0.01) -> Ends:
    return _ends(_training(rate, sigma, steps).epsilon(delta))


def ours_distinct(delta: str) -> Ends:
    from dpproof.accountant.pairs.gaussian import SubsampledGaussian
    from dpproof.accountant.privacy_loss.notion import PrivacyLoss

    pairs = [(SubsampledGaussian(0.01, sigma), 5) for sigma in SIGMAS]
    added = [(pair.reversed(), count) for pair, count in pairs]
    return _ends(PrivacyLoss([pairs, added]).epsilon(delta))


def ours_account(name: str, delta: str, **parameters: Any) -> Ends:
    from dpproof.accountant.catalogue import accountant_for
    from dpproof.accountant.claims.adjacency import Adjacency

    found = accountant_for(name)
    chosen = found.parameters.read(parameters)
    return _ends(found.account(chosen, Adjacency.BY_SENSITIVITY).guarantee.epsilon(delta))


def ours_calibrate() -> Ends:
    from dpproof.accountant.catalogue import accountant_for
    from dpproof.accountant.claims.adjacency import Adjacency

    found = accountant_for("dp-sgd")
    chosen = found.parameters.read({"sampling_rate": 0.01, "noise_multiplier": 1.0, "steps": 1000})
    meets, misses = found.least_noise(chosen, Adjacency.ADD_REMOVE, "1", "1e-6")
    return misses.noise_multiplier, meets.noise_multiplier


def ours_binomial() -> Ends:
    from fractions import Fraction

    from dpproof.accountant.shuffling.view import BinomialView

    return _ends(BinomialView(1_000_000, Fraction(137, 1_000_000)).delta("0.5"))


def ours_clones() -> Ends:
    from dpproof.accountant.shuffling.clones import general_randomiser

    return _ends(general_randomiser(1_000_000, 1).epsilon("1e-8"))


def _dpa_event(steps: int, sigma: float = 1.0, rate: float = 0.01) -> Any:
    import dp_accounting as dp

    return dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(sigma)), steps)


def dpa_pld(event: Any, delta: float, step: float = 1e-4) -> Ends:
    from dp_accounting.pld import PLDAccountant

    return None, PLDAccountant(value_discretization_interval=step).compose(event).get_epsilon(delta)


def dpa_rdp(event: Any, delta: float) -> Ends:
    from dp_accounting.rdp import RdpAccountant

    return None, RdpAccountant().compose(event).get_epsilon(delta)


def dpa_distinct(delta: float, rdp: bool = False) -> Ends:
    import dp_accounting as dp

    parts = [_dpa_event(5, sigma) for sigma in SIGMAS]
    return (dpa_rdp if rdp else dpa_pld)(dp.ComposedDpEvent(parts), delta)


def dpa_tree() -> Ends:
    import dp_accounting as dp
    from dp_accounting.rdp import RdpAccountant

    relation = dp.NeighboringRelation.REPLACE_SPECIAL
    accountant = RdpAccountant(neighboring_relation=relation)
    accountant.compose(dp.SingleEpochTreeAggregationDpEvent(10.0, 2**14))
    return None, accountant.get_epsilon(1e-6)


def dpa_calibrate() -> Ends:
    import dp_accounting as dp
    from dp_accounting.pld import PLDAccountant

    found = dp.calibrate_dp_mechanism(
        PLDAccountant, lambda sigma: _dpa_event(1000, sigma), 1.0, 1e-6, dp.LowerEndpointAndGuess(0.5, 1.0)
    )
    return None, found


def _prv(variables: list[Any], counts: list[int], delta: float, error: float) -> Ends:
    from prv_accountant import PRVAccountant

    accountant = PRVAccountant(
        prvs=variables, max_self_compositions=counts, eps_error=error, delta_error=delta / 1000
    )
    low, _, high = accountant.compute_epsilon(delta=delta, num_self_compositions=counts)
    return low, high


def prv_dp_sgd(steps: int, delta: float, error: float = 0.01) -> Ends:
    from prv_accountant import PoissonSubsampledGaussianMechanism

    variable = PoissonSubsampledGaussianMechanism(sampling_probability=0.01, noise_multiplier=1.0)
    return _prv([variable], [steps], delta, error)


def prv_distinct(delta: float) -> Ends:
    from prv_accountant import PoissonSubsampledGaussianMechanism

    made = [PoissonSubsampledGaussianMechanism(sampling_probability=0.01, noise_multiplier=s) for s in SIGMAS]
    return _prv(made, [5] * len(made), delta, 0.1)


def prv_gaussian(delta: float) -> Ends:
    from prv_accountant import GaussianMechanism

    return _prv([GaussianMechanism(5.0)], [1000], delta, 0.01)


def prv_laplace(delta: float) -> Ends:
    from prv_accountant import LaplaceMechanism

    return _prv([LaplaceMechanism(0.1)], [100], delta, 0.01)


def opacus_prv(steps: int, delta: float) -> Ends:
    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = [(1.0, 0.01, steps)]
    return None, accountant.get_epsilon(delta)


def opacus_distinct(delta: float) -> Ends:
    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = [(sigma, 0.01, 5) for sigma in SIGMAS]
    return None, accountant.get_epsilon(delta)


def jax_privacy(
    steps: int, delta: float, sigma: float = 1.0, records: int = 10_000, batch: int = 100
) -> Ends:
    """Ask jax_privacy's own class for training runs. It asks dp-accounting's PLD."""
    from jax_privacy import accounting

    accountant = accounting.DpsgdTrainingAccountant(accounting.PldAccountantConfig())
    asked = accounting.DpParams(noise_multipliers=sigma, num_samples=records, batch_size=batch, delta=delta)
    return None, accountant.compute_epsilon(steps, asked)


def pld_accounting(steps: int, delta: float, sigma: float = 1.0, rate: float = 0.01) -> Ends:
    """Return epsilon from the loss of one step by PLD_accounting, which dp-accounting composes."""
    from dp_accounting.pld import privacy_loss_distribution as pld
    from PLD_accounting import subsample_pld

    step = subsample_pld(pld=pld.from_gaussian_mechanism(sigma), sampling_probability=rate)
    return None, step.self_compose(steps).get_epsilon_for_delta(delta)


def pld_allocation() -> Ends:
    from PLD_accounting import gaussian_allocation_epsilon_range

    high, low = gaussian_allocation_epsilon_range(
        delta=1e-6, sigma=1.0, num_steps=100, num_selected=1, num_epochs=10
    )
    return low, high


def ours_allocation() -> Ends:
    from dpproof import account

    found = account("allocated-sgd", noise_multiplier=1.0, steps=100, epochs=10, adjacency="add-remove")
    return _ends(found.epsilon("1e-6"))


def prv_foundation() -> Ends:
    from prv_accountant import PoissonSubsampledGaussianMechanism

    step = PoissonSubsampledGaussianMechanism(sampling_probability=4.08e-5, noise_multiplier=0.614)
    return _prv([step], [100_000], 1.1e-10, 0.01)


def opacus_foundation() -> Ends:
    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = [(0.614, 4.08e-5, 100_000)]
    return None, accountant.get_epsilon(1.1e-10)


def _gaussians() -> Any:
    import dp_accounting as dp

    return dp.SelfComposedDpEvent(dp.GaussianDpEvent(5.0), 1000)


def _laplaces() -> Any:
    import dp_accounting as dp

    return dp.SelfComposedDpEvent(dp.LaplaceDpEvent(10.0), 100)


def _dp_sgd(steps: int, delta: str) -> dict[str, Callable[[], Ends]]:
    return {
        "dpproof": lambda: ours_dp_sgd(steps, delta),
        "dp-accounting PLD": lambda: dpa_pld(_dpa_event(steps), float(delta)),
        "dp-accounting RDP": lambda: dpa_rdp(_dpa_event(steps), float(delta)),
        "prv-accountant": lambda: prv_dp_sgd(steps, float(delta)),
        "Opacus PRV": lambda: opacus_prv(steps, float(delta)),
        "jax_privacy": lambda: jax_privacy(steps, float(delta)),
    }


FOUNDATION = "DP-SGD, rate 4.08e-5, noise .614, 1e5 steps, delta 1.1e-10"
"""A rate, a noise and a delta of the size that training a foundation model uses."""
TASKS: dict[str, dict[str, Callable[[], Ends]]] = {
    "DP-SGD, 1e3 steps": _dp_sgd(1_000, "1e-6") | {"PLD_accounting": lambda: pld_accounting(1_000, 1e-6)},
    "DP-SGD, 1e4 steps": _dp_sgd(10_000, "1e-6"),
    "DP-SGD, 1e5 steps": _dp_sgd(100_000, "1e-6"),
    "DP-SGD, 1e7 steps": {"dpproof": lambda: ours_dp_sgd(10_000_000, "1e-6")},
    "DP-SGD, 1e3 steps, delta 1e-30": _dp_sgd(1_000, "1e-30"),
    FOUNDATION: {
        "dpproof": lambda: ours_dp_sgd(100_000, "1.1e-10", 0.614, 4.08e-5),
        "dp-accounting PLD": lambda: dpa_pld(_dpa_event(100_000, 0.614, 4.08e-5), 1.1e-10),
        "dp-accounting RDP": lambda: dpa_rdp(_dpa_event(100_000, 0.614, 4.08e-5), 1.1e-10),
        "prv-accountant": prv_foundation,
        "Opacus PRV": opacus_foundation,
        "jax_privacy": lambda: jax_privacy(100_000, 1.1e-10, 0.614, 10_000_000, 408),
        "PLD_accounting": lambda: pld_accounting(100_000, 1.1e-10, 0.614, 4.08e-5),
    },
    "1 of 100 steps, 10 epochs": {"dpproof": ours_allocation, "PLD_accounting": pld_allocation},
    "Gaussian, sigma 5, 1000 times": {
        "dpproof": lambda: ours_account("gaussian", "1e-6", sigma=5.0, compositions=1000),
        "dp-accounting PLD": lambda: dpa_pld(_gaussians(), 1e-6),
        "dp-accounting RDP": lambda: dpa_rdp(_gaussians(), 1e-6),
        "prv-accountant": lambda: prv_gaussian(1e-6),
    },
    "Gaussian, sigma 5, 1000 times, delta 1e-30": {
        "dpproof": lambda: ours_account("gaussian", "1e-30", sigma=5.0, compositions=1000),
        "dp-accounting PLD": lambda: dpa_pld(_gaussians(), 1e-30),
        "prv-accountant": lambda: prv_gaussian(1e-30),
    },
    "Laplace, scale 10, 100 times": {
        "dpproof": lambda: ours_account("laplace", "1e-6", scale=10.0, compositions=100),
        "dp-accounting PLD": lambda: dpa_pld(_laplaces(), 1e-6),
        "dp-accounting RDP": lambda: dpa_rdp(_laplaces(), 1e-6),
        "prv-accountant": lambda: prv_laplace(1e-6),
    },
    "200 different subsampled Gaussians, 5 times each": {
        "dpproof": lambda: ours_distinct("1e-6"),
        "dp-accounting PLD": lambda: dpa_distinct(1e-6),
        "dp-accounting RDP": lambda: dpa_distinct(1e-6, rdp=True),
        "prv-accountant": lambda: prv_distinct(1e-6),
        "Opacus PRV": lambda: opacus_distinct(1e-6),
    },
    "calibrate sigma, epsilon 1, 1000 steps": {
        "dpproof": ours_calibrate,
        "dp-accounting PLD": dpa_calibrate,
    },
    "tree, 2^14 leaves, sigma 10": {
        "dpproof": lambda: ours_account("tree", "1e-6", leaves=16384, sigma=10.0),
        "dp-accounting RDP": dpa_tree,
    },
    "binomial hockey stick, n = 1e6, epsilon 0.5: delta": {"dpproof": ours_binomial},
    "clones shuffled, n = 1e6, local epsilon 1, delta 1e-8": {"dpproof": ours_clones},
}
"""Task -> library -> what it gives: ends of epsilon at delta = 1e-6 unless the name says otherwise."""


def _largest_memory() -> float:
    """The process's own peak in MiB; what the operating system reports for it may include its parent's."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    peak = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024


def measure(task: str, library: str, runs: int = 3) -> dict[str, Any]:
    """Run one cell of the table in this process."""
    ask, seconds, ends = TASKS[task][library], [], (None, None)
    for _ in range(runs + 1):
        start = time.perf_counter()
        ends = ask()
        seconds.append(time.perf_counter() - start)
        if seconds[0] > 20:
            break
    memory = _largest_memory()
    counted = seconds[1:] or seconds
    again = statistics.median(counted)
    return {"lower": ends[0], "upper": ends[1], "first": seconds[0], "seconds": again, "memory": memory}


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:3])))

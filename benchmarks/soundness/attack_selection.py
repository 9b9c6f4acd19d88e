"""Attacks on theorems about composition and selection: equal shares, filters, partition and private selection."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise, product

import mpmath
import numpy as np
from scipy.optimize import linprog
from scipy.special import log_ndtr, ndtr

import dpproof
from benchmarks.soundness.attack import Attack, Floats, Seen, between, hockey, judged
from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.privacy_loss.single import epsilon_by_shares
from dpproof.accountant.theorems.filters import ApproxFilter, ApproxOdometer, BudgetExceededError, ZCDPFilter
from dpproof.accountant.theorems.individual import IndividualGaussianFilter
from dpproof.accountant.theorems.runs import Runs
from dpproof.accountant.theorems.selection import Selected


def shares_of_atoms(rng: np.random.Generator, fine: int) -> Seen:
    """Attack basic composition by equal shares with all outcomes of small pairs, in rational numbers."""
    pairs, delta = [], between(rng, 1e-4, 0.5)
    for _ in range(int(rng.integers(1, 4))):
        size = int(rng.integers(2, 4))
        p, q = (rng.integers(0, 30, size) + np.eye(size, dtype=int)[0] for _ in range(2))
        pairs.append(
            ([Fraction(int(x), int(p.sum())) for x in p], [Fraction(int(x), int(q.sum())) for x in q])
        )
    counts = [int(rng.integers(1, 3)) for _ in pairs]
    parts: list[tuple[DominatingPair, int]] = [
        (Atoms(*pair), n) for pair, n in zip(pairs, counts, strict=True)
    ]
    epsilon = epsilon_by_shares(parts, Fraction(delta))
    if math.isinf(epsilon):
        return Seen(False, 0.0)
    grown, found = Fraction(math.exp(epsilon)) * (1 - Fraction(1, 2**50)), Fraction(0)
    used = [list(zip(*pair, strict=True)) for pair, n in zip(pairs, counts, strict=True) for _ in range(n)]
    for outcome in product(*used):
        p, q = (math.prod((one[side] for one in outcome), start=Fraction(1)) for side in (0, 1))
        found += max(p - grown * q, Fraction(0))
    return judged(Bound(0.0, delta), float(found), f"shares {pairs} {counts} {delta}", slack=1e-12)


def shares_of_gaussians(rng: np.random.Generator, fine: int) -> Seen:
    """Attack basic composition by equal shares with Gaussians, by mpmath, at deltas down to 1e-250."""
    sigmas, delta = [between(rng, 0.3, 50) for _ in range(int(rng.integers(1, 6)))], between(rng, 1e-250, 0.4)
    epsilon = epsilon_by_shares([(SubsampledGaussian(1.0, sigma), 1) for sigma in sigmas], Fraction(delta))
    with mpmath.workdps(60):
        mu, e = mpmath.sqrt(sum(1 / mpmath.mpf(s) ** 2 for s in sigmas)), mpmath.mpf(epsilon)
        found = (
            mpmath.erfc((e / mu - mu / 2) / mpmath.sqrt(2)) / 2
            - mpmath.exp(e) * mpmath.erfc((e / mu + mu / 2) / mpmath.sqrt(2)) / 2
        )
        share = float(found / delta)
    return judged(Bound(0.0, 1.0), share, f"shares of Gaussians {sigmas} {delta}", slack=1e-12)


def partitions(rng: np.random.Generator, fine: int) -> Seen:
    """Enumerate the numbers of users in up to three groups, and all decisions."""
    epsilon, delta = between(rng, 0.1, 3), between(rng, 1e-6, 0.5)
    groups, at = int(rng.integers(1, 4)), rng.uniform(0, 1.2) * epsilon
    kept = [0.0]
    while kept[-1] < 1 and len(kept) < 400:
        up = math.exp(epsilon) * kept[-1] + delta
        kept.append(min(up, 1 - math.exp(-epsilon) * (1 - kept[-1] - delta), 1.0))
    steps = list(pairwise(kept))
    if groups > 1:
        steps = [steps[int(k)] for k in np.unique(np.linspace(0, len(steps) - 1, 25).astype(int))]
        steps.append(max(pairwise(kept), key=lambda step: step[1] - step[0]))
    most = 0.0
    for used in combinations_with_replacement(steps, groups):
        laws = [np.ones(1), np.ones(1)]
        for step in used:
            laws = [np.outer(law, [one, 1 - one]).ravel() for law, one in zip(laws, step, strict=True)]
        most = max(most, hockey(laws[0], laws[1], at))
    answer = dpproof.account(
        "partition-selection", group_epsilon=epsilon, group_delta=delta, groups=groups
    ).delta(at)
    return judged(answer, most, f"partitions {epsilon} {delta} {groups} {at}", most, 1e-9)


def best_of_runs(rng: np.random.Generator, fine: int) -> Seen:
    """Attack private selection with runs that a linear program makes extreme, and all sets of outputs."""
    size, epsilon = int(rng.integers(2, 6)), between(rng, 0.05, 2)
    delta = float(rng.choice([0.0, between(rng, 1e-4, 0.1)]))
    mean, shape = 1 + between(rng, 0.1, 20), [None, 1.0, 0.0, 0.5, 3.0][int(rng.integers(5))]
    p = rng.dirichlet(np.full(size, float(rng.choice([0.3, 1.0]))))
    sets = np.array(list(product((0.0, 1.0), repeat=size)))
    grown = math.exp(epsilon)
    solved = linprog(
        rng.normal(size=size), A_ub=np.vstack([-grown * sets, sets]),
        b_ub=np.concatenate([delta - sets @ p, grown * (sets @ p) + delta]), A_eq=np.ones((1, size)), b_eq=[1],
    )  # fmt: skip
    if not solved.success:
        return Seen(False, 0.0)
    q, weights = solved.x, _weights(mean, shape)
    numbers = np.arange(len(weights))

    def best(law: Floats) -> Floats:
        reached = np.clip(np.cumsum(law), 0, 1)
        return np.diff([float(weights @ (x**numbers)) for x in (0.0, *reached)])

    at = rng.uniform(0, 2) * epsilon
    found = Selected(ApproxDP(epsilon, delta), Runs(mean, shape)).delta(at)
    return judged(
        found, hockey(best(p), best(q), at), f"runs {epsilon} {delta} {mean} {shape} {at} {p} {q}", slack=1e-7
    )


def _weights(mean: float, shape: float | None) -> Floats:
    """Return the probabilities of the numbers of runs. The parameter is found by bisection."""
    k = np.arange(6000)
    if shape is None:
        logs = np.array([math.lgamma(n + 1) for n in k])
        return np.asarray(np.exp(k * math.log(mean) - mean - logs))
    base = np.array([-np.inf, *(math.lgamma(n + shape) - math.lgamma(n + 1) for n in k[1:])])
    low, high = 1e-3, 1.0
    for _ in range(80):
        stop = (low + high) / 2
        law = np.exp(base + k * math.log1p(-stop) - base[1])
        law /= law.sum()
        low, high = (stop, high) if law @ k > mean else (low, stop)
    return np.asarray(law)


def best_adversary(budget: int, unit: float, epsilon: float, admits: list[int], points: int) -> float:
    """Return the largest delta of an adversary who chooses each Gaussian by all earlier answers.

    A Gaussian of ``admits`` has the mu sqrt(n) ``unit``. The budget is a number of squared units. Dynamic programming
    over what is left and a grid of privacy losses; a Gauss-Hermite rule for each answer but the last.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    weights /= weights.sum()
    losses = np.linspace(-9, 9, points) * unit * math.sqrt(budget) + epsilon
    gain = np.maximum(-np.expm1(epsilon - losses), 0)
    values = [gain]
    for left in range(1, budget + 1):
        options = [gain]
        for cost in (cost for cost in admits if cost <= left):
            mu = unit * math.sqrt(cost)
            if cost == left:
                options.append(_gaussian(mu, epsilon - losses))
                continue
            after = losses[:, None] + mu * mu / 2 + mu * nodes
            options.append(np.interp(after, losses, values[left - cost]) @ weights)
        values.append(np.max(options, axis=0))
    return float(np.interp(0.0, losses, values[-1]))


def _gaussian(mu: float, epsilon: Floats) -> Floats:
    """Return the delta of a Gaussian at some epsilons, which may be negative."""
    return np.asarray(ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))


def individual(rng: np.random.Generator, fine: int) -> Seen:
    """Attack the individual filter with the best adaptive choice of norms, as far as `admit` lets the user in."""
    mu, units, epsilon = between(rng, 0.2, 3), int(rng.integers(2, 7)), rng.uniform(0, 3)
    start = IndividualGaussianFilter(Fraction(mu))
    unit, epsilon = mu / math.sqrt(units), epsilon * mu
    norms = {n: Fraction(unit * math.sqrt(n)) * (1 - Fraction(1, 10**9)) for n in range(1, units + 2)}
    admits = [n for n, norm in norms.items() if start.admit({"user": norm}, 1)[1]]
    after, _ = start.admit({"user": norms[units]}, 1)
    over = units + 1 in admits or bool(after.admit({"user": norms[1]}, 1)[1])
    reached = best_adversary(units, unit, epsilon, admits, 3000 * fine)
    seen = judged(start.guarantee.delta(epsilon), reached, f"individual {mu} {units} {epsilon}", slack=5e-3)
    return Seen(seen.wrong or over, seen.reach, seen.detail)


def filters(rng: np.random.Generator, fine: int) -> Seen:
    """Attack filters of pure costs with the best adaptive choice of randomised responses, by dynamic programming."""
    unit, epsilon, delta = between(rng, 0.02, 0.5), between(rng, 0.3, 4), between(rng, 1e-6, 1e-2)
    slack = bool(rng.integers(2))
    budget = ApproxFilter(epsilon, delta, delta if slack else 0)
    zcdp = ZCDPFilter(Fraction(budget.rho)) if slack else None

    @cache
    def value(spent: int, loss: int) -> float:
        best = max(-math.expm1(epsilon - loss * unit), 0.0)
        for k in (1, 2, 3):
            used = spent + (k * k if slack else k)
            if used > 400 or not _fits(used, unit, budget, zcdp):
                continue
            up = 1 / (1 + math.exp(-k * unit))
            best = max(best, up * value(used, loss + k) + (1 - up) * value(used, loss - k))
        return best

    return judged(Bound(0.0, delta), value(0, 0), f"filter {unit} {epsilon} {delta} {slack}", slack=1e-9)


def _fits(used: int, unit: float, budget: ApproxFilter, zcdp: ZCDPFilter | None) -> bool:
    """Whether the filters admit costs that add up to ``used`` units, or squared units."""
    try:
        if zcdp is None:
            budget.spend(ApproxDP(used * Fraction(unit), 0))
        else:
            zcdp.spend(ZCDP(used * Fraction(unit) ** 2 / 2))
    except BudgetExceededError:
        return False
    return True


def odometer(rng: np.random.Generator, fine: int) -> Seen:
    """Attack the odometer with the best adaptive choice of randomised responses that ends when the loss exceeds it."""
    unit, delta = between(rng, 0.05, 0.6), between(rng, 1e-4, 0.1)
    meter = ApproxOdometer(Fraction(delta), first=Fraction(between(rng, 0.001, 0.1)))
    most = 120
    ends = [meter.spend(ZCDP(n * Fraction(unit) ** 2 / 2)).epsilon for n in range(most)]

    @cache
    def value(spent: int, loss: int) -> float:
        if loss * unit > ends[spent]:
            return 1.0
        best = 0.0
        for k in (1, 2, 3, 5):
            if spent + k * k < most:
                up = 1 / (1 + math.exp(-k * unit))
                best = max(
                    best, up * value(spent + k * k, loss + k) + (1 - up) * value(spent + k * k, loss - k)
                )
        return best

    return judged(Bound(0.0, delta), value(0, 0), f"odometer {unit} {delta}", slack=1e-9)


_BEST = "the best adaptive adversary by dynamic programming"
ATTACKS = (
    Attack("basic composition by equal shares", "all outcomes in rational numbers", 300, shares_of_atoms),
    Attack("the same, Gaussians at small deltas", "mpmath with 60 digits", 300, shares_of_gaussians),
    Attack("partition selection, both bounds", "all numbers of users, all decisions", 120, partitions),
    Attack(
        "private selection, upper bound",
        "runs from linear programmes, all sets of outputs",
        300,
        best_of_runs,
    ),
    Attack("individual Gaussian filter", _BEST, 200, individual),
    Attack("filters with and without slack", _BEST, 150, filters),
    Attack("odometer", _BEST, 150, odometer),
)

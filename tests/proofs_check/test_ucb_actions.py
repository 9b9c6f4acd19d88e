"""What the actions of PRIVATE-UCB tell about one user: the numbers of docs/notes/ucb_actions.md."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pytest

from dpproof.mechanisms.rl.private_ucb import _kernels as kernels


def entries(path, read_last: bool) -> dict:
    """Return the entries of the arrays of a trajectory: states 2..H+1, actions 2..H, costs 1..H; s_1 = a_1 = 0."""
    states, actions, costs = path
    found, state = {}, 0
    for h, cost in enumerate(costs):
        action = actions[h - 1] if h else 0
        found["N", h, state, action] = 1
        found["C", h, state, action] = cost
        if read_last or h + 1 < len(costs):
            found["T", h, state, action, states[h]] = 1
        state = states[h]
    return found


def farthest(steps: int, read_last: bool) -> int:
    """Return the largest L1 distance between the arrays of two trajectories."""
    bits = (0, 1)
    paths = itertools.product(
        itertools.product(bits, repeat=steps),
        itertools.product(bits, repeat=steps - 1),
        itertools.product(bits, repeat=steps),
    )
    arrays = [entries(path, read_last) for path in paths]
    return max(
        sum(abs(u.get(k, 0) - v.get(k, 0)) for k in u.keys() | v.keys())
        for u, v in itertools.product(arrays, repeat=2)
    )


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_change_of_what_is_read(steps: int) -> None:
    """Without the last transitions two users differ by exactly 6H - 5, with them by 6H - 3."""
    assert farthest(steps, read_last=False) == 6 * steps - 5
    assert farthest(steps, read_last=True) == 6 * steps - 3


@pytest.mark.parametrize("improve", [kernels.improve_greedily, kernels.evaluate])
def test_last_transitions_are_not_read(improve) -> None:
    """The learners' values do not change with the transitions of the last step, but with those of the step before."""
    H, S, A = 3, 2, 2
    rng = np.random.default_rng(0)
    model = kernels.empty_model(H, S, A)
    model.means[:] = rng.uniform(0.6, 1, model.means.shape)
    model.chances[:] = rng.uniform(0.4, 0.6, model.chances.shape)
    rule = kernels.Rule(0.0, np.full(H, 0.1), np.zeros(H), 0, 0.0, 0.0, 0.0, False, 9, False)

    def values(moves):
        flat, cells = np.zeros((H, S)), np.zeros((H, S * A))
        mixed = np.full((A, H * S), 1.0 / A)
        working = (np.zeros((1, 1)), np.zeros(S * A), np.zeros(S), np.zeros(H * S), np.zeros(1), np.zeros(1))
        path = (np.zeros((H, S * A), np.int64), np.zeros((H, 2), np.int64))
        learner = kernels.Learner(
            flat.astype(np.int64), mixed, mixed, np.zeros((H + 1, S)), cells, *path, *working
        )
        improve(model._replace(chances=moves), rule, learner)
        return learner.values

    before = values(model.chances)
    for h, same in ((2, True), (1, False)):
        changed = model.chances.copy()
        changed[h] += 0.1
        assert np.array_equal(before, values(changed)) == same


def digits(n: int) -> int:
    """Return the number of binary digits."""
    return n.bit_length()


def test_printed_noise() -> None:
    """The printed noise is enough at H = 1, and for PRIVATE-UCB-PO at K = 3 up to H = 4; beyond this bound fails."""
    assert all(digits(K - 1) <= 3 * math.log(K) for K in range(2, 10**5))
    assert not all(digits(K - 1) <= 1.4 * math.log(K) for K in range(2, 10**5))
    enough = [H for H in range(1, 10) if (6 * H - 5) * digits(3 - 2) <= 3 * H * math.log2(3)]
    assert enough == [1, 2, 3, 4]
    assert all((6 * H - 5) * digits(2**m - 1) > 3 * H * m for H in range(2, 9) for m in range(1, 30))


def test_policies_of_small_steps() -> None:
    """Two runs of PRIVATE-UCB-PO with any Q: the ratio of the chances of actions is at most the bound of section 4."""
    rng = np.random.default_rng(1)
    K, H, A = 6, 3, 2
    eta = math.sqrt(2 * math.log(A) / (H * H * K))
    bound = (H + 1) * K**1.5 * math.sqrt(math.log(A) / 2)
    top = np.arange(H, 0, -1.0)
    worst = 0.0
    for extreme in (False, True):
        q = rng.uniform(size=(2, K - 2, H, A))
        if extreme:
            q = np.zeros((2, K - 2, H, A))
            q[0, ..., 0] = q[1, ..., 1] = 1
        logits = -eta * np.cumsum(q * top[:, None], axis=1)
        log_policy = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        gap = np.abs(log_policy[0] - log_policy[1]).max(axis=-1).sum()
        worst = max(worst, gap)
    assert bound / 4 < worst <= bound


def combination(a_tests: int, b_tests: int, least, v, gap=Fraction(1, 2)):
    """Return the sum of all A-tests minus all B-tests: the coefficients of the noise, and what E needs.

    ``least`` is Q^ in the A-tests, ``v`` the value of the next probe, ``gap`` the value of g in the B-tests.
    """
    level = (
        a_tests - b_tests,
        a_tests * least - b_tests * (least + gap),
        -b_tests * gap,
        (a_tests - b_tests) * v,
    )
    fresh = (1, least, least + gap, gap, v)
    needed = a_tests * (1 - least + v) - b_tests * (1 - least - gap + v)
    return max(abs(x) for x in (*level, *fresh)), needed


def test_level_costs() -> None:
    """Three A-tests and two B-tests: no coefficient exceeds 1, and E needs noise 2 - Q^ + v."""
    least, half = Fraction(1, 50), Fraction(1, 2)
    assert combination(3, 2, least, half) == (1, Fraction(248, 100))
    assert combination(3, 2, least, Fraction(0)) == (1, Fraction(198, 100))
    assert combination(4, 2, least, half)[0] > 1
    assert combination(1, 0, least, half)[1] < 2


def totals(H: int, m: int, probe: float = 2.47, last: float = 1.97) -> tuple[int, float, int]:
    """Return the first usable level, the noise that E needs and 3 H log2 K, for PRIVATE-UCB-VI with K = 2^m."""
    S, A = 5, 3 * m + 4
    width = (1 + H) * math.sqrt(2 * math.log(4 * S * A * H * 2.0**m))
    users = (H * (80_000 + 200 * A) + m * H * 1000) * width**2
    first = math.ceil(math.log2(2 * 4 * A * (2 * users / width) ** 2))
    assert width > 5 * H + 1
    assert 2.0 ** (first - 9) > H * 10**5 * width**2
    return first, (2 * probe * (H - 3) + 2 * last) * (m - first), 3 * H * m


def test_sizes() -> None:
    """The levels suffice at H = 20, K = 2^400, even with 2.2 in place of 2.47; not at H = 5 or K = 2^200."""
    first, total, needed = totals(20, 400)
    assert (first, round(total), needed) == (81, 28046, 24000)
    assert totals(20, 400, 2.2, 1.7)[1] > 24000
    assert totals(5, 400)[1] < totals(5, 400)[2]
    assert totals(20, 200)[1] < totals(20, 200)[2]


X, Y, G = range(3)
END = 3


class Probe(NamedTuple):
    """One test: whether it is an A-test, V at g and at the next probe, Q^ and the number of visits."""

    is_a: bool
    at_g: float
    at_next: float
    level: float
    visits: float


class Run:
    """PRIVATE-UCB-VI without noise (E1 = E2 = 0) on the stream U; L stands for (1 + H) Lc."""

    L, H, A, many, raised = 4.0, 5, 4, 20_000, 0.001

    def __init__(self) -> None:
        shape = (self.H + 2, 3, self.A)
        self.N, self.C = np.zeros(shape).tolist(), np.zeros(shape).tolist()
        self.T = np.zeros((*shape, 4)).tolist()
        self.probes = range(2, self.H)
        self.tests: dict[tuple[int, int], list[Probe]] = {}

    def q(self, h: int, s: int, a: int, value) -> float:
        n = self.N[h][s][a]
        if n == 0:
            return 0.0
        mean = (self.C[h][s][a] + sum(x * y for x, y in zip(self.T[h][s][a], value, strict=True))) / n
        return max(0.0, mean - self.L / math.sqrt(n))

    def row(self, h: int, s: int) -> list[float]:
        value = self.values(h + 1)
        return [self.q(h, s, a, value) for a in range(self.A)]

    def values(self, h: int) -> list[float]:
        if h > self.H:
            return [0.0] * 4
        value = self.values(h + 1)
        return [min(self.q(h, s, a, value) for a in range(self.A)) for s in (X, Y, G)] + [0.0]

    def add(self, h: int, s: int, a: int, cost: float, following: int) -> None:
        assert 0 <= cost <= 1
        self.N[h][s][a] += 1
        self.C[h][s][a] += cost
        self.T[h][s][a][following] += 1

    def g_row(self, h: int) -> list[float]:
        cells = zip(self.C[h][G], self.N[h][G], strict=True)
        return [max(0.0, c / n - self.L / math.sqrt(n)) if n else 0.0 for c, n in cells]

    def at_g(self, h: int, cost: float | None = None) -> int:
        """Visit g with the greedy action. Without a cost, the cost keeps its Q."""
        row = self.g_row(h)
        a = row.index(min(row))
        n = self.N[h][G][a] + 1
        keep = 0.0 if row[a] == 0 else max(0.0, row[a] * n + self.L * math.sqrt(n) - self.C[h][G][a])
        self.add(h, G, a, keep if cost is None else cost, END)
        return a

    def prepare(self, h: int, s: int) -> None:
        """Bring the actions 1 and 2 of a probe to equal counts and Q = q, and the others above; V is 0 next."""
        row = [self.q(h, s, a, [0.0] * 4) for a in range(self.A)]
        while not (
            min(row[2:]) > self.raised + 1e-9
            and max(abs(row[0] - self.raised), abs(row[1] - self.raised)) < 1e-12
            and self.N[h][s][0] == self.N[h][s][1]
        ):
            a = row.index(min(row))
            n = self.N[h][s][a] + 1
            goal = self.L * math.sqrt(n) + (-1 if n < self.many else self.raised * n)
            cost = 1.0 if a > 1 else min(1.0, max(0.0, goal - self.C[h][s][a]))
            if (s, a, n) == (X, 1, 1):  # the user who balances the first one
                self.add(h, s, a, cost, X)
                following = self.row(h + 1, X)
                assert max(following) == 0
                self.add(h + 1, X, 0, 1.0, G if h + 1 < self.H else END)
                if h + 1 < self.H:
                    self.at_g(h + 2)
            else:
                self.add(h, s, a, cost, G)
                self.at_g(h + 1)
            row[a] = self.q(h, s, a, [0.0] * 4)
        assert max(self.values(h + 1)) == 0

    def lift(self, h: int) -> None:
        """Bring the actions of g to 1/2 and slightly above, always with the greedy action."""
        levels = [0.5 + 0.001 * (self.A - a) * (a > 0) for a in range(self.A)]
        while True:
            row = self.g_row(h)
            a = row.index(min(row))
            if row[a] >= levels[a] - 1e-12:
                break
            n = self.N[h][G][a] + 1
            self.at_g(h, min(1.0, max(0.0, levels[a] * n + self.L * math.sqrt(n) - self.C[h][G][a])))
        while self.g_row(h).index(min(self.g_row(h))) == 0:  # the much visited action
            self.at_g(h, 1.0)

    def lower(self, h: int) -> int:
        a = self.at_g(h, 0.0)
        while self.C[h][G][a] > self.L * math.sqrt(self.N[h][G][a]) - 5 * self.L:
            assert self.at_g(h, 0.0) == a
        assert self.g_row(h)[a] == 0
        return a

    def lift_again(self, h: int, a: int) -> None:
        """Raise the lowered action until another one is greedy."""
        while self.g_row(h).index(min(self.g_row(h))) == a:
            assert self.at_g(h, 1.0) == a
        assert min(self.g_row(h)) >= 0.5

    def test(self, is_a: bool, h: int, s: int) -> None:
        """Test a probe at a tie of its actions 1 and 2: one visit of each, and the counts are equal again."""
        row, value = self.row(h, s), self.values(h + 1)
        assert abs(row[0] - row[1]) < 1e-11
        assert min(row[2:]) > row[0] + 1e-9
        n = self.N[h][s][0]
        level = row[0] + self.L / (2 * math.sqrt(n))
        self.tests.setdefault((h, s), []).append(Probe(is_a, value[G], value[s], level, n))
        first = int(is_a == (s == X))
        cost = self.L / (2 * math.sqrt(n)) + self.raised + 0.01
        self.add(h, s, first, cost, G)
        self.at_g(h + 1)
        after = self.row(h, s)
        assert after.index(min(after)) == 1 - first
        self.add(h, s, 1 - first, cost, G)
        self.at_g(h + 1)

    def play(self) -> None:
        """Run the set-up and the tests of one block."""
        for h in range(2, self.H + 1):  # the exchanged user
            self.add(h, X, 0, 1.0, X if h < self.H else END)
        for h in self.probes:
            for s in (X, Y):
                self.prepare(h, s)
        for h in self.probes:
            self.lift(h + 1)
        for _ in range(2):
            for h, s in itertools.product(self.probes, (X, Y)):
                self.test(False, h, s)
        for parity in (1, 0):
            family = [h for h in self.probes if h % 2 == parity]
            lowered = [self.lower(h + 1) for h in family]
            for _ in range(3):
                for h, s in itertools.product(family, (X, Y)):
                    self.test(True, h, s)
            for h, a in zip(family, lowered, strict=True):
                self.lift_again(h + 1, a)


@lru_cache(maxsize=1)
def played() -> Run:
    """Return the run after one block."""
    run = Run()
    run.play()
    return run


@pytest.mark.slow
def test_stream() -> None:
    """The greedy algorithm follows the stream, and its five tests at each probe have the values of section 3."""
    run = played()
    assert len(run.tests) == 2 * len(run.probes)
    for (h, _), tests in run.tests.items():
        assert [x.is_a for x in tests] == [False] * 2 + [True] * 3
        assert all(x.at_g == 0 for x in tests if x.is_a)
        assert all(0.5 <= x.at_g < 0.51 for x in tests if not x.is_a)
        assert all(x.at_next == 0 if h == run.H - 1 else 0.5 < x.at_next < 0.52 for x in tests)
        assert all(x.level < 0.02 + x.at_g for x in tests)


@pytest.mark.slow
def test_stream_needs_noise() -> None:
    """The combination of the five tests of each probe gives the least noise, with coefficients of at most about 1."""
    run = played()
    for (h, _), tests in run.tests.items():
        signs = [1 if x.is_a else -1 for x in tests]
        forms = [(1.0, -x.level, x.at_g, x.at_next) for x in tests]
        level = [sum(sign * form[i] for sign, form in zip(signs, forms, strict=True)) for i in range(4)]
        largest = max(abs(c) for form in [level, *forms] for c in form)
        needed = sum(sign * (1 - x.level + x.at_next) for sign, x in zip(signs, tests, strict=True))
        assert needed / largest > (1.97 if h == run.H - 1 else 2.47)
        # noise 1 in C and 4 in N of the first action has the prescribed sign in all tests
        assert all((1 - 4 * x.level > 0) == x.is_a for x in tests)


def test_linear_form() -> None:
    """The linear form of section 3 against the exact Q, for noise of L1 size 5 at one cell."""
    rng = np.random.default_rng(1)
    L = Run.L
    for x in played().tests[2, X]:
        n = x.visits
        cost = (x.level - L / (2 * math.sqrt(n)) - x.at_g) * n + L * math.sqrt(n)
        z = rng.laplace(size=(500, 4))
        z *= 5 / np.abs(z).sum(axis=1, keepdims=True)
        seen = n + z[:, 1]
        exact = (cost + z[:, 0] + x.at_g * (n + z[:, 2]) + x.at_next * z[:, 3]) / seen - L / np.sqrt(seen)
        linear = z @ np.array([1.0, -x.level, x.at_g, x.at_next])
        error = np.abs((exact - cost / n - x.at_g + L / math.sqrt(n)) * n - linear).max()
        assert 0 < error < 25 * (L / math.sqrt(n) + 3) / n

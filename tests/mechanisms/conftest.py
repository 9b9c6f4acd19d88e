"""Algorithm 1 of arXiv:2606.01952v1 once more, slow and plain, to hold the compiled code against."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI
from dpproof.mechanisms.rl.rlsvi.users import Users


def _beta(parameters, k):
    S, A, H = parameters.states, parameters.actions, parameters.horizon
    return parameters.beta_scale * 0.5 * S * H**3 * np.log(2 * H * S * A * k)


class _Plain:
    """The empirical model as its definition reads: every estimate is summed anew from the episodes so far."""

    def __init__(self, parameters):
        self.p = parameters
        self.episodes = []

    def estimates(self, h, s, a):
        visits = [e[h] for e in self.episodes if e[h][0] == s and e[h][1] == a]
        N, P = len(visits), np.zeros(self.p.states)
        if N == 0:
            return 0, 0.0, P
        for _, _, _, after in visits:
            P[after] += 1 / N
        return N, sum(r for _, _, r, _ in visits) / N, P

    def means_and_deviations(self, k, values_after):
        """Return mean and deviation of Q_h(s, a), given the function h -> V_{h+1}; episodes k = 1, 2, ..."""
        shape = (self.p.horizon, self.p.states, self.p.actions)
        mean, deviation = np.empty(shape), np.empty(shape)
        for h, s, a in reversed(list(np.ndindex(shape))):
            N, R, P = self.estimates(h, s, a)
            mean[h, s, a] = R + P @ values_after(h)
            deviation[h, s, a] = np.sqrt(_beta(self.p, k) / (N + 1))
        return mean, deviation

    def table(self, k, normals):
        p = self.p
        Q, V = np.zeros((p.horizon, p.states, p.actions)), np.zeros((p.horizon + 1, p.states))
        for h in reversed(range(p.horizon)):
            for s in range(p.states):
                for a in range(p.actions):
                    N, R, P = self.estimates(h, s, a)
                    Q[h, s, a] = R + P @ V[h + 1] + np.sqrt(_beta(p, k) / (N + 1)) * normals[h, s, a]
                V[h, s] = self.clip(max(Q[h, s]))
        return Q

    def clip(self, v):
        return v if self.p.clip is None else np.clip(v, 0, self.p.clip)

    def live(self, table, start, answer):
        """Let a user follow the table; `answer(h, s, a)` is the pair of next state and reward."""
        s, episode = start, []
        for h in range(self.p.horizon):
            a = list(table[h, s]).index(max(table[h, s]))
            after, r = answer(h, s, a)
            episode.append((s, a, r, after))
            s = after
        self.episodes.append(episode)


def _release(parameters, users, rng):
    plain, tables = _Plain(parameters), []
    for k in range(parameters.episodes):
        shape = (parameters.horizon, parameters.states, parameters.actions)
        tables.append(plain.table(k + 1, rng.standard_normal(shape)))
        plain.live(tables[-1], users.start, _answers(users, k))
    return np.array(tables)


def _run(parameters, environment, rng):
    plain, policies = _Plain(parameters), []
    for k in range(parameters.episodes):
        shape = (parameters.horizon, parameters.states, parameters.actions)
        table = plain.table(k + 1, rng.standard_normal(shape))
        policies.append(table.argmax(axis=2))

        def answer(h, s, a):
            after = int(np.searchsorted(np.cumsum(environment.transitions[s, a]), rng.random(), "right"))
            return after, environment.rewards[s, a]

        plain.live(table, environment.start, answer)
    return policies, plain.episodes


def _replay(parameters, users, tables):
    """Return mean and deviation (K, H, S, A) of every entry of one release, given those before it."""
    plain, means, deviations = _Plain(parameters), [], []
    for k, table in enumerate(tables):
        V = [*plain.clip(table.max(axis=2)), np.zeros(parameters.states)]
        mean, deviation = plain.means_and_deviations(k + 1, lambda h, V=V: V[h + 1])
        means.append(mean)
        deviations.append(deviation)
        plain.live(table, users.start, _answers(users, k))
    return np.array(means), np.array(deviations)


def _answers(users, k):
    return lambda h, s, a: (int(users.next_states[k, h, s, a]), users.rewards[k, h, s, a])


def _instance(seed, *, S=3, A=2, H=3, K=6, **options):
    """Return an RLSVI and users drawn at random, rewards included."""
    rng = np.random.default_rng(seed)
    parameters = RLSVIParameters(states=S, actions=A, horizon=H, episodes=K, **options)
    users = Users(rng.integers(S, size=(K, H, S, A)), rng.uniform(size=(K, H, S, A)), int(rng.integers(S)))
    return RLSVI(parameters), users


def _environment(seed, *, S=3, A=2, H=3):
    """Return a random environment in which some transitions have chance 0."""
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=(S, A, S)) * (rng.uniform(size=(S, A, S)) < 0.7)
    weights[..., 0] += 0.1
    rewards = rng.uniform(size=(S, A))
    return TabularMDP(weights / weights.sum(axis=2, keepdims=True), rewards, H, int(rng.integers(S)))


@pytest.fixture(scope="session")
def plain():
    return SimpleNamespace(
        release=_release, run=_run, replay=_replay, instance=_instance, environment=_environment
    )

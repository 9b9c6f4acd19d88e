"""tmp"""
import numpy as np
from benchmarks.agent_presets import walk
from dpproof.mechanisms.agents.learner import Path
def regrets(one, mdp, rng):
    best, value, last = mdp.optimal_values()[0, mdp.start], 0.0, None
    sums, learner = mdp.transitions.cumsum(axis=2), one._learner
    out=np.empty(one.task.episodes)
    states, actions = np.empty(mdp.horizon + 1, np.int64), np.empty(mdp.horizon, np.int64)
    for k in range(one.task.episodes):
        learner.begin()
        weights = learner.for_user()
        if weights is not last and (last is None or "po" not in one.name or k % 50 == 0):
            table = weights.astype(np.float64)
            value = mdp.policy_values(table / table.sum(axis=2, keepdims=True))[0, mdp.start] if 0 else mdp.policy_values(table / table.sum(axis=2, keepdims=True))[0, mdp.start]
        last = weights
        out[k] = best - value
        walk(sums, weights, mdp.start, rng, states, actions)
        path = Path(states.copy(), actions.copy(), mdp.rewards[states[:-1], actions])
        learner.see(learner.sent(path))
    return out

"""RLSVI: the published epsilon and the certified one, as the number of episodes grows."""

from matplotlib import pyplot as plt

from dpproof import account

EPISODES = [100, 300, 1_000, 3_000, 10_000]
results = [
    account("rlsvi", states=6, actions=2, horizon=20, episodes=episodes, adjacency="rewards-only")
    for episodes in EPISODES
]
printed = [result.published.epsilon("1e-6").upper for result in results if result.published]
plt.loglog(EPISODES, printed, marker="o", label="published")
plt.loglog(EPISODES, [float(result.epsilon("1e-6")) for result in results], marker="o", label="certified")
plt.xlabel("episodes")
plt.ylabel("epsilon at delta 1e-6, at most")
plt.legend()
plt.savefig("rlsvi_published_and_certified.svg")

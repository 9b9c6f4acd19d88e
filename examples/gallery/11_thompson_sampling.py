"""Thompson sampling: how much do pulls before the start save?"""

from matplotlib import pyplot as plt

from dpproof import calibrate

PULLS = [10, 30, 100, 300, 1_000]
for epsilon in (1, 2, 4):
    variances = [
        calibrate(
            "thompson",
            arms=5,
            rounds=1_000,
            pulls=pulls,
            adjacency="rewards-only",
            target_epsilon=epsilon,
            target_delta="1e-6",
        ).noise
        for pulls in PULLS
    ]
    plt.loglog(PULLS, variances, marker="o", label=f"epsilon {epsilon}")
plt.xlabel("pulls of each arm before the start")
plt.ylabel("variance of the draws")
plt.legend()
plt.savefig("thompson_sampling.svg")

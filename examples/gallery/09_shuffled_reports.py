"""Reports of 10,000 users that are shuffled before anybody reads them: how many noise bits are needed?"""

from matplotlib import pyplot as plt

from dpproof import account

THRESHOLDS = [100, 300, 1_000, 3_000, 10_000]
epsilons = [
    float(
        account(
            "shuffled-count", users=10_000, threshold=threshold, encoding="bits", adjacency="replace"
        ).epsilon("1e-6")
    )
    for threshold in THRESHOLDS
]
plt.loglog(THRESHOLDS, epsilons, marker="o")
plt.xlabel("threshold: twice the expected number of noise bits")
plt.ylabel("epsilon at delta 1e-6, at most")
plt.savefig("shuffled_reports.svg")

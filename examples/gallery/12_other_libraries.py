"""The same training in dp-accounting: its epsilon beside the certified bounds."""

import dp_accounting.pld
from matplotlib import pyplot as plt

from dpproof import account

DELTAS = [1e-3, 1e-5, 1e-7, 1e-9]
training = account("dp-sgd", sampling_rate=0.01, noise_multiplier=1, steps=1_000, adjacency="add-remove")
theirs = dp_accounting.pld.PLDAccountant().compose(training.to_dp_event())
plt.semilogx(
    DELTAS, [theirs.get_epsilon(delta) for delta in DELTAS], "x", markersize=10, label="dp-accounting"
)
plt.semilogx(DELTAS, [training.epsilon(delta).upper for delta in DELTAS], label="dpproof, upper bound")
plt.xlabel("delta")
plt.ylabel("epsilon")
plt.legend()
plt.savefig("other_libraries.svg")

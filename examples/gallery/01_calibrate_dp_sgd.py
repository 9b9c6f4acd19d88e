"""How much noise does DP-SGD need for epsilon 1, 2 and 4, as training gets longer?"""

from matplotlib import pyplot as plt

from dpproof import calibrate

STEPS = (1_000, 3_000, 10_000, 30_000)

for epsilon in (1, 2, 4):
    noise = [
        calibrate(
            "dp-sgd",
            sampling_rate=0.01,
            steps=steps,
            adjacency="add-remove",
            target_epsilon=epsilon,
            target_delta="1e-5",
        ).noise
        for steps in STEPS
    ]
    plt.loglog(STEPS, noise, marker="o", label=f"epsilon {epsilon}")

plt.xlabel("steps")
plt.ylabel("noise multiplier")
plt.legend()
plt.savefig("calibrate_dp_sgd.svg")

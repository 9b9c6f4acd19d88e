"""A running count, released every day: how much noise do a tree and matrix factorisation need?"""

from matplotlib import pyplot as plt

from dpproof import calibrate

DAYS = [16, 64, 256, 1024]
found = {
    name: [
        calibrate(name, leaves=days, sensitivity=1, target_epsilon=1, target_delta="1e-6").noise
        for days in DAYS
    ]
    for name in ("tree", "matrix-counting")
}
for name, noise in found.items():
    plt.semilogx(DAYS, noise, marker="o", label=name)
plt.xlabel("days")
plt.ylabel("standard deviation of the noise in a node")
plt.legend()
plt.savefig("counting_over_time.svg")

"""Which noise is smallest for one number under pure differential privacy?"""

import numpy as np
from matplotlib import pyplot as plt

from dpproof import calibrate

EPSILONS = np.array([0.5, 1, 2, 4, 8])
laplace, geometric = [], []
for epsilon in map(float, EPSILONS):
    laplace.append(2 * calibrate("laplace", sensitivity=1, target_epsilon=epsilon).noise ** 2)
    scale = calibrate("geometric", sensitivity=1, target_epsilon=epsilon).noise
    ratio = np.exp(-1 / scale)
    geometric.append(2 * ratio / (1 - ratio) ** 2)

plt.loglog(EPSILONS, laplace, marker="o", label="Laplace")
plt.loglog(EPSILONS, geometric, marker="o", label="geometric (for whole numbers)")
plt.xlabel("epsilon")
plt.ylabel("variance")
plt.legend()
plt.savefig("which_noise.svg")

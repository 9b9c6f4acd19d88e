"""Epsilon as an attacker sees it: the best true positive rate at every false positive rate."""

from matplotlib import pyplot as plt

from dpproof import account

rates = [i / 50 for i in range(51)]
for sigma in (1, 2, 5):
    result = account("gaussian", sigma=sigma)
    plt.plot(rates, [1 - float(result.trade_off(rate)) for rate in rates], label=f"sigma {sigma}")
    print(f"sigma {sigma}: epsilon {result.epsilon('1e-5')} at delta 1e-5, advantage {result.advantage()}")

plt.plot([0, 1], [0, 1], "k--", linewidth=0.8)
plt.xlabel("false positive rate")
plt.ylabel("true positive rate, at most")
plt.legend()
plt.savefig("what_an_attacker_can_do.svg")

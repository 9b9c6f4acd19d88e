"""What do a histogram, a private training and a final count reveal together?"""

from matplotlib import pyplot as plt

from dpproof import account, compose

histogram = account("gaussian", sigma=20, query="histogram", adjacency="add-remove")
training = account("dp-sgd", sampling_rate=0.01, noise_multiplier=1.5, steps=2_000, adjacency="add-remove")
count = account("laplace", scale=10, query="count", adjacency="add-remove")
together = compose(histogram, training, count)

deltas = [10.0**-k for k in range(2, 10)]
for name, result in {
    "histogram": histogram,
    "training": training,
    "count": count,
    "together": together,
}.items():
    plt.semilogx(deltas, [float(result.epsilon(delta)) for delta in deltas], marker="o", label=name)

plt.xlabel("delta")
plt.ylabel("epsilon, at most")
plt.legend()
plt.savefig("compose_a_pipeline.svg")

"""DP-Sniper on one pair of inputs: logistic regression learns an attack, fresh samples bound its power."""

import tempfile

import numpy as np
from dpsniper.attack.dpsniper import DPSniper
from dpsniper.classifiers.classifier_factory import LogisticRegressionFactory
from dpsniper.classifiers.torch_optimizer_factory import SGDOptimizerFactory
from dpsniper.mechanisms.abstract import Mechanism
from dpsniper.probability.estimators import EpsEstimator, PrEstimator
from dpsniper.search.ddconfig import DDConfig
from dpsniper.utils.paths import set_output_directory
from dpsniper.utils.torch import torch_initialize
from tasks import sample, serve


class Audited(Mechanism):
    """The task's mechanism under the tool's interface."""

    def __init__(self, task, rng):
        self.task, self.rng = task, rng

    def m(self, a, n_samples=1):
        """Draw samples."""
        return sample(self.task, a.item(0), n_samples, self.rng)


def answer(task, rng):
    """Its own defaults for the attack; as many samples for training, threshold and bound."""
    n = task["per_side"]
    config = DDConfig(n_train=n, n=n, n_check=n, n_final=n, n_processes=1, confidence=1 - task["alpha"])
    mechanism = Audited(task, rng)
    factory = LogisticRegressionFactory(in_dimensions=1, optimizer_factory=SGDOptimizerFactory())
    best = 0.0
    with tempfile.TemporaryDirectory() as folder:
        set_output_directory(folder)
        torch_initialize(torch_threads=1)
        first, second = np.array([1.0]), np.array([0.0])
        attack = DPSniper(mechanism, factory, config).best_attack(first, second)
        estimator = EpsEstimator(PrEstimator(mechanism, n, config))
        best = float(estimator.compute_eps_estimate(first, second, attack)[1])
    return {"epsilon_lower": best, "refutes": best > task["claimed"], "samples": 5 * n}


serve(answer, "dpsniper")

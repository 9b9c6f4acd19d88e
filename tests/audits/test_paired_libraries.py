"""Mechanisms of libraries in two runs with the same noise: what they declare, against what they get."""

import numpy as np
import pytest

from dpproof import compare_runs
from dpproof.audits.paired.finding import Answer

MORE, LESS = [0.9, 0.2, 0.7], [0.9, 0.2]


def test_opendp_states_the_loss_of_the_measured_change():
    dp = pytest.importorskip("opendp.prelude")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    dp.enable_features("contrib")
    measurement = dp.m.make_laplace(*space, scale=2.0)
    for epsilon, answer in ((0.5, Answer.NO_DIFFERENCE), (0.4, Answer.UNDECIDED)):
        found = compare_runs(lambda data: measurement(float(len(data))), MORE, LESS, epsilon=epsilon)
        assert found.answer is answer, found
    beside = compare_runs(lambda data: (measurement(1.0), len(data)), MORE, LESS, epsilon=1)
    assert [one.kind for one in beside.seen] == ["output without noise"]


@pytest.mark.slow
@pytest.mark.parametrize("per_record", [True, False], ids=["clipped", "not clipped"])
def test_opacus_gets_sums_of_clipped_gradients(per_record):
    torch, opacus = pytest.importorskip("torch"), pytest.importorskip("opacus")

    def step(data):
        layer = torch.nn.Linear(2, 1, bias=False)
        torch.nn.init.constant_(layer.weight, 0.5)
        model = opacus.grad_sample.GradSampleModule(layer)
        made = opacus.optimizers.DPOptimizer(
            torch.optim.SGD(model.parameters(), lr=0.1),
            noise_multiplier=1.0,
            max_grad_norm=1.0,
            expected_batch_size=2 if per_record else len(data),
        )
        made.zero_grad()
        model(torch.tensor(data, dtype=torch.float32, requires_grad=True)).pow(2).sum().backward()
        made.step()
        return layer.weight.detach().numpy().copy()

    step(np.ones((2, 2)))
    found = compare_runs(step, np.full((3, 2), 5.0), np.full((2, 2), 5.0), epsilon=1.0)
    assert found.answer is (Answer.UNDECIDED if per_record else Answer.DIFFERENCE), found
    assert found.draws == {"Opacus noise": 1}
    if not per_record:
        assert "The parameters of Opacus noise depend on the data" in found.seen[0].text

"""Mechanisms of libraries in two runs with the same noise: what they declare, against what they get."""

import sys
import types

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
    whole = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=1.0)
    found = compare_runs(lambda data: whole([len(data)] * 2), MORE, LESS, epsilon=1)
    assert "need epsilon 2 at delta 0" in found.seen[0].text  # a change of 2 in the norm of this measurement
    beside = compare_runs(lambda data: (measurement(1.0), len(data)), MORE, LESS, epsilon=1)
    assert [one.kind for one in beside.seen] == ["output without noise"]


def test_noise_that_opendp_draws_for_the_input_0_is_followed():
    """Libraries draw bare noise from OpenDP, and add it to their numbers themselves."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    laplace, gauss = dp.m.make_laplace(*space, scale=2.0), dp.m.make_gaussian(*space, scale=2.0)
    for noise, epsilon, delta, answer in (
        (laplace, 0.5, 0.0, Answer.NO_DIFFERENCE),
        (laplace, 0.4, 0.0, Answer.DIFFERENCE),
        (gauss, 1.36, 1e-3, Answer.NO_DIFFERENCE),
        (gauss, 1.35, 1e-3, Answer.DIFFERENCE),
    ):
        found = compare_runs(
            lambda data, one=noise: len(data) + one(0.0), MORE, LESS, epsilon=epsilon, delta=delta
        )
        assert found.answer is answer, found
    listed = compare_runs(
        lambda data: np.ones(2) * len(data) + np.array([laplace(0.0)] * 2), MORE, LESS, epsilon=9
    )
    assert listed.answer is Answer.UNDECIDED  # a list of bare noise is not followed, and no difference


def test_a_loss_of_opendp_that_is_not_known_has_a_reason_and_a_remedy():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    gauss = dp.m.make_gaussian(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)
    found = compare_runs(lambda data: gauss(len(data)), MORE, LESS, epsilon=1, delta=1e-6)
    assert found.answer is Answer.UNDECIDED
    assert "states it as ZeroConcentratedDivergence for AbsoluteDistance(i32)" in found.seen[0].text
    assert "; check the whole function with `dpproof audit`" in found.seen[0].text


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
    seeded = compare_runs(
        lambda data: (torch.manual_seed(5), step(data))[1], np.ones((3, 2)), 2 * np.ones((3, 2)), epsilon=1
    )
    assert [one.kind for one in seeded.seen][:2] == ["seed", "output without noise"]
    if not per_record:
        assert "The parameters of Opacus noise depend on the data" in found.seen[0].text


class Choice:
    """A mechanism as diffprivlib has them: a choice of the largest utility, with noise."""

    def __init__(self, epsilon, sensitivity, utility, *, monotonic=False):
        self.epsilon, self.delta, self.sensitivity, self.monotonic = epsilon, 0.0, sensitivity, monotonic
        self.utility, self.random_state, self._rng = utility, None, np.random.RandomState()

    def randomise(self):
        scale = 2 * self.sensitivity / self.epsilon
        return int(np.argmax(np.asarray(self.utility) + self._rng.gumbel(0, scale, len(self.utility))))


class Bounded:
    """A mechanism of the same form that adds noise and keeps the result between two bounds."""

    def __init__(self, epsilon, sensitivity, upper, random_state=None):
        self.epsilon, self.delta, self.sensitivity, self.upper = epsilon, 0.0, sensitivity, upper
        self.random_state, self._rng = random_state, np.random.RandomState(random_state)

    def randomise(self, value):
        return min(value + self._rng.laplace(0, self.sensitivity / self.epsilon), self.upper)


OWN = Bounded(1.0, 1.0, 9.0, random_state=7)


def made_by_the_caller(data):
    return OWN.randomise(sum(data))


@pytest.fixture
def as_diffprivlib(monkeypatch):
    module = types.ModuleType("diffprivlib.mechanisms")
    module.Choice, module.Bounded = Choice, Bounded
    monkeypatch.setitem(sys.modules, "diffprivlib.mechanisms", module)


@pytest.mark.parametrize(
    ("mechanism", "told"),
    [
        (lambda data: Choice(1.0, 1.0, [len(data), -len(data)]).randomise(), ""),
        (lambda data: Choice(1.0, 1.0, [len(data), -len(data)], monotonic=True).randomise(), "called monotonic"),
        (lambda data: Choice(1.0, 0.5, [len(data), 0]).randomise(), "changes by 1, more than its sensitivity 0.5"),
        (lambda data: Bounded(1.0, 1.0, 9.0).randomise(sum(data)), ""),
        (lambda data: Bounded(1.0, 1.0, len(data)).randomise(sum(data)), "upper 3 in the first run, upper 2"),
        (lambda data: [Bounded(1.0, 1.0, 9.0).randomise(1.0) for _ in data], "ends where the first run draws"),
        (lambda data: Bounded(1.0, 1.0, 9.0, random_state=7).randomise(sum(data)), "seed of this generator is 7"),
        (lambda data: Bounded(1.0, 1.0, 9.0, int(9 * sum(data))).randomise(1), "seed of this generator is computed"),
        (made_by_the_caller, ""),
    ],
    ids=["utilities of several", "monotonic", "sensitivity", "sound", "bound from the data", "calls", "seed", "data",
         "caller"],
)  # fmt: skip
@pytest.mark.usefixtures("as_diffprivlib")
def test_mechanisms_in_the_form_of_diffprivlib_are_compared(mechanism, told):
    """A utility may move by the sensitivity in each candidate: the largest change counts, not the length."""
    found = compare_runs(mechanism, MORE, LESS, epsilon=1.0)
    sure = [one.text for one in found.seen if one.sure]
    assert told in sure[0] if told else not sure

"""Constants of agents that were chosen on other environments than any page shows, and how many episodes they need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dpproof.mechanisms.agents.gradient_constants import GradientConstants
from dpproof.mechanisms.rl.private_ucb.constants import THEORY, Constants

OPTIMISTIC: Final = Constants(width=0.005, error=0.0, shift=0.0, remaining=True, threshold=0.25)
"""Constants of optimistic value iteration. The bonus ignores the errors of private counts. No regret guarantee."""
MIRRORED: Final = Constants(
    width=0.005, error=0.0, shift=0.0, remaining=True, learning_rate=300.0, threshold=0.25
)
"""Constants of policy optimisation. No regret guarantee."""
GRADIENTS: Final = GradientConstants()
"""Constants of policy gradients, tuned on a cart with other physics than CartPole. No guarantee of learning."""
PRESETS: Mapping[str, Constants | GradientConstants] = {
    "private-ucb-vi": OPTIMISTIC,
    "private-ucb-po": MIRRORED,
    "dp-ucbvi": OPTIMISTIC,
    "first-visit-vi": THEORY,
    "rlsvi": THEORY,
    "sdp-pe": THEORY,
    "thompson": THEORY,
    "policy-gradient": GRADIENTS,
}
"""The constants of each algorithm. RLSVI and Thompson sampling have none besides their noise.

Those of ``first-visit-vi`` are `dpproof.mechanisms.agents.first_visits.Trust`."""


@dataclass(frozen=True)
class Signal:
    """How large the noise of a count is, compared with an average count.

    Attributes:
        episodes: the number of users.
        average: an average count at the end: the number of counted visits, divided by the number of counters.
        deviation: the standard deviation of the noise of a count in the last release.
        opened: the average count at which an average transition is found; 0 if all transitions have counters.
        noisy, average_of: what has this noise, and this average, in words.
        remedy: what helps against too much noise, besides a larger epsilon.

    >>> Signal(episodes=1000, average=50.0, deviation=100.0).needed
    4000.0
    """

    episodes: int
    average: float
    deviation: float
    opened: float = 0.0
    noisy: str = "a count"
    average_of: str = "an average count"
    remedy: str = (
        "declare the support, use fewer observations, "
        "or the relation rewards-only if states and actions are public"
    )

    @property
    def needed(self) -> float:
        """The number of episodes at which an average count is twice the standard deviation of its noise.

        It is also enough to find an average transition, if transitions are found.
        The noise grows with the logarithm of the number of episodes. The formula ignores that.
        """
        return self.episodes * max(2 * self.deviation, self.opened) / self.average

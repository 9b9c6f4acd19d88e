"""Conservative Q-learning with discrete actions: the loss of a transition, and its derivative in closed form.

A transition (s, a, r, s') is a state, an action, a reward and the next state. Its loss is alpha (log sum exp Q(s, .)
- Q(s, a)) plus the Huber loss of Q(s, a) - y. Q is the network and Q' the target network. The target y is that of
double DQN: r + gamma Q'(s', argmax Q(s', .)), or r if s' ends the episode. The derivative treats y as a constant. Each
transition's loss depends on no other transition.

Source: Kumar, Zhou, Tucker and Levine, arXiv:2006.04779v3, equation 4 with the entropy term, on Q-learning;
van Hasselt, Guez and Silver, arXiv:1509.06461v3 (double DQN).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class CQL:
    """The loss function of conservative Q-learning. The module has its formula.

    Attributes:
        discount: discount of later rewards, in [0, 1).
        conservatism: the factor alpha of the conservative term, at least 0. With 0 this is double DQN.

    >>> loss = CQL(0.9, 0.0).losses(torch.tensor([[1.0, 3.0]]), torch.tensor([1]), torch.tensor([2.5]))
    >>> float(loss[0])
    0.125

    Raises:
        ValueError: a number outside its range.
    """

    discount: float = 0.99
    conservatism: float = 1.0

    def __post_init__(self) -> None:
        """Check both numbers."""
        if not 0 <= self.discount < 1:
            raise ValueError(f"discount ({self.discount!r}) must be in [0, 1)")
        if not 0 <= self.conservatism < float("inf"):
            raise ValueError(f"conservatism ({self.conservatism!r}) must be a finite number at least 0")

    def targets(
        self, rewards: torch.Tensor, terminal: torch.Tensor, online: torch.Tensor, slow: torch.Tensor
    ) -> torch.Tensor:
        """Return the targets (n,) of n transitions: the numbers that their action values should approach.

        `online` and `slow` (n, A) are the outputs of the network and of the target network in the next states, for A
        actions.
        """
        chosen = online.argmax(1, keepdim=True)
        following = slow.gather(1, chosen).squeeze(1)
        return rewards + self.discount * following * (~terminal)

    def losses(self, values: torch.Tensor, actions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the loss of each of n transitions (n,), from action `values` (n, A) for A actions."""
        taken = values.gather(1, actions[:, None]).squeeze(1)
        wrong = torch.nn.functional.huber_loss(taken, targets, reduction="none")
        return wrong + self.conservatism * (values.logsumexp(1) - taken)

    def signal(self, values: torch.Tensor, actions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the derivative of each transition's loss with respect to its action values, a tensor (n, A)."""
        column = actions[:, None]
        wrong = (values.gather(1, column) - targets[:, None]).clamp_(-1, 1)
        found = self.conservatism * torch.softmax(values, 1)
        return found.scatter_add_(1, column, wrong - self.conservatism)

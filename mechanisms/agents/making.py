"""The function behind `dpproof.agent`: it calibrates a private agent and checks everything before any user comes."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import asdict, replace
from pathlib import Path as FilePath
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.spelling import one_of
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.mechanisms.agents.agent import Agent, check_environment
from dpproof.mechanisms.agents.algorithms import ALGORITHMS
from dpproof.mechanisms.agents.boxes import BoxSpace
from dpproof.mechanisms.agents.gradient_constants import GradientConstants
from dpproof.mechanisms.agents.journal import Journal, JournalError, Memory
from dpproof.mechanisms.agents.passport import VERSION
from dpproof.mechanisms.agents.plans import PRIVATIZERS, Wish
from dpproof.mechanisms.agents.presets import PRESETS, Signal
from dpproof.mechanisms.agents.promise import Promise
from dpproof.mechanisms.agents.spaces import FiniteSpace
from dpproof.mechanisms.agents.task import FOUND, Task, successors_of
from dpproof.mechanisms.randomness import Entropy, Randomness, RecordedWords, RecordedWordsError, Source
from dpproof.mechanisms.rl.private_ucb.constants import Constants


class SwampedWarning(UserWarning):
    """Warns that the noise hides what an agent could learn from the declared number of episodes."""


def agent(
    algorithm: str,
    env: Any = None,
    *,
    episodes: int,
    horizon: int,
    epsilon: Any,
    delta: Any,
    adjacency: Adjacency | str,
    reward_range: tuple[float, float],
    most_reward: float | None = None,
    observations: Any = None,
    actions: Any = None,
    support: Any = None,
    starts: Any = None,
    privatizer: Any = "auto",
    constants: Constants | GradientConstants | None = None,
    seed: Source = None,
    journal: str | FilePath | None = None,
) -> Agent:
    """Return a private agent whose whole run keeps (epsilon, delta) under a neighbouring relation.

    Args:
        algorithm: ``private-ucb-vi``, ``private-ucb-po``, ``dp-ucbvi``, ``first-visit-vi``, ``rlsvi``, ``sdp-pe``,
            ``thompson`` or ``policy-gradient``.
        env: a Gymnasium environment, whose spaces the agent takes. Or give ``observations`` and ``actions``.
        episodes: the number of users, one episode each.
        horizon: the largest number of steps of an episode.
        epsilon: the privacy budget of the whole run, above 0. A text such as "0.1" means exactly this number.
        delta: the delta of the guarantee, in [0, 1).
        adjacency: ``replace``, ``add-remove`` or ``rewards-only``. It decides what gets noise.
        reward_range: the smallest and the largest reward of a step.
        most_reward: the largest sum of rewards of an episode, if rewards are at least 0. A sum beyond it is cut. With
            few rewards in an episode this needs much less noise.
        observations: the finite set of observations: a Gymnasium space, a number or a list of values. For
            ``policy-gradient``: a Gymnasium ``Box`` with finite limits, or a pair of lists with the lower and the upper
            limits of the numbers. Numbers beyond them are cut.
        actions: the finite set of actions: a Gymnasium space, a number or a list of values.
        support: the possible next observations of each observation and action, if they are public. A mapping from
            (observation, action), or a function with these arguments. ``"end"`` stands for the end of the episode.
            Without it every observation may follow every other one, and more counters get noise. With ``"found"`` a
            transition gets a counter when enough users have taken it. This is paid for in delta.
        starts: the observations in which an episode may begin, if they are public. Only SDP-PE needs them.
        privatizer: ``auto`` for the cheapest counters, or how counts are made private: ``tree``, ``square-root``,
            ``banded``, ``local``, or parameters of the accountant ``batched-counts``.
        constants: `Constants` of optimistic learning, or `GradientConstants`; a preset of the algorithm without it.
        seed: leave it out for an agent that may be deployed. A seed makes a simulation, which has no guarantee.
        journal: an SQLite file, from which the run goes on after a crash. It holds the users' data.

    Raises:
        ValueError: for a value outside its domain, spaces that are not finite, or a relation without a proof.
        JournalError: the journal belongs to another agent, or another process holds it.

    Warns:
        SwampedWarning: the noise hides what could be learned from this number of episodes.

    >>> private = agent("private-ucb-vi", observations=2, actions=2, episodes=1000, horizon=1, epsilon=2, delta="1e-5",
    ...              adjacency="replace", reward_range=(0, 1))
    >>> with private.user("Ann") as user:
    ...     action = user.act(0)
    ...     user.observe(1.0, 1)
    >>> private.users, private.result.covers_released_bits
    (1, True)
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm ({algorithm!r}) {one_of(algorithm, ALGORITHMS)}")
    _budget(epsilon, delta)
    relation, chosen = Adjacency.of(adjacency), _constants(algorithm, constants)
    acts = FiniteSpace.of("action", _space("action", actions, env))
    seen = _space("observation", observations, env)
    low, high = (float(end) for end in reward_range)
    rest = (acts, horizon, episodes, low, high)
    if isinstance(chosen, GradientConstants):
        _check_unused(
            algorithm, support=support, starts=starts, most_reward=most_reward, privatizer=privatizer
        )
        task = Task(BoxSpace.of("observation", seen), *rest)
    else:
        task = _with_tables(FiniteSpace.of("observation", seen), rest, support, most_reward, starts)
    if task.found:
        _check_found(algorithm, relation, delta, privatizer)
    if env is not None:
        check_environment(task, env)
    wish = Wish(relation, epsilon, delta, chosen, privatizer)
    return _begun(algorithm, task, wish, Randomness.of(seed), journal)


def _with_tables(
    seen: FiniteSpace,
    rest: tuple[FiniteSpace, int, int, float, float],
    support: Any,
    most_reward: float | None,
    starts: Any,
) -> Task:
    """Return a task with a finite set of observations, and with what is declared about them."""
    actions, horizon, _, low, high = rest
    return Task(
        seen,
        *rest,
        successors=successors_of(seen, actions, support),
        most_gain=_most_gain(most_reward, low, high, horizon),
        starts=tuple(map(seen.number, starts or ())),
        found=isinstance(support, str),
    )


def _constants(algorithm: str, given: Any) -> Constants | GradientConstants:
    """Return the constants of an algorithm: the preset unless others are given."""
    usual = PRESETS[algorithm]
    if given is None:
        return usual
    if type(given) is not type(usual):
        raise ValueError(f"constants ({given!r:.80}) must be {type(usual).__name__} for {algorithm}")
    found: Constants | GradientConstants = given
    return found


def _check_unused(algorithm: str, privatizer: Any, **given: Any) -> None:
    """Refuse arguments that an algorithm without tables does not use."""
    used = [name for name, value in given.items() if value is not None]
    used += ["privatizer"] if privatizer != "auto" else []
    if used:
        raise ValueError(
            f"{', '.join(used)} must be left out for {algorithm}, which keeps no tables of counts"
        )


def _budget(epsilon: Any, delta: Any) -> None:
    if not exact(epsilon, "epsilon") > 0:
        raise ValueError(f"epsilon ({epsilon!r}) must be above 0. A budget of 0 allows no learning.")
    if not 0 <= exact(delta, "delta") < 1:
        raise ValueError(f"delta ({delta!r}) must be in [0, 1)")


def _check_found(algorithm: str, adjacency: Adjacency, delta: Any, privatizer: Any) -> None:
    """Refuse arguments with which transitions cannot be found, or need not be."""
    if algorithm not in _FINDING:
        raise ValueError(
            f"algorithm ({algorithm!r}) must be one of {', '.join(_FINDING)} if support is 'found'"
        )
    if adjacency is Adjacency.REWARDS_ONLY:
        raise ValueError(
            "support ('found') must be left out under rewards-only. Transitions are public there, and need no noise."
        )
    if exact(delta, "delta") == 0:
        raise ValueError(
            "support ('found') needs a delta above 0, because a threshold may fail. Give a larger delta, "
            "or declare the support."
        )
    if privatizer in ("tree", "local"):
        raise ValueError(
            f"privatizer ({privatizer!r}) must be auto, square-root or banded if support is 'found'"
        )


_FINDING = ("private-ucb-vi", "private-ucb-po", "dp-ucbvi")


def _most_gain(most: float | None, low: float, high: float, horizon: int) -> float | None:
    """Return the largest sum of gains of an episode; None if it is not limited."""
    if most is None:
        return None
    if low != 0 or not most > 0:
        raise ValueError(
            f"most_reward ({most!r}) must be above 0, and reward_range must begin at 0, not {low!r}. Leave most_reward "
            "out if rewards may be negative."
        )
    return most / high if most / high < horizon else None


def _space(name: str, given: Any, env: Any) -> Any:
    if given is None and env is None:
        raise ValueError(f"{name}s (None) must be given if there is no env")
    return getattr(env, f"{name}_space") if given is None else given


def _warn(signal: Signal, epsilon: Any) -> None:
    """Warn if noise hides what could be learned."""
    if signal.needed > signal.episodes:
        warnings.warn(
            f"At epsilon {epsilon} the noise of {signal.noisy} has standard deviation {signal.deviation:.3g}, and "
            f"{signal.average_of} after {signal.episodes} episodes is {signal.average:.3g}. Learning needs about "
            f"{_rounded(signal.needed)} episodes. Use a larger epsilon, {signal.remedy}.",
            SwampedWarning,
            stacklevel=4,
        )


def _rounded(count: float) -> str:
    """Return a number with two significant digits and separators of thousands.

    >>> _rounded(81234.0)
    '81,000'
    """
    unit = 10 ** max(0, math.floor(math.log10(count)) - 1)
    return f"{round(count / unit) * unit:,}"


def _begun(
    algorithm: str, task: Task, wish: Wish, randomness: Randomness, path: str | FilePath | None
) -> Agent:
    """Return the agent, after repeating what its journal holds."""
    if path is None:
        return _made(algorithm, task, wish, randomness, Memory())
    if randomness.simulated:
        raise ValueError("seed must be left out with a journal, because a simulation has nothing to protect")
    journal = Journal(path, _asked(algorithm, task, wish))
    try:
        return _resumed(algorithm, task, wish, randomness, journal)
    except BaseException:
        journal.close()
        raise


def _made(algorithm: str, task: Task, wish: Wish, randomness: Randomness, journal: Memory) -> Agent:
    built = ALGORITHMS[algorithm](task, wish)
    if built.signal is not None:
        _warn(built.signal, wish.epsilon)
    promise = Promise(built.mechanism, built.releases, wish.adjacency, wish.epsilon, wish.delta)
    journal.choose(
        json.dumps({"mechanism": built.mechanism, "releases": [one.as_json() for one in built.releases]})
    )
    return Agent(algorithm, task, promise, built.learner(randomness), randomness, journal)


def _resumed(algorithm: str, task: Task, wish: Wish, randomness: Randomness, journal: Journal) -> Agent:
    words = RecordedWords(journal.words, journal.recorded_words())
    try:
        found = _made(algorithm, task, _as_before(wish, journal), Randomness(Entropy(words)), journal)
        found.replay(journal.events())
    except RecordedWordsError as error:
        raise JournalError(f"journal cannot be repeated: {error}") from error
    if words.left:
        raise JournalError(
            f"the journal holds {words.left} random words that its users do not need, so users are missing from it. "
            "Their noise must not be used for other users. Use a complete journal, or a new file."
        )
    found.settle()
    return found


def _as_before(wish: Wish, journal: Journal) -> Wish:
    """Return a wish for the counters that were chosen when the run began. Their noise is calibrated again."""
    held = json.loads(journal.chosen or "{}")
    if held.get("mechanism") != "batched-counts" or wish.privatizer not in PRIVATIZERS:
        return wish
    return replace(wish, privatizer=BatchedCountsParameters.read(held["releases"][0]))


def _asked(algorithm: str, task: Task, wish: Wish) -> str:
    """Return a description of everything that decides what is released."""
    given = wish.privatizer
    told = {
        "dpproof": VERSION,
        "algorithm": algorithm,
        "adjacency": wish.adjacency.value,
        "epsilon": str(exact(wish.epsilon)),
        "delta": str(exact(wish.delta)),
        "privatizer": given.as_json() if isinstance(given, BatchedCountsParameters) else given,
        "observations": task.observations.as_json(),
        "actions": task.actions.as_json(),
        "horizon": task.horizon,
        "episodes": task.episodes,
        "reward_range": [task.low, task.high],
        "most_gain": task.most_gain,
        "starts": task.starts,
        "constants": asdict(wish.constants),
        "support": FOUND if task.found else None if task.successors is None else task.successors.tolist(),
    }
    return json.dumps(told, sort_keys=True)

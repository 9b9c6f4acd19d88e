"""Trains the networks that experts come from, and writes them where the package keeps them.

    python tools/train_experts.py [PROBLEM ...] [--seed N] [--folder DIR] [--variations K] [--best B]

From nothing, on one core; problems are trained side by side with `--workers 2`. Of each variation the best
B of its kept networks stay, by their mean return over 50 episodes of the default problem with softened
actions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch

from dpproof.mechanisms.environments.batched import roll_out
from dpproof.mechanisms.environments.lunar_lander import has_box2d
from dpproof.mechanisms.rl.expert.population import Bases, Population
from dpproof.mechanisms.rl.expert.problems import PROBLEMS, problem_for
from dpproof.mechanisms.rl.expert.training import Learning, learn

FOLDER = Path(__file__).resolve().parent.parent / "mechanisms" / "rl" / "expert" / "networks"
LEARNING = {
    "cartpole": Learning(rounds=6000, horizon=500),
    "acrobot": Learning(rounds=6000, updates=4, horizon=500),
    "lunarlander": Learning(rounds=10_000, horizon=500),
    "hiv": Learning(rounds=1500, updates=6, copies=32, exploration=0.1, horizon=50),
}
EPISODES = 50


def train(name: str, variations: int, best: int, seed: int, folder: Path) -> str:
    """Train one problem's networks and write them; a line that says how good they are."""
    torch.set_num_threads(1)
    begin, problem, how = time.perf_counter(), problem_for(name), LEARNING[name]
    sizes, chosen, scores = how.layers(problem).sizes, [], []
    for child in np.random.SeedSequence(seed).spawn(variations):
        found = Bases(sizes, np.array(learn(problem, how, np.random.default_rng(child))))
        returns = mean_returns(Population(problem, found, *_undisturbed(found)), EPISODES)
        order = np.argsort(-returns)[:best]
        chosen.append(found.theta[order])
        scores += list(returns[order] / problem.unit)
    folder.mkdir(parents=True, exist_ok=True)
    Bases(sizes, np.concatenate(chosen)).save(folder / f"{name}.npz")
    listed = " ".join(f"{score:.4g}" for score in scores)
    return f"{name}: {len(scores)} networks in {time.perf_counter() - begin:.0f} s; mean returns {listed}"


def _undisturbed(bases: Bases) -> tuple[np.ndarray, np.ndarray]:
    """Every network as an expert of its own."""
    count = len(bases.theta)
    return np.arange(count), np.array([bases.last(which) for which in range(count)])


def mean_returns(experts: Population, episodes: int) -> np.ndarray:
    """The mean return of each expert in the default problem."""
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(experts.count), episodes)
    steps = roll_out(
        experts.problem.make(), lambda seen, rows: experts.play(seen, owner[rows], rng), len(owner), rng
    )
    return steps.returns().reshape(experts.count, episodes).mean(axis=1)


def main(given: Sequence[str] | None = None) -> None:
    """Train what the command line names."""
    parser = argparse.ArgumentParser(description="train the networks that experts come from")
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--variations", type=int, default=6)
    parser.add_argument("--best", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args(given)
    names = [problem_for(name).name for name in asked.problems]
    if "lunarlander" in names and not has_box2d():
        raise SystemExit("lunarlander needs Box2D: pip install 'dpproof[rl]'")
    work = [(name, asked.variations, asked.best, asked.seed, asked.folder) for name in names]
    with ProcessPoolExecutor(asked.workers) as pool:
        for line in pool.map(train, *zip(*work, strict=True)):
            print(line, flush=True)


if __name__ == "__main__":
    main()

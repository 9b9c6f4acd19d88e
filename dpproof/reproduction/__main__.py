"""``python -m dpproof.reproduction`` writes scores and plots again from the recorded runs in ``docs/experiments``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dpproof.reproduction.experiments import experiments
from dpproof.reproduction.suite import benchmark

RECORDED: Final = Path(__file__).resolve().parents[2] / "docs" / "experiments"
"""The folder of the recorded runs, with the page of each experiment."""


def main() -> None:
    """Write the scores that the package is published with, the frontier page, and the plots of all experiments."""
    benchmark.write(RECORDED, benchmark.SCORES)
    for experiment in experiments().values():
        experiment.study().redraw(RECORDED)


if __name__ == "__main__":
    main()

"""``dpproof simulate``: the answer on the command line has its confidence beside it, and no claim can name it."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dpproof.accountant.catalogue import CATALOGUE
from dpproof.cli import app

RUN = [
    "simulate",
    "--noise-multiplier",
    "2",
    "--adjacency",
    "add-remove",
    "--samples",
    "16384",
    "--seed",
    "3",
]


def test_the_answer_says_its_confidence_and_seed():
    done = CliRunner().invoke(
        app, [*RUN, "--steps", "6", "--separation", "3", "--strategy", "1,0.5", "--delta", "1e-3"]
    )
    assert done.exit_code == 0
    assert "with confidence 1 - 1e-9 (simulated, " in done.output
    assert "stated seed 3" in done.output
    assert "never a certified one" in done.output
    assert "simulate" not in CATALOGUE


def test_json_has_a_key_of_its_own():
    done = CliRunner().invoke(app, [*RUN, "--steps", "6", "--uses", "2", "--epsilon", "1", "--json"])
    told = json.loads(done.output)
    assert told["participation"] == {"law": "Allocation", "steps": 6, "uses": 2}
    assert told["simulated"]["quantity"] == "delta"
    assert told["simulated"]["lower"] < told["simulated"]["upper"]
    assert not {"lower", "upper", "verdict"} & set(told)


def test_separation_or_uses_is_needed():
    with pytest.raises(ValueError, match="--separation or --uses"):
        CliRunner().invoke(app, [*RUN, "--steps", "6", "--delta", "1e-3"], catch_exceptions=False)

"""Programs as mechanisms: the protocol, its errors, and audits through it."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import pytest

from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.sampling.callables import MechanismError
from dpproof.audits.engine.sampling.commands import Command, CommandError, command
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.call import audit
from dpproof.mechanisms.rl.rlsvi.users import Users

BITS = Neighbours(0.0, 1.0, "differ by at most 1", "0 or 1", lambda _a, _b: None)
LAPLACE = """
import json, random, sys
request = json.loads(sys.stdin.readline())
rng = random.Random(request.get("seed"))
scale = float(sys.argv[1])
for _ in range(request["n"]):
    print(json.dumps(request["data"] + scale * (rng.expovariate(1) - rng.expovariate(1))))
"""
WORDS = """
import json, random, sys
request = json.loads(sys.stdin.readline())
rng = random.Random(request["seed"])
for _ in range(request["n"]):
    told = rng.random() < 0.95
    print(json.dumps([["no", "yes"][int(request["data"]) ^ (not told)], None]))
"""


@pytest.fixture
def program(tmp_path):
    def written(text):
        path = tmp_path / "run.py"
        path.write_text(text)
        return [sys.executable, "-I", "-S", str(path)]

    return written


def asked(argv, data=0, n=3, **options):
    return command(argv, **options)(data, n, np.random.default_rng(0))


def echo(program, expression="request"):
    return program(f"import json, sys\nrequest = json.loads(input())\nprint(json.dumps({expression}))")


def test_the_request_is_one_line_with_data_number_and_seed(program):
    (request,) = asked(echo(program), {"a": [1.5]}, 1)
    assert request.keys() == {"data", "n", "seed"}
    assert request["data"] == {"a": [1.5]}
    assert request["n"] == 1
    assert 0 <= request["seed"] < 2**53
    (unseeded,) = asked(echo(program), None, 1, seeded=False)
    assert unseeded == {"data": None, "n": 1}


def test_arrays_episodes_and_users_can_be_sent(program):
    batch = Episodes.rectangular([[0, 1]], [[1, 0]], [[0.5, 1.0]])
    (sent,) = asked(echo(program, "request['data']"), batch, 1)
    assert sent == {"states": [0, 1], "actions": [1, 0], "rewards": [0.5, 1.0], "lengths": [2], "user": [0]}
    (sent,) = asked(echo(program, "request['data']"), [np.arange(2), np.float64(0.1)], 1)
    assert sent == [[0, 1], 0.1]
    (sent,) = asked(echo(program, "list(request['data'])"), Users([[[[0]]]], [[[[0.5]]]]), 1)
    assert sent == ["next_states", "rewards", "start"]
    with pytest.raises(CommandError, match="cannot receive an input of type object"):
        asked(echo(program), object(), 1)


def test_outputs_of_any_kind_come_back(program):
    lines = [1, "a\u2028b", None, [1, {"x": 2.5}], float("inf")]
    text = f"print({chr(10).join(json.dumps(x, ensure_ascii=False) for x in lines)!r})"
    assert asked(program(text), n=5) == lines


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "import sys; print('no disk', file=sys.stderr); sys.exit(3)",
            "ended with exit code 3. Its error output: no disk",
        ),
        (
            "raise ValueError('x' * 9000)",
            "exit code 1. Its error output: x*$|exit code 1. Its error output: x",
        ),
        ("print(1)", "wrote 1 lines instead of 3"),
        ("pass", "wrote 0 lines instead of 3"),
        ("print(1); print('oops'); print(3)", r"wrote line 2 \('oops'\), which is not JSON"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
            "exit code -15. Its error output: .empty",
        ),
    ],
)
def test_what_goes_wrong_is_named(program, text, why):
    with pytest.raises(CommandError, match=why):
        asked(program(text))


def test_a_program_that_takes_too_long_is_ended_with_all_it_started(program):
    child = "[sys.executable, '-c', 'import time; time.sleep(30)']"
    text = f"import subprocess, sys, time\nsubprocess.Popen({child})\n"
    begun = time.monotonic()
    with pytest.raises(CommandError, match=r"took longer than 0\.5 s"):
        asked(program(text + "time.sleep(30)"), timeout=0.5)
    with pytest.raises(CommandError, match=r"took longer than 0\.5 s"):
        asked(program(text), timeout=0.5)
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"argv": ()}, r"command \(\(\)\)"),
        ({"argv": ("a", 1)}, "list of texts"),
        ({"argv": ("a",), "timeout": 0}, "timeout"),
    ],
)
def test_what_is_no_command_is_refused(given, why):
    with pytest.raises(ValueError, match=why):
        Command(**given)
    with pytest.raises(CommandError, match="cannot be started"):
        asked(["no-such-program-anywhere"])


@pytest.mark.slow
def test_a_program_that_adds_too_little_noise_is_caught(program):
    argv = program(LAPLACE)
    quiet = command([*argv, "0.1"])
    found = audit("program", PureDP(1.0), quiet, BITS, seed=0, budget=1000)
    assert found.verdict is Finding.VIOLATION


@pytest.mark.slow
def test_a_program_that_keeps_its_claim_is_not_refuted(program):
    sound = command([*program(LAPLACE), "1.0"])
    assert audit("program", PureDP(1.0), sound, BITS, seed=0, budget=100).verdict is not Finding.VIOLATION


@pytest.mark.slow
def test_a_program_may_answer_in_words(program):
    found = audit("words", PureDP(1.0), command(program(WORDS)), BITS, seed=0, budget=1000)
    assert found.verdict is Finding.VIOLATION


@pytest.mark.slow
def test_a_program_with_randomness_of_its_own_must_say_so(program):
    argv = [*program(LAPLACE.replace('request.get("seed")', "")), "0.3"]
    with pytest.raises(MechanismError, match="It uses other randomness"):
        audit("program", PureDP(1.0), command(argv), BITS, seed=0, budget=1000)
    found = audit("program", PureDP(1.0), command(argv, seeded=False), BITS, seed=0, budget=2000)
    assert found.verdict is Finding.VIOLATION
    assert found.replay["seeded"] is False


def test_an_exit_code_can_be_an_output(program):
    text = "import json, random, sys\nrequest = json.loads(input())\nrng = random.Random(request['seed'])\n"
    made = command(program(text + "sys.exit(3) if rng.random() < 0.5 else print(1)"), failures="token")
    kinds = {str(output) for output in made(0, 12, np.random.default_rng(0))}
    assert kinds == {"1", "Raised(kind='exit code 3')"}


def test_the_input_that_fails_is_named(program):
    reading = "import json\nrequest = json.loads(input())\n"
    text = reading + "print('1\\n' * request['n'] if not request['data'] else '', end='')"
    with pytest.raises(MechanismError, match=r"on the second input: .* wrote 0 lines instead of 64"):
        audit("program", PureDP(1.0), command(program(text)), BITS, seed=0)

"""The pytest plugin, run by pytest itself: what passes, fails and is refused, and the budget of a whole session."""

from __future__ import annotations

import importlib
import json
import re
from xml.etree import ElementTree

import pytest
from scipy import stats

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import Claim
from dpproof.privacy_tests import Privacy

# Before pytester remembers what is loaded, to unload the rest: numpy cannot be loaded twice.
for name in ("dpproof.privacy_tests", "dpproof.answers.claims"):
    importlib.import_module(name)

pytest_plugins = ["pytester"]

MODULE = """
import pytest

def good(value, n, rng):
    return value + rng.geometric(0.632, n) - rng.geometric(0.632, n)

def bad(value, n, rng):
    return value + rng.laplace(0, 0.4, n)
"""


@pytest.fixture
def session(pytester):
    """Run pytest on a module that holds the two mechanisms and these tests."""

    def _session(tests, *arguments, ini="", apart=False):
        pytester.makeini(f"[pytest]\nfilterwarnings = error\n{ini}")
        pytester.makepyfile(test_it=MODULE + tests)
        run = pytester.runpytest_subprocess if apart else pytester.runpytest_inprocess
        return run("-p", "no:cacheprovider", *arguments)

    return _session


ONE = """
@pytest.mark.privacy(epsilon=1.0, adjacency="add-remove")
def test_{name}(privacy):
    privacy.audit({name}, 41.0, 42.0)
"""


def test_a_sound_mechanism_passes_and_a_broken_one_fails_with_its_witness(session, pytester):
    result = session(
        ONE.format(name="good") + ONE.format(name="bad"),
        "--junitxml=junit.xml",
        ini="privacy_witnesses = found",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "privacy: violation*",
            "  promised   epsilon = 1.0 (add-remove)",
            "  found      epsilon at least *, confidence 0.999*",
            "  pair       41.0 and 42.0",
            "  on trust   41.0 and 42.0: add-remove neighbours (*",
            "  witness    *found*.json",
            "privacy: 2 checks: 1 consistent, 1 violation",
        ]
    )
    (witness,) = (pytester.path / "found").glob("*.json")
    found = json.loads(witness.read_text(encoding="utf-8"))
    assert (found["verdict"], found["claim"]) == ("violation", "test_it.py::test_bad")
    assert found["alpha"] == 0.001 / 2 / 2  # two tests, the first audit of each
    properties = ElementTree.parse(pytester.path / "junit.xml").iter("property")
    assert [entry.get("name") for entry in properties] == ["privacy", "privacy"]


def test_equal_sessions_come_out_equal(session):
    def figures():
        text = session(ONE.format(name="bad")).stdout.str()
        return re.findall(r"epsilon at least .*|counts .*", text)

    assert figures() == figures() != []


def test_the_shares_of_a_session_add_up_to_less_than_its_alpha(session, pytester):
    tests = """
@pytest.mark.parametrize("k", range(3))
@pytest.mark.privacy(epsilon=1.0, adjacency="add-remove", budget=100)
def test_it(privacy, k, record_testsuite_property):
    for _ in range(4):
        with open("alphas", "a") as file:
            file.write(f"{privacy.audit(good, 0.0, 1.0).alpha}\\n")
"""
    session(tests, ini="privacy_alpha = 0.03").assert_outcomes(passed=3)
    alphas = [float(line) for line in (pytester.path / "alphas").read_text(encoding="utf-8").split()]
    assert alphas == [0.01 / 2, 0.01 / 4, 0.01 / 8, 0.01 / 16] * 3
    assert sum(alphas) < 0.03


CERTIFY = """
@pytest.mark.privacy(mu={mu}, adjacency="by-sensitivity")
def test_it(privacy):
    privacy.certify("gaussian", sigma=1.0, compositions=4)
"""


def test_a_promise_is_certified_or_not(session):
    session(CERTIFY.format(mu=2.0)).assert_outcomes(passed=1)
    result = session(CERTIFY.format(mu=1.9))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["promise not certified: gaussian", "  promised   mu = 1.9 (by-sensitivity)"])


def test_strict_wants_an_audit_that_could_have_seen_something(session):
    few = '@pytest.mark.privacy(epsilon=1.0, adjacency="replace", budget=20{})\n'
    test = "def test_it(privacy):\n    privacy.audit(good, 0.0, 1.0)\n"
    session(few.format("") + test).assert_outcomes(passed=1)
    session(few.format(", strict=True") + test).assert_outcomes(failed=1)


SLIPS = [
    ("", "", "The fixture `privacy` needs the marker `@pytest.mark.privacy(...)`."),
    ("@pytest.mark.privacy(1.0)", "", "value (1.0) must be given by name"),
    ("@pytest.mark.privacy(epsilon=1.0)", "", "adjacency is missing and has no default"),
    (
        "@pytest.mark.privacy(adjacency='replace')",
        "",
        "epsilon is missing. Give epsilon (with delta), rho or mu.",
    ),
    ("@pytest.mark.privacy(epsilon='x', adjacency='replace')", "", "epsilon ('x') must be a finite number"),
    (
        "@pytest.mark.privacy(epsilon=1.0, adjacency='replace', budget=-2)",
        "",
        "budget (-2) must be",
    ),
    ("@pytest.mark.privacy(epsilon=1.0, adjacency='replace', strict='no')", "", "strict ('no') must be true"),
    ("@pytest.mark.privacy(epsilon=1.0, adjacency='users')", "", "adjacency ('users') must be one of"),
    ("@pytest.mark.privacy(epsilon=1.0, adjacency='replace', frobs=1)", "", "key ('frobs') must be one of"),
    (
        "@pytest.mark.privacy(epsilon=1.0, adjacency='replace')",
        "privacy_alpha = 2",
        "privacy_alpha ('2') must",
    ),
    ("@pytest.mark.privacy(epsilon=1.0, adjacency='replace')", "privacy_seed = x", "privacy_seed ('x') must"),
]


def one_line(result):
    """What is said of the only test that failed: everything below its heading, which must be one line."""
    (said,) = re.findall(r"^_+ (?:ERROR at setup of )?test_it _+\n(.*?)^=", result.stdout.str(), re.M | re.S)
    assert len(said.splitlines()) == 1, said
    return said


@pytest.mark.parametrize(("marker", "ini", "says"), SLIPS)
def test_a_slip_is_an_error_that_says_so_in_one_line(session, marker, ini, says):
    result = session(f"{marker}\ndef test_it(privacy):\n    pass\n", ini=ini)
    result.assert_outcomes(errors=1)
    assert says in one_line(result)


USES = [
    ("privacy.certify('gausian', sigma=1.0)", "mechanism ('gausian') must be one of"),
    ("privacy.certify('gaussian', sigm=1.0)", "parameter ('sigm') must be one of: sigma"),
    ("privacy.certify('gaussian', sigma=-1.0)", "sigma (-1.0) must be a number above 0"),
    (
        "privacy.certify('rlsvi', states=2, actions=2, horizon=2, episodes=4)",
        "no proved guarantee for rlsvi",
    ),
    ("privacy.audit(3, 0.0, 1.0)", "mechanism (3) must be a function"),
    ("privacy.audit(good, 0.0, 1.0, frobs=3)", "option ('frobs') must be one of: failures, nan, seeded"),
    ("privacy.audit(good, 0.0, 1.0, nan='maybe')", "nan ('maybe') must be one of: error, token"),
    ("privacy.audit(lambda x, n, rng: x, 0.0, 1.0)", "privacy: mechanism"),
    ("privacy.audit(lambda x, n, rng: 1 / 0, 0.0, 1.0)", "raised ZeroDivisionError .*test_it.py:10"),
]


@pytest.mark.parametrize(("call", "says"), USES)
def test_what_cannot_be_checked_fails_in_one_line(session, call, says):
    marker = "@pytest.mark.privacy(epsilon=1.0, adjacency='replace')"
    result = session(f"{marker}\ndef test_it(privacy):\n    {call}\n")
    result.assert_outcomes(failed=1)
    said = one_line(result)
    assert says in said or re.search(says, said)


def test_refusals_are_outputs_where_the_test_says_so(session):
    test = """
@pytest.mark.privacy(epsilon=1.0, adjacency="replace", budget=2000)
def test_it(privacy):
    def refuses(value, rng):
        if value and rng.random() < 0.9:
            raise RuntimeError("too few")
        return 0
    privacy.audit(refuses, 0, 1, failures="token")
"""
    result = session(test)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["privacy: violation*"])


def test_data_are_audited_on_extreme_neighbours_and_the_failure_is_in_words(session):
    test = """
@pytest.mark.privacy(epsilon=1.0, adjacency="replace")
def test_it(privacy):
    privacy.audit(lambda v, n, rng: sum(v) + rng.laplace(0, 1.0, n), [0.0, 1.0, 9.0])
"""
    result = session(test)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["privacy: violation: The claim of epsilon 1 is false*", "*in words*pairs of neighbours*"]
    )


@pytest.mark.slow
def test_without_the_fixture_nothing_is_imported(session):
    test = "def test_it():\n    import sys\n    assert not {'numpy', 'accountant'} & set(sys.modules)\n"
    session(test, apart=True).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("privacy.audit(bad, 0.0, 0.0)", "*must contain two different inputs"),
        ("privacy.audit(good, 0.0, 1.0, alpha=0.5)", "*alpha (0.5) must be above 0 and at most 0.0005,*"),
        (
            "privacy.audit(bad, Neighbours(0.0, 1.0, Adjacency.REWARDS_ONLY, 'x', lambda a, b: None))",
            "*pair (x) consists of rewards-only neighbours, but the claim is about add-remove neighbours",
        ),
        ("privacy.audit(good, 0.0, 1.0, alpha='0.1')", "*alpha ('0.1') must be above 0 and at most 0.0005,*"),
        (
            "privacy.audit(bad, 0.0, data=[0.0])",
            "*first (0.0) must be left out, because dpproof makes the inputs from data*",
        ),
        ("privacy.audit(bad, 0.0)", "*data (of type float)*must be a list*"),
        ("privacy.audit(bad)", "*data is missing*"),
        (
            "privacy.audit(bad, Neighbours(0.0, 1.0, Adjacency.ADD_REMOVE, 'x', lambda a, b: None), 2.0)",
            "*second (2.0) must be left out, because first already holds both*",
        ),
        ("assert bad", "*The test checks nothing*"),
    ],
)
def test_what_would_show_nothing_fails(session, body, said):
    test = f"""
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.data.pairs import Neighbours

@pytest.mark.privacy(epsilon=1.0, adjacency="add-remove")
def test_it(privacy):
    {body}
"""
    result = session(test)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([said])


@pytest.mark.slow
def test_a_promise_without_the_fixture_fails_and_is_counted(session):
    promised = """
@pytest.mark.privacy(epsilon=1.0, adjacency="add-remove")
def test_{name}({arguments}):
    {body}
"""
    late = "assert request.getfixturevalue('privacy').audit(good, 0.0, 1.0).alpha == 0.001 / 3 / 2"
    tests = [
        promised.format(name="nothing", arguments="", body="pass"),
        promised.format(name="late", arguments="request", body=late),
        promised.format(name="skipped", arguments="", body="pytest.skip()"),
    ]
    session("".join(tests)).assert_outcomes(passed=1, failed=1, skipped=1)


def test_a_relation_without_a_sensitivity_certifies_nothing(session):
    result = session("""
@pytest.mark.privacy(epsilon=1.0, adjacency="replace")
def test_stated(privacy):
    privacy.certify("laplace", scale=2.0, query="histogram")

@pytest.mark.privacy(epsilon=0.1, delta=1e-3, adjacency="replace")
def test_too_little(privacy):
    privacy.certify("laplace", scale=2.0, query="histogram")

@pytest.mark.privacy(epsilon=1.0, adjacency="replace")
def test_guessed(privacy):
    privacy.certify("laplace", scale=2.0)
""")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*sensitivity is missing. Under replace neighbours*"])
    rests = "*rests on: classic.laplace, PROVED GIVEN; assumptions: 3, readings: 0, laws: 0"
    result.stdout.fnmatch_lines(
        [
            "*certified  epsilon at most*",
            rests,
            "*released bits: in real*",
            "*nothing is assumed of the machine's functions*",
        ]
    )


SESSIONS, TESTS, AUDITS = 80, 3, 2
ALPHA = 0.2
"""Far above the default, so that false alarms could be seen at all."""


def on_the_limit(truth, n, rng):
    """Randomised response whose loss is exactly 1."""
    return (rng.random(n) < 0.7310585786300049) == truth


def beyond(truth, n, rng):
    return (rng.random(n) < 0.9) == truth


def alarms(mechanism, seed):
    """Whether a session of several tests with several audits each sees a violation anywhere."""
    for test in range(TESTS):
        claim = Claim(f"test {test}", "the:test", {}, Adjacency.REPLACE, {"epsilon": 1.0})
        privacy = Privacy(claim, ALPHA / TESTS, seed, budget=2000)
        for _ in range(AUDITS):
            try:
                privacy.audit(mechanism, True, False, power=False)  # alarms are counted, power is not asked
            except pytest.fail.Exception:
                return True
    return False


@pytest.mark.slow
def test_sessions_on_the_limit_err_no_more_often_than_alpha():
    # 80 sessions at alpha 0.2: at most the 99.9% quantile of their number, 28, may see a violation. If each test spent
    # all of alpha, a session would err with probability up to 0.488, and the sum would exceed 28 with probability 0.99.
    seen = sum(alarms(on_the_limit, seed) for seed in range(SESSIONS))
    assert seen <= stats.binom(SESSIONS, ALPHA).ppf(0.999)


def test_sessions_beyond_it_see_it():
    assert all(alarms(beyond, seed) for seed in range(5))


def test_a_violation_that_real_arithmetic_tolerates_is_printed_with_what_is_not_known(session):
    result = session(
        """
@pytest.mark.privacy(epsilon=1.0, adjacency="add-remove", arithmetic="real", budget=4000)
def test_noise(privacy):
    privacy.audit(lambda value, n, rng: value + rng.laplace(0, 1, n), 0.0, 1.0)
"""
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["privacy: test_it.py::test_noise passed in spite of this: *floating*low bits*"]
    )

"""What the kernel must accept and reject; its interval operations against Arb at 300 bits."""

import ast
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.proofs_check.certificates import FOLDER
from dpproof.proofs_check.kernel import Rejected, check, goal_hash, load
from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel.__main__ import main as kernel_alone
from dpproof.proofs_check.registry import certificate_id, statements
from dpproof.proofs_check.search import certificate, prove, refute
from tests.proofs_check.hints import make_goal
from tests.rows import rows, tiered

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "proofs_check" / "kernel"
RANGE, POSITIVE, IDENTITY = {"leaf": "range"}, {"leaf": "positive"}, {"leaf": "identity"}


def accepts(claim, proof, verdict="PROVED"):
    try:
        return check(certificate("test", claim, verdict, proof), claim) is not None
    except Rejected:
        return False


def taylor(v, at, order):
    return {"leaf": "taylor", "var": v, "at": at, "order": order}


TIGHT = [
    ({"b": "[0, 1/2]"}, "(1-b/4)*exp(b) - 1 - b/2", taylor("b", "0", 2)),
    ({"x": "(-inf, 0]"}, "exp(-x/2) - 1 + exp(x)/2 - 1/2", taylor("x", "0", 2)),
    ({"x": "(-inf, 0]"}, "exp(-x/2) - 1 + exp(x/2)/2 - 1/2", taylor("x", "0", 2)),
    ({"x": "[0, inf)"}, "x - log(1+x)", {"leaf": "mono", "var": "x", "dir": 1, "sub": IDENTITY}),
    ({"x": "[0, inf)", "q": "(0, inf)"}, "1/(2*q) - x/(x**2+q**2)",
     {"leaf": "sos", "terms": [["1", ["-", "x", "q"]]],
      "over": ["*", "2", "q", ["+", ["^", "x", "2"], ["^", "q", "2"]]]}),
]  # fmt: skip


@pytest.mark.parametrize(("variables", "text", "proof"), TIGHT)
def test_tight_inequality_is_accepted_and_its_mutation_rejected(variables, text, proof):
    assert accepts(make_goal(variables, f"{text} >= 0"), proof)
    assert not accepts(make_goal(variables, f"{text} >= 1/1000"), proof)
    assert not accepts(make_goal(variables, f"{text} > 0"), proof)


FALSE = [
    ({"b": "[-2, 2]"}, "(b+1)**2 + 0*(1/b) >= 0", taylor("b", "-1", 2)),
    ({"b": "[-2, 2]"}, "0*(1/b) >= 0", POSITIVE),
    ({"b": "[-2, 2]"}, "0*log(b) == 0", IDENTITY),
    ({"b": "[-2, 2]"}, "b/b == 1", IDENTITY),
    ({"b": "[-2, 2]"}, "sqrt(b**2) == b", IDENTITY),
    ({"b": "[-2, 2]"}, "log(b**2) == 2*log(b)", IDENTITY),
    ({"x": "[-2, -1]", "y": "[-2, -1]"}, "sqrt(x*y) == sqrt(x)*sqrt(y)", IDENTITY),
    ({"x": "[-2, -1]", "y": "[-2, -1]"}, "x/(x*y) >= 0", POSITIVE),
    ({"x": "[0, 1]"}, "x > 0", POSITIVE),
    ({"x": "[0, 1]"}, "log(x) - log(x) == 0", IDENTITY),
    ({"x": "[0, 1]"}, "x/x >= 0", RANGE),
    ({"x": "(0, 1]"}, "1/x - 2 >= 0", {"leaf": "mono", "var": "x", "dir": 1, "sub": RANGE}),
    ({"x": "[-1, 1]"}, "x >= -1/2", {"leaf": "mono", "var": "x", "dir": 1, "sub": RANGE}),
    ({"x": "[0, 2]"}, "1 - x >= 0", {"subst": {"x": ["^", "q", "2"]}, "vars": {"q": "[0, 1]"}, "sub": RANGE}),
    ({"x": "[0, 1]"}, "x > 0", {"subst": {"x": ["exp", "t"]}, "vars": {"t": "(-inf, 0]"}, "sub": RANGE}),
    ({"x": "[0, 1]"}, "x >= 1", {"split": ["x", "1", RANGE, RANGE]}),
    ({"x": "[0, 1]"}, "x >= 0", {"leaf": "guess"}),
    ({"x": "[0, 1]"}, "x >= 0", {"leaf": ["range"]}),
    ({"x": "[0, 1]"}, "x >= 0", {"leaf": "range", "note": "trust me"}),
    ({"x": "[0, 1]"}, "-1 >= 0", {"leaf": "positive", "multipliers": [["-1", 0]]}),
]  # fmt: skip


@pytest.mark.parametrize(("variables", "text", "proof"), FALSE)
def test_unsound_step_is_rejected(variables, text, proof):
    claim = make_goal(variables, text, "x >= -1") if "x" in variables else make_goal(variables, text)
    assert not accepts(claim, proof)


def test_negative_multiplier_and_unmet_hypothesis_are_rejected():
    claim = make_goal({"x": "[0, 1]"}, "0 >= x", "x >= 0")
    assert not accepts(claim, {"leaf": "positive", "multipliers": [["-1", 0]]})
    assert not accepts(make_goal({"x": "[0, 1]"}, "0 >= x", "0 >= x"), {"point": {"x": "1"}}, "REFUTED")


@pytest.mark.parametrize(
    "point", [{"x": "1"}, {"x": "1/2"}, {"x": "-1"}, {}, {"x": "3/4", "y": "0"}, {"x": 1}]
)
def test_bad_point_is_rejected(point):
    assert accepts(make_goal({"x": "[0, 1)"}, "1/2 >= x"), {"point": {"x": "3/4"}}, "REFUTED")
    assert not accepts(make_goal({"x": "[0, 1)"}, "1/2 >= x"), {"point": point}, "REFUTED")


def test_a_point_must_be_whole_where_the_claim_says_so():
    claim = {**make_goal({"n": "[1, 3]"}, "(n-1)*(n-2) >= 0"), "integers": ["n"]}
    assert not accepts(claim, {"point": {"n": "3/2"}}, "REFUTED")


@pytest.mark.parametrize(
    "text",
    ['{"a": 1.5}', '{"a": NaN}', '{"a": Infinity}', '{"a": 1, "a": 2}', "{", "[" * 100_000, '{"a": 1e400}'],
)
def test_unreadable_text_is_rejected(text):
    with pytest.raises(Rejected):
        load(text)


GOOD = make_goal({"x": "[0, 1]"}, "x >= 0")
DEEP = "x"
for _ in range(150):
    DEEP = ["neg", DEEP]


@pytest.mark.parametrize(
    "claim",
    [
        {"vars": {"x": [0, 1]}, "goal": [">=", "x", "0"]},
        {"vars": {"x": "[0, 1"}, "goal": [">=", "x", "0"]},
        {"vars": {"x": "[1, 0]"}, "goal": [">=", "x", "0"]},
        {"vars": {"x": "[0, inf]"}, "goal": [">=", "x", "0"]},
        {"vars": {"x": "[nan, 1]"}, "goal": [">=", "x", "0"]},
        {"vars": {"x": "[0, 1/0]"}, "goal": [">=", "x", "0"]},
        {"vars": {"x": "[0, 1]"}, "goal": [">=", "x", 0]},
        {"vars": {"x": "[0, 1]"}, "goal": [">=", "x", 0.5]},
        {"vars": {"x": "[0, 1]"}, "goal": ["!=", "x", "2"]},
        {"vars": {"x": "[0, 1]"}, "goal": [">=", ["sin", "x"], "0"]},
        {"vars": {"x": "[0, 1]"}, "goal": [">=", "y", "0"]},
        {"vars": {"x": "[0, 1]"}, "goal": [">=", ["^", "x", "1/2"], "0"]},
        {"vars": {"x": "[0, 1]"}, "goal": [">=", DEEP, "0"]},
        {"vars": {"x": "[0, 1]"}, "goal": [">=", "x", "0"], "trust": "yes"},
    ],
)
def test_malformed_claim_is_rejected(claim):
    for proof in (RANGE, POSITIVE):
        assert not accepts(claim, proof)


@pytest.mark.parametrize(
    "change",
    [{"v": 2}, {"v": True}, {"id": 3}, {"verdict": "TRUE"}, {"prec": 5}, {"prec": "80"}, {"extra": 1},
     {"claim_sha256": "0" * 64}, {"claim": make_goal({"x": "[0, 2]"}, "x >= 0")}, {"proof": None}],
)  # fmt: skip
def test_damaged_frame_is_rejected(change):
    good = certificate("test", GOOD, "PROVED", RANGE)
    assert check(good, GOOD).verdict == "PROVED"
    with pytest.raises(Rejected):
        check(good | change, GOOD)


ATOMS = [
    ({"x": "[1, inf)"}, "x*x >= x", POSITIVE, "positive"),
    ({"x": "[1, inf)"}, "x*log(2*x) >= 0", POSITIVE, "positive+atoms"),
    ({"x": "[2, inf)"}, "x/log(x) == x/log(x)*1", IDENTITY, "identity+atoms"),
    ({"x": "(0, inf)"}, "log(x**2) == 2*log(x)", IDENTITY, "identity"),
    ({"x": "(0, inf)"}, "x/(1+x) == 1 - 1/(1+x)", IDENTITY, "identity"),
    ({"x": "[0, inf)"}, "x + 1 >= 2*sqrt(x)",
     {"leaf": "sos", "terms": [["1", ["-", ["sqrt", "x"], "1"]]], "over": "1"}, "sos"),
    ({"x": "[2, inf)"}, "x**2/log(x) >= 0", {"leaf": "sos", "terms": [["1", "x"]], "over": ["log", "x"]},
     "sos+atoms"),
]  # fmt: skip


@pytest.mark.parametrize(("variables", "text", "proof", "leaf"), ATOMS)
def test_an_enclosed_atom_that_decided_something_is_reported(variables, text, proof, leaf):
    claim = make_goal(variables, text)
    assert check(certificate("test", claim, "PROVED", proof), claim).leaves == {leaf}


def test_whole_numbers_of_a_claim_are_written_once_and_sorted():
    claim = make_goal({"n": "[1, 3]", "m": "[1, 3]"}, "n >= m", "n >= 2", integers=("n", "m"))
    assert claim["integers"] == ["m", "n"]
    assert not accepts(claim, {"point": {"n": "2", "m": "5/2"}}, "REFUTED")
    assert accepts(claim, {"point": {"n": "2", "m": "3"}}, "REFUTED")


@pytest.mark.parametrize(("splits", "accepted"), [(59, True), (60, False), (99, False)])
def test_deep_proofs_are_rejected(splits, accepted):
    node = RANGE
    for i in range(splits, 0, -1):
        node = {"split": ["x", f"1/{2**i}", node, RANGE]}
    assert accepts(make_goal({"x": "[0, 1]"}, "x >= 0"), node) is accepted


def test_hash_ignores_the_order_of_keys():
    assert goal_hash(GOOD) == goal_hash(dict(reversed(list(GOOD.items()))))


def test_kernel_imports_the_standard_library_only():
    for path in KERNEL.glob("*.py"):
        tree = ast.parse(path.read_text())
        names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        names |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        for name in names:
            assert name.split(".")[0] in sys.stdlib_module_names or name.startswith(
                "dpproof.proofs_check.kernel"
            )
        assert not any(isinstance(n, ast.Assert) for n in ast.walk(tree))
        assert not any(isinstance(n, ast.Constant) and isinstance(n.value, float) for n in ast.walk(tree))


def run_kernel(*paths):
    code = "import sys, runpy; sys.path.insert(0, sys.argv.pop(1)); sys.argv[0] = 'k';"
    code += "runpy.run_module('dpproof.proofs_check.kernel', run_name='__main__')"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-O", "-c", code, str(ROOT), *paths], check=False, capture_output=True
    )


def test_kernel_runs_without_any_installed_package(tmp_path):
    good, bad, broken = tmp_path / "good", tmp_path / "bad", tmp_path / "broken"
    good.write_text(json.dumps(certificate("test", GOOD, "PROVED", RANGE)))
    bad.write_text(json.dumps(certificate("test", make_goal({"x": "[0, 1]"}, "x > 0"), "PROVED", RANGE)))
    broken.write_text("{")
    codes = [run_kernel(str(path)).returncode for path in (good, bad, broken, tmp_path / "absent")]
    assert codes == [0, 1, 2, 2]


FALSE = {"goal": [">", "0", "0"]}
"""0 > 0. A lemma with this claim proves it."""
CITED = {"apply": "own.lemma.goal", "sets": {}, "functions": {}, "integrals": {}, "given": {}, "as": "a", "sub": {
    "exact": "a"}}  # fmt: skip
REFUTES = {"sets": {}, "functions": {}, "integrals": {}, "given": {}, "at": [], "in": [], "if": [], "side": "below",
           "against": {"arith": [], "proof": {"leaf": "positive"}}}  # fmt: skip


def theorem_certificate(name, verdict, proof, *uses):
    key = goal_hash(FALSE)
    row = {
        "v": 1,
        "id": name,
        "claim": FALSE,
        "claim_sha256": key,
        "verdict": verdict,
        "prec": 80,
        "proof": proof,
    }
    return row | {"uses": dict.fromkeys(uses, key)}


@pytest.mark.parametrize(
    ("rows", "says"),
    tiered(
        [
            (
                [("own.lemma.goal", "PROVED", CITED, "own.lemma.goal")],
                "own.lemma.goal is used in its own proof",
            ),
            (
                [
                    ("own.first.goal", "PROVED", CITED, "own.lemma.goal"),
                    ("own.lemma.goal", "PROVED", CITED | {"apply": "own.first.goal"}, "own.first.goal"),
                ],
                "is used in its own proof",
            ),
            (
                [
                    ("own.lemma.goal", "REFUTED", REFUTES),
                    ("own.last.goal", "PROVED", CITED, "own.lemma.goal"),
                ],
                "it uses own.lemma.goal, which is refuted",
            ),
            ([("own.last.goal", "PROVED", CITED, "own.lemma.goal")], "rejected"),
        ],
        fast=2,
    ),
    ids=["itself", "circle", "refuted", "missing"],
)
def test_kernel_alone_rejects_what_cites_a_claim_that_is_not_proved(rows, says, tmp_path, capsys):
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(theorem_certificate(*row)) + "\n" for row in rows), encoding="utf-8")
    assert kernel_alone([str(path)]) == 1
    printed = capsys.readouterr().out
    assert says in printed
    assert "PROVED" not in printed


@pytest.mark.slow
def test_kernel_alone_accepts_certificates_and_names_what_is_assumed(tmp_path):
    """The kernel in a process of its own checks every fifth certificate. Other tests let it check all of them."""
    named = ('"id": "classic.gaussian_attained.', '"id": "classic.adaptive_normal_gdp.')
    for path in FOLDER.glob("*.jsonl"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [x for k, x in enumerate(lines) if k % 5 == 0 or any(name in x for name in named)]
        (tmp_path / path.name).write_text("".join(kept), encoding="utf-8")
    ran = run_kernel(*map(str, sorted(tmp_path.iterdir())))
    assert (ran.returncode, b"rejected" in ran.stdout) == (0, False), ran.stdout[-1000:]
    assert b"given classic.normal_sum.goal (assumed)" in ran.stdout
    lines = ran.stdout.decode().splitlines()
    row = next(x for x in lines if " PROVED classic.gaussian_attained.goal," in x)
    assert "classic.normal_tail.right (assumed)" in row, "an assumption below the claims that are used"


def test_the_stored_assumptions_are_those_of_the_pages():
    pages = {certificate_id(x, y): y.goal for x in statements() if x.reason for y in x.obligations}
    assert json.loads((FOLDER / "assumed.json").read_text()) == pages


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 2, "usage: "),
        (["--help"], 0, "usage: "),
        (["rlsvi.jsonl:1"], 0, "PROVED"),
        (["rlsvi.jsonl:9999"], 2, "no line 9999"),
        (["nosuch.jsonl"], 2, "No such file or directory\n"),
    ],
)
def test_the_kernel_says_how_it_is_used(arguments, code, says):
    ran = run_kernel(*arguments)
    assert (ran.returncode, ran.stderr) == (code, b"")
    assert says in ran.stdout.decode()


def test_search_finds_and_refutes():
    assert prove(make_goal({"x": "[0, 1]"}, "exp(x) >= 1 + x")) is not None
    assert prove(make_goal({"x": "[0, 1]"}, "x*(1-x) + 1/100 > 0")) is not None
    assert prove(make_goal({"x": "[0, 1]"}, "x >= 1/2"), depth=2) is None
    assert refute(make_goal({"x": "[0, 1]"}, "x >= 1/2")) is not None
    assert refute(make_goal({"x": "[0, 1]"}, "x >= 0"), tries=50) is None


MAGNITUDES = st.builds(
    lambda n, d, e: Fraction(n, d) * Fraction(10) ** e,
    st.integers(-(10**12), 10**12), st.integers(1, 10**12), st.integers(-300, 30),
)  # fmt: skip
MODERATE = st.builds(Fraction, st.integers(-(10**7), 10**7), st.integers(1, 10**4))


def around(x, left, right):
    lo, hi = x - abs(left), x + abs(right)
    return ia.Interval((0, lo), (0, hi), lo > 0 or hi < 0)


def contains(interval, ball):
    """Tell whether the ball meets the interval; a point outside by more than the ball is a violation."""
    low = interval.lo[0] == -1 or bool(arb(interval.lo[1]) <= ball.upper())
    return low and (interval.hi[0] == 1 or bool(ball.lower() <= arb(interval.hi[1])))


def arb(q):
    return flint.arb(flint.fmpq(q.numerator, q.denominator))


@pytest.fixture(autouse=True)
def precision():
    with flint.ctx.workprec(300):
        yield


@settings(max_examples=150, deadline=None)
@given(MODERATE, MODERATE, MODERATE, st.sampled_from([20, 53, 80]))
def test_exp_contains_the_true_value(x, left, right, prec):
    with flint.ctx.workprec(300):
        x, left, right = x / 1000, left / 10**6, right / 10**6
        assert contains(ia.exp(around(x, left, right), prec), arb(x).exp())


@settings(max_examples=150, deadline=None)
@given(MAGNITUDES, st.integers(0, 999), st.integers(0, 999), st.sampled_from([20, 53, 80]))
def test_log_and_sqrt_contain_the_true_value(x, left, right, prec):
    x = abs(x) + Fraction(1, 10**320)
    box = around(x, x * left / 1000, x * right / 1000)
    with flint.ctx.workprec(300):
        assert contains(ia.log(box, prec), arb(x).log())
        assert contains(ia.sqrt(box, prec), arb(x).sqrt())


@settings(max_examples=150, deadline=None)
@given(MAGNITUDES, MAGNITUDES, MAGNITUDES, MAGNITUDES, st.integers(-5, 5))
def test_field_operations_contain_the_true_value(x, y, left, right, n):
    a, b = around(x, left, right), around(y, right, left)
    with flint.ctx.workprec(300):
        assert contains(ia.add(a, b, 40), arb(x + y))
        assert contains(ia.mul(a, b, 40), arb(x * y))
        if b.nz:
            assert contains(ia.inverse(b, 40), arb(1 / y))
            assert contains(ia.power(b, n, 40), arb(y**n))


def test_the_inverse_of_a_nonzero_number_of_unknown_sign_is_any_number():
    between = ia.Interval((0, Fraction(-1)), (0, Fraction(2)), True)
    assert ia.inverse(between, 40)[:2] == (ia.NEG_INF, ia.INF)


@pytest.mark.parametrize("q", ["1", "1/3", "7", "123456789/1000"])
def test_functions_are_tight(q):
    x = ia.point(Fraction(q))
    for f in (ia.exp, ia.log, ia.sqrt):
        low, high, _ = f(x, 80)
        assert high[1] - low[1] <= abs(high[1]) / 2**70


def test_relative_accuracy_survives_at_tiny_values():
    tiny = ia.point(Fraction(1, 10**300))
    low, high, nz = ia.mul(ia.exp(tiny, 80), tiny, 80)
    assert nz
    assert 0 < low[1] <= high[1] <= low[1] * (1 + Fraction(1, 2**70))


def test_exact_values_stay_exact():
    assert ia.exp(ia.point(Fraction(0)), 80)[:2] == ((0, 1), (0, 1))
    assert ia.log(ia.point(Fraction(1)), 80)[:2] == ((0, 0), (0, 0))
    assert ia.sqrt(ia.point(Fraction(9, 4)), 80)[:2] == ((0, Fraction(3, 2)),) * 2


@pytest.mark.parametrize("x", ["3893924827815215/1125899906842624", "1381846513289487/70368744177664"])
def test_exp_at_points_where_other_interval_code_fails(x):
    with flint.ctx.workprec(400):
        assert contains(ia.exp(ia.point(Fraction(x)), 53), arb(Fraction(x)).exp())


def test_rays_and_poles():
    ray = ia.Interval(ia.ZERO, ia.INF, False)
    assert ia.mul(ray, ia.point(Fraction(0)), 80)[:2] == (ia.ZERO, ia.ZERO)
    assert ia.exp(ia.neg(ray, 80), 80).lo == ia.ZERO
    assert ia.exp(ia.point(Fraction(10**9)), 80).hi == ia.INF
    for f in (ia.inverse, ia.log):
        with pytest.raises(Rejected):
            f(ray, 80)
    with pytest.raises(Rejected):
        ia.sqrt(ia.point(Fraction(-1)), 80)


@settings(max_examples=200, deadline=None)
@given(MODERATE, MODERATE, st.sampled_from([20, 53, 80, 200]), st.sampled_from([1, 30, 1000]))
def test_erfc_contains_the_true_value(x, left, prec, scale):
    with flint.ctx.workprec(3000):
        x, left = x / 10**5 / scale, left / 10**9
        assert contains(ia.erfc(around(x, left, left), prec), arb(x).erfc())


@rows("x", ["-130", "-101", "-99", "-3", "0", "1/1000", "2", "9", "21/2", "20", "50", "99"])
@rows("prec", [40, 80, 300])
def test_erfc_is_as_sharp_as_it_says(x, prec):
    low, high, nonzero = ia.erfc(ia.point(Fraction(x)), prec)
    with flint.ctx.workprec(30000):
        truth = arb(Fraction(x)).erfc()
        assert arb(low[1]) <= truth <= arb(high[1])
    assert nonzero
    assert high[1] - low[1] <= high[1] / 2 ** min(prec - 8, 40)


@pytest.mark.parametrize("prec", [20, 80, 1000])
def test_pi_is_enclosed(prec):
    low, high, _ = ia.pi(prec)
    with flint.ctx.workprec(4000):
        assert arb(low[1]) < flint.arb.pi() < arb(high[1])
    assert high[1] - low[1] < Fraction(1, 2 ** (prec - 4))

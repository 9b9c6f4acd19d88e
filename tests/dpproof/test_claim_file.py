"""Claim files: what is read, what is refused and how, and that nothing else than a refusal ever happens."""

from __future__ import annotations

import contextlib
import json
import os
import string
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.answers.audit import check_auditable, check_ready
from dpproof.claim_file import Budget, read_all, read_claims
from dpproof.claim_file.reading import Lines
from tests.verified import share_certificates

VALID = {
    "name": '"ward"',
    "mechanism": '"rlsvi"',
    "parameters": "{ states = 2, actions = 2, horizon = 2, episodes = 4 }",
    "adjacency": '"rewards-only"',
    "epsilon": "5.0",
    "delta": "1e-6",
}


def text_of(**changes):
    """One claim as TOML text; a change of None leaves the key out."""
    entry = {key: value for key, value in {**VALID, **changes}.items() if value is not None}
    return "[[claim]]\n" + "".join(f"{key} = {value}\n" for key, value in entry.items())


def read(tmp_path, text):
    path = tmp_path / "claims.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_claims(path, check_ready)


def test_a_claim_is_read_as_it_is_written(tmp_path):
    claims = read(tmp_path, text_of(source='"the contract"') + text_of(name='"other"', delta=None))
    assert [claim.name for claim in claims] == ["ward", "other"]
    assert claims[0].adjacency is Adjacency.REWARDS_ONLY
    assert claims[0].promise == {"epsilon": 5.0, "delta": 1e-6}
    assert claims[0].parameters == {"states": 2, "actions": 2, "horizon": 2, "episodes": 4}
    assert claims[0].source == "the contract"
    assert (claims[0].delta, claims[1].delta) == (1e-6, 0.0)


@pytest.mark.parametrize("promise", ["rho", "mu"])
def test_a_curve_may_be_promised(tmp_path, promise):
    (claim,) = read(tmp_path, text_of(epsilon=None, delta=None, **{promise: "0.5"}))
    assert claim.promise == {promise: 0.5}
    assert claim.delta == 1e-6


NONE = {"epsilon": None, "delta": None}
REFUSALS = [
    ({"epsilon": "nan"}, "epsilon (nan) must be a finite number"),
    ({"epsilon": "inf"}, "epsilon (inf) must be a finite number"),
    ({"epsilon": "-1.0"}, "epsilon (-1.0) must be at least 0"),
    ({"epsilon": "true"}, "epsilon (True) must be a finite number"),
    ({"epsilon": '"2"'}, "epsilon ('2') must be a finite number"),
    ({"epsilon": "2020-01-01"}, "must be a finite number"),
    ({"epsilon": "1" + "0" * 400}, "must be a finite number"),
    ({"epsilon": None}, "A claim must give either epsilon and delta, or rho, or mu. This claim gives: delta"),
    (NONE, "A claim must give either epsilon and delta, or rho, or mu. This claim gives: nothing"),
    ({"rho": "1.0"}, "This claim gives: delta, epsilon, rho"),
    ({**NONE, "mu": "-1"}, "mu (-1) must be at least 0"),
    ({**NONE, "rho": "nan"}, "rho (nan) must be a finite number"),
    ({"delta": "1.0"}, "delta (1.0) must be in [0, 1)"),
    ({"delta": "-0.1"}, "delta (-0.1) must be in [0, 1)"),
    ({"delta": "nan"}, "delta (nan) must be a finite number"),
    ({"name": None}, "name is missing"),
    ({"name": '" "'}, "name (' ') must be non-empty text"),
    ({"name": "3"}, "name (3) must be text"),
    ({"name": '"a\\u001b[31mb"'}, "name ('a\\x1b[31mb') must be one line of printable text"),
    ({"name": '"a\\nb"'}, "name ('a\\nb') must be one line of printable text"),
    ({"mechanism": None}, "mechanism is missing"),
    ({"mechanism": '"nosuch"'}, "mechanism ('nosuch') must be one of: rlsvi"),
    ({"mechanism": '["./run"]'}, "mechanism (['./run']) must be text"),
    ({"adjacency": None}, "adjacency is missing and has no default. Choose one of: "),
    ({"adjacency": '"users"'}, "adjacency ('users') must be one of: add-remove"),
    ({"adjacency": '"add-remove"'}, "adjacency ('add-remove') has no proved guarantee for rlsvi"),
    ({"adjacency": '"replace"'}, "adjacency ('replace') has no proved guarantee for rlsvi"),
    ({"parameters": "3"}, "parameters (3) must be a table"),
    ({"parameters": None}, "parameter ('states') is missing"),
    ({"parameters": "{ states = 2, frobs = 1 }"}, "parameter ('frobs') must be one of: states"),
    ({"parameters": "{ states = 2, actions = 2, horizon = 2, episodes = 0 }"}, "episodes (0) must be"),
    ({"parameters": "{ states = 2, actions = 2, horizon = 0, episodes = 4 }"}, "horizon (0) must be"),
    ({"parameters": "{ states = 2, actions = 2, horizon = 2, episodes = 4.0 }"}, "episodes (4.0) must be"),
    ({"parameters": "{ states = 2, actions = 2, horizon = 2, episodes = nan }"}, "episodes (nan) must be"),
    ({"neighbours": '"a:b"'}, "neighbours ('a:b') must be left out for rlsvi"),
    ({"frobs": "1"}, "key ('frobs') must be one of: name, mechanism"),
    ({"mechanism": '"math:pi"'}, "parameters (states, actions, horizon, episodes) must be left out"),
    ({"mechanism": '"math:sin"', "parameters": None}, "Give either data or neighbours, and not both"),
    (
        {"mechanism": '"math:pi"', "parameters": None, "neighbours": '"math:sin"'},
        "('math:pi') must name a function",
    ),
    (
        {"mechanism": '"no.such:thing"', "parameters": None, "neighbours": '"math:sin"'},
        "('no.such:thing') cannot be loaded",
    ),
    (
        {"mechanism": '"math:sin"', "parameters": None, "neighbours": '"math:"'},
        "neighbours ('math:') must have the form package.module:name",
    ),
]


@pytest.mark.parametrize(("changes", "says"), REFUSALS)
def test_a_malformed_claim_is_refused_by_place_value_and_rule(tmp_path, changes, says):
    with pytest.raises(ValueError, match=r"claims\.toml:\d+: claim 2: ") as caught:
        read(tmp_path, text_of(name='"first"') + text_of(**changes))
    assert says in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must contain at least one [[claim]]"),
        ("claim = []", "must contain at least one [[claim]]"),
        ("claim = 3", "must contain at least one [[claim]]"),
        ("claim = [3]", "claim 1: The claim (3) must be a table"),
        ("this is no TOML", "not valid TOML"),
        (b"\xff\xfe\x00", "not valid TOML"),
        ("title = 'x'\n" + text_of(), "key ('title') must be one of: claim, budget"),
        (text_of() + text_of(), "name ('ward') must be unique"),
        (text_of() + "epsilon = 3.0\n", "not valid TOML"),
    ],
)
def test_a_malformed_file_is_refused(tmp_path, text, says):
    with pytest.raises(ValueError, match=r"claims\.toml") as caught:
        read(tmp_path, text)
    assert says in str(caught.value)


def test_a_claim_that_nothing_audits_is_refused_before_an_audit(tmp_path):
    sizes = "{ states = 2, actions = 2, horizon = 2, episodes = 4, clip = 1.0 }"
    path = tmp_path / "claims.toml"
    path.write_text(text_of(adjacency='"replace"', parameters=sizes), encoding="utf-8")
    assert len(read_claims(path, check_ready)) == 1
    with pytest.raises(ValueError, match=r"claim 1: adjacency .'replace'. has no audit for rlsvi"):
        read_claims(path, check_auditable)


@pytest.mark.parametrize("verb", ["check", "audit"])
@pytest.mark.parametrize(("changes", "says"), REFUSALS[::4])
def test_the_command_line_refuses_it_before_any_work(refused, tmp_path, verb, changes, says):
    path = tmp_path / "claims.toml"
    path.write_text(text_of(**changes), encoding="utf-8")
    option = ["--html", tmp_path / "page"] if verb == "check" else ["--witnesses", tmp_path / "found"]
    assert says in refused(verb, path, "--json", *option)


def test_one_malformed_claim_leaves_the_others_to_check_but_not_to_audit(run, tmp_path):
    share_certificates()
    path = tmp_path / "claims.toml"
    few = "{ budget = 10 }"
    path.write_text(text_of(audit=few) + text_of(name='"other"', epsilon="-1"), encoding="utf-8")
    ran = run("check", path, "--json", "--sarif", tmp_path / "found.sarif")
    assert (ran.code, [claim["claim"] for claim in ran.json["claims"]]) == (2, ["ward"])
    assert ran.err == f"dpproof: {path}:14: claim 2: epsilon (-1) must be at least 0\n"
    assert ran.json["refused"] == [
        {
            "file": str(path),
            "place": 2,
            "line": 14,
            "name": "other",
            "message": "epsilon (-1) must be at least 0",
        },
    ]
    assert "claim 2" in (tmp_path / "found.sarif").read_text(encoding="utf-8")
    ran = run("audit", path, "--json")
    assert (ran.code, ran.out) == (2, "")


LINES_OF = [
    ("[[claim]]\nname = 'a'\n", 1, "adjacency is missing", 1),
    ("# [[claim]]\n[[claim]]\n\n# why\nepsilon = [\n1,\n]\n", 1, "epsilon ([1]) must be", 5),
    ("[[claim]]\n[claim.parameters]\nstates = 0\n[[claim]]\nx=1", 1, "states (0) must be", 3),
    ("[[claim]]\na=1\n[[claim]]\nx=1", 2, "key ('x') must be", 4),
    ("[[claim]]\naudit = { budget = 0 }", 1, "audit: budget (0) must be", 2),
    ("[[claim]]\naudit = { budgets = 5 }", 1, "audit: key ('budgets') must be", 2),
    ("[[claim]]\nname = 'a'\ndata = 'm:x'", 1, "data ('m:x') cannot be loaded", 3),
    ("title = '''\n[[claim]]\n'''\n[[claim]]\nx=1", 1, "x", 5),  # a header within a text is none
    ('a = """\\"""\n[[claim]]\n"""""\n[[claim]]\nx=1', 1, "x", 5),
    ('[[claim]]\na = [\n[[claim]],\n] # [\n[[ "claim" ]] # why\n\n x=1', 2, "x (1) must", 7),
    ("[[claim]]\n[[claim.claim]]\n[[claim]]\nx=1", 2, "x (1) must", 4),
    ("[[claim]]\r\na=1\r\n[claim.audit]\r\nb=1\r\n", 1, "b (1) must", 4),
    ("[[claim]]\nparameters.a = 1\n'x' = 1", 1, "parameter ('a') must", 2),
    ("claim = [{x=1}]", 1, "x", None),
]


@pytest.mark.parametrize(("text", "place", "refusal", "line"), LINES_OF)
def test_a_refusal_has_the_line_of_its_key(text, place, refusal, line):
    assert Lines(text).of(place, refusal) == line


def _linear(text, read):
    """How many times longer it takes to read eight times the text: about 8 if it is linear, 64 if not.

    Counted in calls and lines of Python that are run, which no load of the machine changes.
    """

    def cost(times):
        steps = 0

        def count(_frame, _event, _argument):
            nonlocal steps
            steps += 1
            return count

        before = sys.gettrace()
        sys.settrace(count)
        try:
            read(text(times))
        finally:
            sys.settrace(before)
        return steps

    return cost(80) / cost(10)


def test_the_lines_of_all_claims_are_found_in_one_pass(tmp_path):
    path = tmp_path / "claims.toml"

    def read_text(text):
        path.write_text(text, encoding="utf-8")
        reading = read_all(path)
        assert [refusal.line for refusal in reading.refusals] == list(range(6, text.count("\n"), 7))

    def many(times):
        return "".join(text_of(name=f'"claim {number}"', epsilon="-1") for number in range(times))

    assert _linear(many, read_text) < 12


BUDGETS = [
    ("3", "budget (3) must be a table"),
    ("{ seconds = 0 }", "budget: seconds (0) must be a number above 0"),
    ("{ seconds = '1 h' }", "budget: seconds ('1 h') must be"),
    ("{ alpha = 1 }", "budget: alpha (1) must be a number in [1e-300, 1)"),
    ("{ minutes = 1 }", "budget: key ('minutes') must be one of: seconds, alpha"),
]


@pytest.mark.parametrize(("budget", "says"), BUDGETS)
def test_a_bad_budget_is_refused(tmp_path, budget, says):
    with pytest.raises(ValueError, match=r"claims\.toml: budget") as caught:
        read(tmp_path, f"budget = {budget}\n" + text_of())
    assert says in str(caught.value)


def test_a_budget_is_read(tmp_path):
    path = tmp_path / "claims.toml"
    path.write_text("[budget]\nseconds = 60\nalpha = 0.001\n" + text_of(), encoding="utf-8")
    reading = read_all(path, check_ready)
    assert (reading.budget, reading.lines, reading.refusals) == (Budget(60, 0.001), (4,), ())


SCALARS = st.one_of(
    st.sampled_from(["nan", "-inf", "true", "1e-6", "0", "-1", "0x10", "1979-05-27", "07:32:00", "[]", "{}"]),
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.text(string.printable, max_size=8).map(lambda text: f"'{text}'"),
    st.sampled_from([*VALID.values(), '"replace"', '"math:sin"', '"[/]"']),
)
KEYS = st.sampled_from([*VALID, "neighbours", "source", "rho", "mu", "command", "x.y", '""'])
LINES = st.tuples(KEYS, SCALARS).map(lambda pair: f"{pair[0]} = {pair[1]}\n")
HEADS = st.sampled_from(["[[claim]]\n", "[claim]\n", "[[claim.claim]]\n", "[[other]]\n", ""])
DOCUMENTS = st.lists(
    st.one_of(
        st.tuples(HEADS, st.lists(LINES, max_size=8).map("".join)).map("".join),
        st.dictionaries(st.sampled_from(list(VALID)), st.one_of(st.none(), SCALARS), max_size=2).map(
            lambda changes: text_of(**changes)
        ),
    ),
    max_size=3,
).map("".join)


@pytest.mark.slow
@settings(max_examples=300)
@given(DOCUMENTS)
@example(text_of())
@example("claim.claim.claim = 1")
@example("[[claim]]\nname = 1e400")
def test_any_document_is_read_or_refused(tmp_path_factory, document):
    path = tmp_path_factory.getbasetemp() / "any_document.toml"
    path.write_text(document, encoding="utf-8")
    claims = ()
    with contextlib.suppress(ValueError):  # nothing else may be raised
        claims = read_claims(path, check_ready)
    for claim in claims:
        assert claim.name.isprintable()
        assert claim.guarantee.epsilon(claim.delta).upper >= 0
    if document == text_of():
        assert len(claims) == 1


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any_bytes.toml"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"any_bytes\.toml"):
        read_claims(path)


def test_a_file_outside_the_project_is_refused_unless_allowed(tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    (tmp_path / "run").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "run").chmod(0o755)
    changes = {"parameters": None, "mechanism": None, "neighbours": '"math:sin"'}
    path = project / "claims.toml"
    for program in ("../run", str(tmp_path / "run")):
        path.write_text(text_of(command=f'["{program}"]', **changes), encoding="utf-8")
        (refusal,) = read_all(path, check_ready).refusals
        assert "must be inside the project. `dpproof check --allow-outside`" in str(refusal)
        assert read_all(path, check_ready, outside=True).refusals == ()
    visits = '{ dimension = 2, printed_epsilon = 0.1, printed_delta = 0.1, visits = "../visits.csv" }'
    path.write_text(
        text_of(mechanism='"policy-evaluation"', adjacency='"replace"', parameters=visits), encoding="utf-8"
    )
    (refusal,) = read_all(path).refusals
    assert "visits ('../visits.csv') must be inside the project" in str(refusal)


def _outside(tmp_path, monkeypatch):
    """A project, a program outside of it, and in the project a link to that."""
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "evil.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "evil.sh").chmod(0o755)
    (project / "link.sh").symlink_to(tmp_path / "evil.sh")
    (project / "own.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (project / "own.sh").chmod(0o755)
    (project / "circle").symlink_to(project / "circle")
    monkeypatch.chdir(project)
    return project


def _reads(project, command, **options):
    changes = {"parameters": None, "mechanism": None, "neighbours": '"math:sin"'}
    path = project / "claims.toml"
    path.write_text(text_of(command=json.dumps(command), **changes), encoding="utf-8")
    return [str(refusal) for refusal in read_all(path, check_ready, **options).refusals]


@pytest.mark.parametrize(
    "command",
    [
        ["./link.sh"],
        ["sh", "link.sh"],
        ["sh", "{}/evil.sh"],
        ["env", "../evil.sh"],
        ["env", "{}/evil.sh"],
        ["sh", "-c", "exec {}/evil.sh"],
        ["sh", "-c", "cat<../evil.sh"],
        ["env", "X={}/evil.sh"],
        ["env", "-S../evil.sh"],
        ["env", "-S{}/evil.sh"],
        ["sh", "--file=../evil.sh"],
        ["ls", ".."],
        ["sh", "own.sh", "/"],
    ],
)
def test_no_word_of_a_command_leads_outside_the_project(tmp_path, monkeypatch, command):
    project = _outside(tmp_path, monkeypatch)
    command = [word.replace("{}", str(tmp_path)) for word in command]
    (refusal,) = _reads(project, command)
    assert "must be inside the project. `dpproof check --allow-outside`" in refusal
    assert refusal.startswith(f"{project / 'claims.toml'}:6: claim 1: command")
    assert _reads(project, command, outside=True) == []


@pytest.mark.parametrize(
    "command",
    [
        ["./own.sh", "--rate", "1/2", "-1.5"],
        ["sh", "own.sh"],
        ["sh", "-c", "read x; echo 1"],
        ["sh", "circle"],
        ["sh", "{}/project/own.sh"],
        ["sh", "{}/project/with space-of-its.own/../own.sh", "x-of/sub"],
        ["sh", "--in={}/project/no-such/file"],
        [str(Path(sys.executable)), "-m", "some.module", "--seed=3", "a" * 5000],
    ],
)
def test_words_that_stay_inside_are_let_pass(tmp_path, monkeypatch, command):
    project = _outside(tmp_path, monkeypatch)
    (project / "with space-of-its.own").mkdir()
    assert _reads(project, [word.replace("{}", str(tmp_path)) for word in command]) == []


@pytest.mark.parametrize(
    ("folder", "argument"),
    [
        ("--in=", "--in=/etc/passwd"),
        ("--in=..", "--in=../../etc/passwd"),
        ("-I", "-I/etc/passwd"),
        ("@", "@/etc/passwd"),
        ("cat ", "cat /etc/passwd"),
        ("a:", "{}/project/a:/etc/passwd"),
    ],
)
def test_a_file_of_an_arguments_name_hides_no_path_in_it(tmp_path, monkeypatch, folder, argument):
    """The program reads what follows the sign, whatever else the project holds."""
    project = _outside(tmp_path, monkeypatch)
    (project / "etc").mkdir()
    (project / "etc" / "passwd").touch()
    (project / folder / "etc").mkdir(parents=True)
    (project / folder / "etc" / "passwd").touch()
    argument = argument.replace("{}", str(tmp_path))
    assert os.path.lexists(argument)
    (refusal,) = _reads(project, ["sh", argument])
    assert "must be inside the project" in refusal


def test_a_file_may_have_signs_in_its_name(tmp_path, monkeypatch):
    project = _outside(tmp_path, monkeypatch)
    (project / "run (1)").mkdir()
    (project / "run (1)" / "a=b, c.csv").touch()
    assert _reads(project, ["sh", "run (1)/a=b, c.csv", f"{project}/run (1)/a=b, c.csv"]) == []


@pytest.mark.parametrize("visits", ["3", '["a.csv"]', '"a\\u0000.csv"'])
def test_a_file_that_is_no_name_is_refused_by_its_key(tmp_path, visits):
    path = tmp_path / "claims.toml"
    parameters = f"{{ dimension = 2, printed_epsilon = 0.1, printed_delta = 0.1, visits = {visits} }}"
    named = {"mechanism": '"policy-evaluation"', "adjacency": '"replace"', "parameters": parameters}
    path.write_text(text_of(**named), encoding="utf-8")
    (refusal,) = read_all(path, check_ready).refusals
    assert "visits (" in str(refusal)
    assert any(rule in str(refusal) for rule in ("must be the name of a file", "must be a file name"))


def test_a_refused_claim_names_its_file_below_the_current_directory(run, tmp_path, monkeypatch):
    path = tmp_path / "claims.toml"
    few = "{ budget = 10 }"
    path.write_text(text_of(audit=few) + text_of(name='"other"', epsilon="-1"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run("check", path, "--json").json["refused"][0]["file"] == "claims.toml"

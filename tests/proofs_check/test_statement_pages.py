"""Pages of statements: every damaged page is refused with its file and line, or read as another statement."""

from __future__ import annotations

import re

import pytest

from dpproof.proofs_check.kernel import Outcome, check
from dpproof.proofs_check.page import PageError, read_statement
from dpproof.proofs_check.registry import lookup, page_of, statement_ids, statements
from dpproof.proofs_check.search import certificate
from dpproof.proofs_check.statement import Statement
from dpproof.proofs_check.verdict import Verdict, derive
from tests.rows import rows, tiered

EVERY_LINE = ("ucb.lemma5_1.privacy.cells", "classic.azuma", "expert.composition", "eval.lemma1.corrected",
              "classic.adaptive_renyi", "classic.triangle")  # fmt: skip
"""Pages that together have every kind of fact, section, line of a claim and line of a proof but a few."""
PAGE = """# A lemma

- kind: statement
- source: Demo | v1 | Lemma 1
- verdict: PROVED

## Statement

For x in [0, 1], the square is at most x.

## Steps

### square

x is a number.

```
for x in [0, 1]
given small: 1 >= x
show x >= x**2
tight at x = 1
proof
  positive
    small times x
```
"""


def read(text, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    return read_statement("demo.lemma1", path, "demo/lemma1.md")


RELATION = re.compile(
    r"<|>|\\(?:le|ge|leq|geq|ne|in|Rightarrow|Leftrightarrow)(?![a-zA-Z])|=|"
    r"(?:DP|monotone|convex)(?![a-z])"
)
"""What makes a formula a claim: a relation, an implication or a property with a name."""


def says_something(formula):
    """Whether a formula has a relation, an implication or a named property outside its subscripts."""
    return bool(RELATION.search(re.sub(r"_\{(?:[^{}]|\{[^{}]*\})*\}", "", formula)))


def outcome(text, tmp_path):
    """The statement, whose proofs can be read, or the message of the error."""
    try:
        found = read(text, tmp_path)
        for x in found.obligations:
            x.proofs()
        return found
    except PageError as error:
        return str(error)


@pytest.mark.parametrize("name", tiered(EVERY_LINE, fast=1))
def test_a_page_without_a_line_is_another_statement_or_an_error_with_its_place(name, tmp_path):
    text = page_of(name).read_text(encoding="utf-8")
    lines = text.splitlines()
    for place, line in enumerate(lines):
        damaged = ([f"{line} ("], ["    " + line], [line, line])[place % 3]
        for changed in ([], damaged):
            found = outcome("\n".join([*lines[:place], *changed, *lines[place + 1 :]]), tmp_path)
            assert isinstance(found, Statement) or re.match(r"demo/lemma1\.md:\d+: .", found)


@pytest.mark.slow
def test_every_proof_on_a_page_can_be_read():
    """Verdicts rest on certificates, so `verify` does not read the derivations."""
    read_too = [x.proofs() for entry in statements() for x in entry.obligations]
    assert len(read_too) > 1000


def test_a_page_gives_the_claim_and_its_proof(tmp_path):
    (step,) = read(PAGE, tmp_path).obligations
    assert step.goal == {
        "vars": {"x": "[0, 1]"},
        "given": [[">=", "1", "x"]],
        "goal": [">=", "x", ["^", "x", "2"]],
    }
    assert (step.note, step.witness) == ("x is a number.", {"x": "1"})
    assert check(certificate("demo", step.goal, "PROVED", step.hint), step.goal).verdict == "PROVED"


@rows(
    ("old", "new", "told"),
    [
        ("# A lemma", "A lemma", "1: line 'A lemma' must be '- fact: text'"),
        ("- kind: statement", "- sort: statement", "3: line '- sort: statement' must be '- fact: text'"),
        (" | v1 |", ", v1,", "4: the page must have a fact '- source: paper | version | item'"),
        ("## Steps", "## Step", "11: section 'Step' must be one of: Statement, Goals, Steps"),
        ("in [0, 1]\n", "from 0\n", "18: line 'for x from 0' must have the form: for x, y in [0, inf)"),
        ("show", "shows", "18: a claim must have one line that begins with 'show', not 0"),
        ("x >= x**2", "x >= x**y", "20: formula"),
        ("small times", "large times", "24: line 'large times x' uses the hypothesis 'large'; the known"),
        ("  positive\n", "  postive\n", "23: line 'postive' must begin with one of: "),
        ("times x\n", "times x\n  range\n", "25: line 'range' stands after 'positive', which ends the proof"),
        ("- verdict: PROVED\n", "", "1: the page must state these facts: verdict"),
        ("- verdict: PROVED\n", "- verdict: PROVED\n- laws: `a`; `b`\n", "6: fact 'laws' (`a`; `b`) must list ids"),
        ("For x", "<!-- not --> For x", "9: a page must not have hidden text"),
        ("### square", "Read on.\n\n### square", "13: section 'Steps' must have nothing before its first '### '"),
        ("## Steps", "## Readings\n\n- Read.\n\n## Goals", "1: a page with '## Goals' must not have '## Readings'"),
        ("```\n", "```\n```\n", "17: one block between two lines ``` must end the section or the step"),
        ("for x in [0, 1]\n", "for x in [0, 1]\nfor x in [0, 2]\n", "19: line 'for x in [0, 2]' names a second"),
        ("tight", "  given x >= 0\ntight", "21: line 'given x >= 0' must not be indented below 'show x >= x**2'"),
        ("## Steps", "$$x$$\n\n## Domain\n\n$$y$$\n\n## Steps", "11: line '$$x$$' begins like"),
        ("```\nfor", "````\nfor", "17: line '````' begins like"),
        ("For x in [0, 1], the square is at most x.", "[a]: # (if x is 1)", "9: a page must not have hidden text"),
        ("is at most x.", "is <b>at most</b> x.", "9: a page must not have hidden text"),
        ("is at most x.", "is at most x.\nDomain\n-", "11: line '-' begins like"),
        ("PROVED\n", "PORVED\n", "5: the verdict (PORVED) must be one of: PROVED"),
        ("is at most x.", "is\n>= x.", "10: line '>= x.' begins like a heading, a quotation or a list"),
        ("is at most x.", "is at most x.\n\n ## Rules", "11: line ' ## Rules' begins like a heading"),
        ("is at most x.", "is at most\u2028x.", "9: a page must not have hidden text"),
        ("x >= x**2", "x >= x**2 # and 1 >= x", "20: line 'show x >= x**2 # and 1 >= x' has a character"),
        ("times x\n", "times x \\\n", "24: line 'small times x' ends in a backslash"),
        ("proof\n", "proof by symmetry\n", "22: line 'proof by symmetry' must have the form"),
        ("positive\n", "positive at once\n", "23: line 'positive at once' must have the form"),
        ("given small", "given earlier", "19: line 'given earlier: 1 >= x' names a hypothesis 'earlier'"),
        ("in [0, 1]\n", "in [0, 0.5]\n", "18: the kernel cannot read this claim: not an interval"),
        ("x >= x**2", "x >= y**2", "18: the kernel cannot read this claim"),
        ("at x = 1", "at x = 1, x = 0", "21: line 'tight at x = 1, x = 0' must have the form"),
        ("x >= x**2", "published(rlsvi.lemma12, aplha = 2) >= x", "20: formula 'rlsvi.lemma12' has no variable"),
        ("x >= x**2", "published(demo.none) >= x", "20: no formula of a paper has the id 'demo.none'"),
    ],
)  # fmt: skip
def test_an_error_names_the_line_and_the_rule(old, new, told, tmp_path):
    assert PAGE.count(old) >= 1
    with pytest.raises(PageError, match=re.escape(told)):
        read(PAGE.replace(old, new, 1), tmp_path)


THEOREM = """## Goals

### goal

```
set Y
for a in [0, inf)
function f(Y) in [0, 1]
given small: for y in Y: f(y) <= a
show for y in Y: f(y) <= a + 1
```
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("<= a + 1", "<= a # + 1", "has a character that no formula has"),
        ("f(y) <= a\n", "f(y) <= a # + 5\n", "has a character that no formula has"),
        ("<= a + 1", "<= \uff41 + 1", "has a character that no formula has"),
        ("given", "for a in [5, 6]\ngiven", "declares 'a' a second time"),
        ("given", "function f(Y) in [1, 1]\ngiven", "declares 'f' a second time"),
        ("given", "integral f over Y\ngiven", "declares 'f' a second time"),
        ("given", "set Y\ngiven", "declares 'Y' a second time"),
        ("set Y\n", "set Y # and Z\n", "must have the form: set Y, Z"),
        ("for a in", "for inf in", "must not declare 'inf'"),
        ("<= a + 1", "<= a + 1_0", "has the number '1_', which must have digits only"),
    ],
)
def test_a_page_shows_the_theorem_that_is_proved(old, new, told, tmp_path):
    page = PAGE[: PAGE.index("## Steps")] + THEOREM
    assert read(page, tmp_path).goals == ("goal",)
    with pytest.raises(PageError, match=re.escape(told)):
        read(page.replace(old, new, 1), tmp_path)


def test_a_theorem_of_analysis_that_goals_assume_is_an_assumption(tmp_path):
    page = PAGE[: PAGE.index("## Steps")] + "## Rules\n\n- Tonelli's theorem\n\n" + THEOREM
    found = derive(read(page, tmp_path), [("", Outcome("PROVED", frozenset({"arith"}), None))], {})
    assert (found.verdict, found.assumptions) == (Verdict.GIVEN, ("Tonelli's theorem",))


ANALYSIS = re.compile(r"orders|orders_pair|reflection|shift_(mass|pair|test)")
"""Names of hypotheses that are theorems about integrals, such as Tonelli's theorem."""


def test_hypotheses_that_are_theorems_of_analysis_are_rules():
    silent = [
        entry.id
        for entry in statements()
        for x in entry.obligations
        if "vars" not in x.goal and any(map(ANALYSIS.fullmatch, x.goal.get("given", ()))) and not entry.rules
    ]
    assert silent == []


def test_the_pages_of_a_paper_are_listed_once():
    ids = statement_ids()
    assert len(ids) == len(set(ids)) >= 374
    assert all(page_of(name).is_file() for name in ids)
    for name in ("rlsvi", "rlsvi.", "rlsvi.README", "rlsvi.../classic/laplace", "nothing.lemma1"):
        with pytest.raises(KeyError):
            page_of(name)


def test_the_formula_of_a_statement_is_a_claim():
    """33 pages had a term, such as k^2 rho, or nothing in place of the printed inequality."""
    pages = [entry for entry in map(lookup, statement_ids()) if entry.kind in ("statement", "quoted")]
    assert len(pages) >= 200
    assert [entry.id for entry in pages if not says_something(entry.latex)] == []


@rows(
    ("formula", "claims"),
    [
        ("", False),
        (r"k^2\rho", False),
        (r"\max_{0\le x\le a-1}e^{-bx}", False),
        (r"\sum_{s\in S_{+}}w_s", False),
        (r"\left(k\varepsilon,\delta\right)", False),
        (r"k^2\rho\text{-zCDP}", True),
        (r"V\le W", True),
        (r"x\Rightarrow y", True),
        (r"R(T)=\tilde O(T)", True),
    ],
)
def test_a_term_is_no_claim(formula, claims):
    assert says_something(formula) is claims

"""The lists of empirical claims of the papers have the form that the benchmark reads."""

import tomllib
from importlib.resources import files

from dpproof.proofs_check.registry import papers
from tests.rows import rows

FIELDS = ["id", "where", "sentence", "means", "measure", "known"]
FOLDER = files("dpproof.reproduction") / "printed"


def test_every_paper_has_a_list():
    lists = {entry.name.removesuffix(".toml") for entry in FOLDER.iterdir()}
    assert lists == {name.replace("-", "_") for name in papers()} - {"classic"}


@rows("paper", ["rlsvi", "private_ucb"])
def test_claims_have_all_fields_and_their_own_names(paper):
    claims = tomllib.loads((FOLDER / f"{paper}.toml").read_text(encoding="utf-8"))["claim"]
    assert len({claim["id"] for claim in claims}) == len(claims) >= 10
    for claim in claims:
        assert list(claim) == FIELDS, claim["id"]
        assert all(claim[field].strip() for field in FIELDS[:-1]), claim["id"]

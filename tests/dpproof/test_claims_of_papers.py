"""The lists of empirical claims of the papers: every claim has a judge, or is out of reach with a reason."""

from importlib.resources import files

from dpproof.proofs_check.registry import papers
from dpproof.reproduction.claims import claims_of, section, summary
from dpproof.reproduction.experiments import experiments
from tests.rows import rows

FOLDER = files("dpproof.reproduction") / "printed"
JUDGED = [name for name in experiments() if experiments()[name].study().judges]


def test_every_paper_has_a_list():
    lists = {entry.name.removesuffix(".toml") for entry in FOLDER.iterdir()}
    assert lists == {name.replace("-", "_") for name in papers()} - {"classic"}


@rows("paper", JUDGED)
def test_every_claim_has_a_judge_or_is_out_of_reach(paper):
    claims, judges = claims_of(paper), experiments()[paper].study().judges
    assert len({claim.id for claim in claims}) == len(claims) >= 10
    assert {claim.id for claim in claims if claim.decides} == set(judges)
    for claim in claims:
        assert bool(claim.decides) != bool(claim.out_of_reach), claim.id
        assert all((claim.where.strip(), claim.sentence.strip(), claim.means.strip())), claim.id


def test_a_page_without_claims_has_no_section():
    assert section([]) == ""
    assert list(summary([])) == []

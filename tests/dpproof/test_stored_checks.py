"""`check` from Python: its results are stored as text, read back, and not believed where they do not follow."""

from __future__ import annotations

import json

import pytest

from dpproof import check
from dpproof.front.check import Checked

CLAIMS = """
[[claim]]
name = "kept"
mechanism = "geometric"
adjacency = "add-remove"
parameters = {scale = 2.0, sensitivity = 1}
epsilon = 0.5

[[claim]]
name = "broken"
mechanism = "geometric"
adjacency = "add-remove"
parameters = {scale = 2.0, sensitivity = 1}
epsilon = 0.25
audit = {budget = 30000}

[[claim]]
name = "own"
mechanism = "own_sum:noiseless"
adjacency = "replace"
data = "own_sum:ROWS"
epsilon = 1.0

[[claim]]
name = "no parameters"
mechanism = "geometric"
adjacency = "add-remove"
epsilon = 0.5
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory) -> Checked:
    folder = tmp_path_factory.mktemp("claims")
    (folder / "own_sum.py").write_text(
        "ROWS = [0, 1, 1]\n\n\ndef noiseless(rows, rng):\n    return sum(rows)\n"
    )
    (folder / "claims.toml").write_text(CLAIMS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        return check(folder / "claims.toml")


def test_a_stored_check_is_read_back_and_its_verdicts_follow(checked):
    text = checked.to_json()
    again = Checked.from_json(text)
    assert (again.to_json(), repr(again), again.exit_code) == (text, repr(checked), checked.exit_code)
    assert [claim.verdict.value for claim in again.claims] == ["kept", "broken", "broken"]
    assert [refusal.place for refusal in again.refusals] == [4]


@pytest.mark.parametrize(
    "change", [("verdict", "kept"), ("verdict", "perfect"), ("entry", {}), ("audit", {})]
)
def test_a_text_whose_verdict_does_not_follow_is_refused(checked, change):
    data = json.loads(checked.to_json())
    data["claims"][2] |= dict([change])
    with pytest.raises(ValueError, match=r"stored verdict is|must come from to_json|is missing"):
        Checked.from_json(json.dumps(data))

"""Every certificate: it re-checks, and neither a moved claim nor a damaged file passes."""

import copy
import json
import time

import pytest

from proofs_check.kernel import Rejected, check, load
from proofs_check.provers import refute
from proofs_check.provers.search import certificate
from proofs_check.registry import ROOT, certificate_path, statements

PAIRS = [(entry, x) for entry in statements() for x in entry.obligations]
IDS = [f"{entry.id}.{x.name}" for entry, x in PAIRS]
each = pytest.mark.parametrize(("entry", "obligation"), PAIRS, ids=IDS)


def stored(entry, obligation):
    return load((ROOT / certificate_path(entry, obligation)).read_text(encoding="utf-8"))


def rejected(data, claim):
    try:
        check(data, claim)
    except Rejected:
        return True
    return False


@each
def test_certificate_is_accepted_for_the_registrys_claim(entry, obligation):
    data = stored(entry, obligation)
    assert check(data, obligation.claim).verdict == data["verdict"]
    assert data["id"] == f"{entry.id}.{obligation.name}"


@each
def test_claim_moved_past_the_truth_is_rejected(entry, obligation):
    data, claim = stored(entry, obligation), copy.deepcopy(obligation.claim)
    if data["verdict"] == "REFUTED" or obligation.slack is None:
        pytest.skip("not a tight claim")
    relation, left, right = claim["goal"]
    claim["goal"] = [relation, left, ["+", right, obligation.slack]]
    assert refute(claim) is not None
    assert rejected(certificate(data["id"], claim, "PROVED", data["proof"]), claim)


def damaged(node):
    """Yield copies of a proof with one thing broken."""
    yield {}
    yield None
    for key, value in node.items():
        yield {k: v for k, v in node.items() if k != key}
        yield node | {key + "x": value}
        if isinstance(value, dict) and key == "sub":
            yield from (node | {key: part} for part in damaged(value))
    if "dir" in node:
        yield node | {"dir": -node["dir"]}
    if "terms" in node:
        yield node | {"terms": [["-1", e] for _, e in node["terms"]]}
    if "point" in node:
        yield {"point": dict.fromkeys(node["point"], "-1000000")}


@each
def test_damaged_certificate_is_rejected(entry, obligation):
    data = stored(entry, obligation)
    required = [x for x in damaged(data["proof"]) if not drops_only_options(x)]
    for proof in required:
        assert rejected(data | {"proof": proof}, obligation.claim), proof
    for change in ({"claim_sha256": "0" * 64}, {"v": 0}, {"verdict": "OPEN"}):
        assert rejected(data | change, obligation.claim)
    flipped = "REFUTED" if data["verdict"] == "PROVED" else "PROVED"
    assert rejected(data | {"verdict": flipped}, obligation.claim)
    del data["proof"]
    assert rejected(data, obligation.claim)


def drops_only_options(node):
    """A positive leaf without its options may still be a proof."""
    while isinstance(node, dict) and "sub" in node:
        node = node["sub"]
    return isinstance(node, dict) and node.keys() <= {"leaf", "reflect"} and node.get("leaf") == "positive"


def test_certificate_for_another_claim_is_stale():
    (first, a), (second, b) = PAIRS[0], PAIRS[1]
    assert rejected(stored(first, a), b.claim)
    assert rejected(stored(second, b), a.claim)


def test_no_file_without_a_statement():
    known = {ROOT / certificate_path(entry, x) for entry, x in PAIRS}
    assert set((ROOT / "proofs_check/certificates").rglob("*.json")) == known


def test_all_certificates_recheck_quickly():
    loaded = [(stored(entry, x), x.claim) for entry, x in PAIRS]
    start = time.perf_counter()
    for data, claim in loaded:
        check(data, claim)
    assert time.perf_counter() - start < 2


def test_files_are_written_deterministically():
    for entry, x in PAIRS:
        text = (ROOT / certificate_path(entry, x)).read_text(encoding="utf-8")
        assert text == json.dumps(load(text), indent=1, sort_keys=True) + "\n"

"""Ids of users in own data: two rows have the same user if and only if their ids were equal as given."""

from __future__ import annotations

import csv
import datetime
import importlib
import json
import re
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpproof import read_episodes, read_expert_data, write_episodes
from tests.rows import rows

WORDS = [
    "007",
    "7",
    "+7",
    "1e2",
    "100",
    "1e999",
    "2e999",
    "#2",
    "1_0",
    "10",
    "1.0",
    "1",
    "-0",
    "0",
    " ",
    "é",
    "u1 ",
]
WHOLE = (
    st.sampled_from([-1, 0, 5, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64, 10**30]) | st.integers()
)
TEXTS = st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
IDS = [WHOLE, TEXTS, st.dates(), st.datetimes(), st.binary(max_size=2), st.tuples(TEXTS, WHOLE)]
LISTS = st.one_of([st.lists(one, min_size=1, max_size=6) for one in IDS])
MISSING = {"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "<NA>", "NaT"}
FRAMES = ("pandas", "polars", "pyarrow")


def log_of(ids):
    """One row for each id, each an episode of its own."""
    count = len(ids)
    return {"user": ids, "episode": list(range(count)), "state": [0] * count, "reward": [0.5] * count}


def bare(one):
    """An id as it looks."""
    if isinstance(one, tuple):
        return tuple(map(bare, one))
    if isinstance(one, str):
        seen = "".join(sign for sign in one if unicodedata.category(sign) != "Cf")
        return unicodedata.normalize("NFC", seen).strip()
    return one.strip() if isinstance(one, bytes) else one


def alike(ids):
    """Whether two different ids look the same, or one looks like a missing value."""
    seen = {bare(one) for one in ids}
    parts = {part for one in seen for part in (one if isinstance(one, tuple) else (one,))}
    return len(seen) < len(set(ids)) or bool(MISSING & parts)


def keeps(source, ids):
    """Two rows have the same user if and only if their ids are equal. Only ids that look alike are refused."""
    if alike(ids):
        with pytest.raises(ValueError, match=r"row \d+: user"):
            read_episodes(source)
        return
    found = read_episodes(source)
    same = found.user[:, None] == found.user[None, :]
    np.testing.assert_array_equal(same, [[one == other for other in ids] for one in ids])
    names = [found.users[user] if found.users else user for user in found.user.tolist()]
    for name, given_ in zip(names, ids, strict=True):
        assert isinstance(given_, datetime.date | tuple | bytes) or str(name).strip() == str(given_).strip()


@settings(max_examples=200, deadline=None)
@given(LISTS)
@example([2**63, 2**63 + 1, 5])
@example(["a", "a\0"])
def test_equal_ids_and_only_those_share_a_user_in_dictionaries(ids):
    keeps(log_of(ids), ids)
    keeps(log_of(np.array([*ids, None], dtype=object)[:-1]), ids)


@settings(max_examples=100, deadline=None)
@given(ids=st.one_of(st.lists(WHOLE, min_size=1, max_size=6), st.lists(TEXTS, min_size=1, max_size=6)))
@example(ids=["1234567890123456789", "1234567890123456788"])
@example(ids=[2**63, 2**63 + 1, 5])
@example(ids=["1", "01", "1 "])
@example(ids=["#2", "2"])
def test_equal_ids_and_only_those_share_a_user_in_files(ids, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    log = log_of(ids)
    lines = [dict(zip(log, row, strict=True)) for row in zip(*log.values(), strict=True)]
    with (folder / "ids.csv").open("w", newline="", encoding="utf-8-sig") as stream:
        csv.writer(stream).writerows([log, *zip(*log.values(), strict=True)])
    (folder / "ids.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    keeps(folder / "ids.csv", ids)
    keeps(folder / "ids.jsonl", ids)


HIDDEN = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf"]


@settings(max_examples=100, deadline=None)
@given(
    st.text(st.characters(codec="utf-8"), max_size=3),
    st.sampled_from(HIDDEN),
    st.text("ab\u0301", max_size=3),
)
@example("u", "\u200d", "7")
@example("e", "\u200b", "\u0301")
@example("", "\ufeff", "")
def test_ids_that_differ_by_an_invisible_character_are_refused(before, hidden, after):
    """The message names the row and the character. An id that nobody sees counts as missing."""
    ids = ["a user", before + after, before + hidden + after]
    with pytest.raises(ValueError, match=r"row [23]: user") as refused:
        read_episodes(log_of(ids))
    said = str(refused.value)
    assert "must have a value" in said or f"U+{ord(hidden):04X}" in said
    with pytest.raises(ValueError, match=r"row [23]: user"):
        read_episodes(log_of([(one, 1) for one in ids]))


@pytest.mark.parametrize("library", FRAMES)
def test_equal_ids_and_only_those_share_a_user_in_frames(library, tmp_path):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    make = module.table if library == "pyarrow" else module.DataFrame

    @settings(max_examples=60, deadline=None)
    @given(
        st.one_of([st.lists(one, min_size=1, max_size=6) for one in (st.integers(0, 2**64 - 1), *IDS[1:4])])
    )
    @example([2**64 - 1, 2**63, 0])
    @example(["a", "a\0"])
    def check(ids):
        array = np.array(ids, dtype=np.uint64) if isinstance(ids[0], int) else ids
        frame = make(log_of(array))
        keeps(frame, ids)
        if library == "pyarrow":
            parquet.write_table(frame, tmp_path / "ids.parquet")
            keeps(tmp_path / "ids.parquet", ids)

    check()


@settings(max_examples=100, deadline=None)
@given(LISTS, st.sampled_from(["csv", "jsonl", "npz", "parquet"]))
@example(["u 1", "007", "7"], "csv")
@example(["a\rb", "a\nb", 'a"b', "a,b"], "csv")
@example([("a", 1), ("a", 2)], "npz")
@example([2**64, 1], "parquet")
def test_written_files_keep_users_and_the_map_of_rewards(tmp_path_factory, ids, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    path = tmp_path_factory.getbasetemp() / f"written.{suffix}"
    try:
        batch = read_episodes(log_of(ids), reward_range=(-5, 1))
    except ValueError:
        return
    write_episodes(path, batch)
    again = read_episodes(path)
    np.testing.assert_array_equal(
        again.user[:, None] == again.user[None, :], batch.user[:, None] == batch.user[None, :]
    )
    assert (again.reward_map, again.unit, again.rewards.tolist()) == (
        batch.reward_map,
        "user",
        batch.rewards.tolist(),
    )
    assert again.reward_map.back(again.rewards).tolist() == pytest.approx([0.5] * len(ids))


GOOD = {"episode": [0, 0, 1], "state": [0, 1, 0], "reward": [0.0, 1.0, 0.5]}
OWNERS = {"user": ["u1", "u1", "u1"]}


@pytest.mark.parametrize("read", [read_episodes, read_expert_data])
def test_a_byte_order_mark_does_not_split_users(read, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("user,episode,state,reward,terminated\nu1,1,0,0,1\nu1,2,1,1,1\n", encoding="utf-8-sig")
    found = read(path)
    assert (found.users, found.ignored, found.unit) == (("u1",), (), "user")
    assert "2 episodes of 1 user, 2 steps, unit: user, rewards" in repr(found)
    line = {"user": "u1", "episode": 1, "state": 0, "reward": 0, "terminated": True}
    (tmp_path / "log.jsonl").write_text(json.dumps(line), encoding="utf-8-sig")
    assert read(tmp_path / "log.jsonl").users == ("u1",)


@pytest.mark.parametrize("read", [read_episodes, read_expert_data])
def test_the_unit_is_stated_and_not_guessed(read):
    log = GOOD | {"terminated": [False, True, True]}
    for name in (
        "User",
        "user_id",
        "userId",
        "\ufeffuser",
        "USER ",
        "Patient",
        "patients",
        "person-no",
        "ID",
        "uuid",
    ):
        for given_ in (log, log | OWNERS):
            with pytest.raises(ValueError, match=r"would be ignored. Give columns=\{'user': "):
                read(given_ | {name: ["u1", "u1", "u1"]})
        found = read(log | {name: ["u1", "u1", "u1"]}, columns={"user": name})
        owners = getattr(found, "episodes", found).user
        assert (found.unit, found.ignored, set(owners.tolist())) == ("user", (), {0})
    with pytest.raises(ValueError, match=r"name no user. Give columns=.*, or unit='episode'"):
        read(log)
    found = read(log | OWNERS, unit="episode")
    assert (found.unit, found.ignored) == ("episode", ("user",))
    assert re.search("2 episodes, 3 steps, unit: episode, .*, ignored columns: user", repr(found))
    with pytest.raises(ValueError, match="row 2: user must be the same in all rows of an episode"):
        read(log | {"user": ["u1", "u2", "u2"]}, unit="episode")
    for wrong in ({"unit": "users"}, {"unit": "episode", "columns": {"user": "user"}}):
        with pytest.raises(ValueError, match="unit"):
            read(log | OWNERS, **wrong)
    with pytest.raises(ValueError, match="column 'Step' would be ignored"):
        read(log | OWNERS | {"Step": [0, 1, 0]})


@rows(
    ("users", "rule"),
    [
        ([1, "1", 1], r"row 2: user \('1'\) is a text, but 1 in row 1 is an integer"),
        ([1.0, 1.0, 1.0], r"row 1: user \(1.0, of type float\) must be a text, an integer"),
        (["u1", "u1", "u1 "], r"row 3: user \('u1 '\) looks like 'u1'"),
        (["u1", "u1", "\ufeffu1"], "row 3: user .* looks like 'u1'"),
        (["\u00e9", "\u00e9", "e\u0301"], "row 3: user .* how accents are stored"),
        ([("a", "b"), ("a", "b"), ("a", "b ")], "row 3: user .* looks like"),
        ([("a", 1), ("a", 1), ("a", None)], "row 3: user .* must have a value"),
        ([("a", 1), ("a", 1), ("a", 1.0)], "row 3: user .* of type tuple"),
        ([["a"], ["a"], ["b"]], "row 1: user .* of type list"),
        ([True, True, False], "row 1: user .* of type bool"),
        ([np.datetime64(5, "ns"), np.datetime64(5, "ps"), 1], "row 1: user .* of type datetime64"),
        (["u1", "u1", "NA"], "row 3: user .* must have a value"),
        (np.ma.masked_array([1, 1, 1], [0, 0, 1]), "row 3: user .None. must have a value"),
        (np.array(["2026-01-01", "2026-01-01", "NaT"], "M8[ns]"), "row 3: user .* must have a value"),
        (np.zeros((3, 2)), r"user \(shape \(3, 2\)\) must be one id for each step"),
        ("abc", "user .'abc'. must hold one value for each step"),
        (["u1", "u2", "u2"], "row 2: user must be the same in all rows"),
    ],
)
def test_ids_that_may_be_misread_are_refused_by_row(users, rule):
    for read in (read_episodes, read_expert_data):
        with pytest.raises(ValueError, match=rule):
            read(GOOD | {"terminated": [False, True, True], "user": users})


@pytest.mark.parametrize("library", FRAMES)
def test_missing_users_and_doubled_columns_of_frames_are_refused(library, tmp_path):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    make = module.table if library == "pyarrow" else module.DataFrame
    for users in (["u1", None], [1, None], [2**62, None]):
        with pytest.raises(ValueError, match=r"row 2: user .* must have a value"):
            read_episodes(make({"user": users, "episode": [0, 1], "state": [0, 0], "reward": [0, 0]}))
    if library == "pyarrow":
        users = module.array(["u1", "u1", None]).dictionary_encode()
        frame = make({"user": users, "episode": [0, 1, 2], "state": [0, 0, 0], "reward": [0, 0, 0]})
        importlib.import_module("pyarrow.parquet").write_table(frame, tmp_path / "a.parquet")
        for source in (frame, tmp_path / "a.parquet"):
            with pytest.raises(ValueError, match=r"row 3: user .None. must have a value"):
                read_episodes(source)
    if library == "pandas":
        frame = make([["u1", "u1", 0, 0]], columns=["user", "user", "state", "reward"])
        with pytest.raises(ValueError, match="must have different names"):
            read_episodes(frame)
        frame = make({"user": ["u1", None], "episode": [0, 1], "state": [0, 0], "reward": [0, 0]})
        with pytest.raises(ValueError, match=r"row 2: user .<NA>. must have a value"):
            read_episodes(frame.astype({"user": "string"}))


@rows(
    ("name", "text", "rule"),
    [
        ("a.csv", b"episode,user,state,reward\n#2,1,1,1\n3,1,1,1\n", None),
        (
            "a.csv",
            "episode,user,state,reward\n1,é,0,0\n".encode("latin1"),
            r"a\.csv: byte 29 \(0xe9\) is not text",
        ),
        ("a.csv", "user,state\n".encode("utf-16"), "is not text in UTF-8. Save the file in UTF-8"),
        ("a.jsonl", '{"user": "é"}'.encode("latin1"), "is not text in UTF-8"),
        ("a.csv", b'episode,user,state,reward\n1,"u1,0,0\n', "line 2 is not CSV"),
        (
            "a.csv",
            b"user,state,reward,episode\n1,0,1,1\n1,0,1,1\n1,x,1,1\n",
            r"row 3: state \('x'\) must be an integer",
        ),
        (
            "a.csv",
            b"user,state,reward,episode\n1,0,1,1\n1,0,abc,1\n1,0,1,1\n",
            r"row 2: reward \('abc'\) must hold",
        ),
        (
            "a.csv",
            b"user,state,reward,episode\n1,1e99,1,1\n",
            r"row 1: state \('1e99'\) must be an integer below",
        ),
        ("a.jsonl", b'{"user": 1, "user": 2, "state": 0, "reward": 0}\n', "row 1: .* must be different"),
        (
            "a.jsonl",
            b'{"user": 1.5, "episode": 1, "state": 0, "reward": 0}\n',
            "row 1: user .1.5, of type float",
        ),
    ],
)
def test_files_that_may_be_misread_are_refused(name, text, rule, tmp_path):
    (tmp_path / name).write_bytes(text)
    if rule is None:
        assert read_episodes(tmp_path / name).count == 2
        return
    with pytest.raises(ValueError, match=rule):
        read_episodes(tmp_path / name)


@rows(
    ("changed", "rule"),
    [
        ({"reward": [0, 0.5 + 1j, 0]}, r"row 2: reward \(\(0.5\+1j\)\) must hold real numbers"),
        ({"reward": np.array([0, 0.5 + 1j, 0])}, "row 1: reward .* must hold real numbers"),
        ({"reward": np.array(["2026-01-01"] * 3, "M8[D]")}, "reward .* must hold real numbers"),
        ({"reward": 0.5}, "reward .0.5. must hold one value for each step"),
        ({"state": np.array([0, 0.5, 0])}, r"row 2: state \(0.5\) must be an integer"),
        (
            {"state": np.array([0, 2**63, 0], np.uint64)},
            r"row 2: state \(9223372036854775808\) must be an",
        ),
        (
            {"terminals": [1, 1, 1], "terminations": [0, 0, 0]},
            "'terminals' and 'terminations' both hold terminated",
        ),
    ],
)
def test_values_are_not_converted_silently(changed, rule):
    with pytest.raises(ValueError, match=rule):
        read_episodes(GOOD | OWNERS | changed)


def test_observations_of_unequal_length_are_named_by_row():
    log = GOOD | OWNERS | {"terminated": [False, True, True]}
    with pytest.raises(
        ValueError, match=r"row 2: state \(shape \(1,\)\) must have the shape \(2,\) of row 1"
    ):
        read_expert_data(log | {"state": [[0, 1], [1], [0, 0]]})
    with pytest.raises(ValueError, match=r"row 2: state .* must hold real numbers"):
        read_expert_data(log | {"state": [[0, 1], [1, "x"], [0, 0]]})


def test_an_archive_of_this_project_is_read_as_it_states(tmp_path):
    path = tmp_path / "own.npz"
    batch = read_episodes(GOOD, reward_range=(-5, 1), unit="episode")
    write_episodes(path, batch)
    again = read_episodes(path, reward_range=(-5, 1))
    assert (again.unit, again.reward_map, again.users) == ("episode", batch.reward_map, batch.users)
    for wrong, rule in (
        ({"reward_range": (-5, 0)}, r"differs from the range \[-5, 1\] that the file states"),
        ({"columns": {"user": "nosuch"}}, "columns must be left out"),
        ({"unit": "user"}, "must be 'episode', which the archive states"),
    ):
        with pytest.raises(ValueError, match=rule):
            read_episodes(path, **wrong)
    np.savez(path, **GOOD, **OWNERS, lengths=[3])
    assert read_episodes(path).ignored == ("lengths",)

"""Own data: every form of the same episodes reads as the same batch, and bad data are refused by row and rule."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof import LSW, Episodes, read_episodes, read_expert_data, write_episodes
from dpproof.mechanisms.own_data.rewards import RewardMap
from tests.rows import rows

FIELDS = tuple(Episodes.__dataclass_fields__)
LIBRARIES = [name for name in ("pandas", "polars", "pyarrow") if importlib.util.find_spec(name)]


@st.composite
def batches(draw):
    lengths = np.array(draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)))
    steps = int(lengths.sum())

    def column(of):
        return draw(st.lists(of, min_size=steps, max_size=steps))

    return Episodes(
        np.array(column(st.integers(0, 2**40)), dtype=np.int64),
        np.array(column(st.integers(0, 9)), dtype=np.int64),
        np.array(column(st.floats(0, 1)), dtype=np.float64),
        lengths.astype(np.int64),
        np.array(
            draw(st.lists(st.integers(0, 3), min_size=len(lengths), max_size=len(lengths))), dtype=np.int64
        ),
    )


def same(first, second):
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


def columns_of(batch):
    """The batch as lists, with a number for each step of an episode."""
    return {
        "episode": np.repeat(np.arange(batch.count), batch.lengths),
        "user": np.repeat(batch.user, batch.lengths),
        "step": np.concatenate([np.arange(length) for length in batch.lengths]),
        "state": batch.states,
        "action": batch.actions,
        "reward": batch.rewards,
    }


@pytest.mark.parametrize("suffix", ["npz", "csv", "jsonl", "parquet"])
def test_files_keep_a_batch(suffix, tmp_path_factory):
    if suffix == "parquet" and "pyarrow" not in LIBRARIES:
        pytest.skip("pyarrow, of the extra `interop`, is not installed")
    path = tmp_path_factory.mktemp("files") / f"batch.{suffix}"

    @settings(max_examples=25, deadline=None)
    @given(batches())
    def keeps(batch):
        write_episodes(str(path), batch)
        same(read_episodes(str(path)), batch)
        write_episodes(path, read_episodes(path))
        same(read_episodes(path), batch)

    keeps()


@settings(max_examples=50, deadline=None)
@given(batches(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_names_of_users_do_not_matter(batch, random):
    given_ = columns_of(batch)
    order = list(range(len(batch.states)))
    random.shuffle(order)
    mixed = {name: [column[row] for row in order] for name, column in given_.items()}
    mixed["user"] = [f"u{user}" for user in mixed["user"]]
    found = read_episodes(mixed)
    seen = list(dict.fromkeys(mixed["episode"]))  # episodes are numbered as they are first met
    names = [found.users[user] for user in found.user]
    assert names == [f"u{batch.user[episode]}" for episode in seen]
    starts = np.cumsum(batch.lengths) - batch.lengths
    places = np.concatenate([np.arange(starts[e], starts[e] + batch.lengths[e]) for e in seen])
    for name in ("states", "actions", "rewards"):
        np.testing.assert_array_equal(getattr(found, name), getattr(batch, name)[places])


@settings(max_examples=25, deadline=None)
@given(batches())
def test_recordings_and_archives_read_as_the_same_batch(batch):
    alone = Episodes(*(getattr(batch, name) for name in FIELDS[:-1]), np.arange(batch.count))
    ends = np.zeros(len(batch.states), dtype=bool)
    ends[np.cumsum(batch.lengths) - 1] = True
    timeouts = ends & (np.arange(len(ends)) % 2 == 0)
    archive = {
        "observations": batch.states,
        "actions": batch.actions,
        "rewards": batch.rewards,
        "terminals": ends & ~timeouts,
        "timeouts": timeouts,
    }
    same(read_episodes(archive, unit="episode"), alone)
    steps = list(zip(*(column.tolist() for column in archive.values()), strict=True))
    same(read_episodes(steps, unit="episode"), alone)
    parts = np.split(np.arange(len(ends)), np.cumsum(batch.lengths)[:-1])
    same(read_episodes([[steps[row] for row in part] for part in parts], unit="episode"), alone)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_data_frames_are_read(library):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    given_ = {"episode": [3, 3, 5], "state": [0, 1, 1], "reward": [0.0, 0.5, 1.0], "user": ["a", "a", "b"]}
    frame = module.table(given_) if library == "pyarrow" else module.DataFrame(given_)
    found = read_episodes(frame)
    assert (found.states.tolist(), found.lengths.tolist()) == ([0, 1, 1], [2, 1])
    assert (found.user.tolist(), found.users) == ([0, 1], ("a", "b"))


def test_extra_columns_are_ignored_and_listed_and_names_can_be_given(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("ward,patient,cell,paid,note\n1,u1,0,-5,x\n1,u1,2,0,y\n2,u2,1,-1,z\n")
    names = {"episode": "ward", "user": "patient", "state": "cell", "reward": "paid"}
    found = read_episodes(path, reward_range=(-5, 0), columns=names)
    assert found.rewards.tolist() == [0.0, 1.0, 0.8]
    assert found.ignored == ("note",)
    assert "ignored columns: note" in repr(found)
    assert found.reward_map.back(found.rewards).tolist() == [-5.0, 0.0, -1.0]


@settings(max_examples=50, deadline=None)
@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.lists(st.floats(0, 1), min_size=1, max_size=6),
    st.floats(0, 1),
)
def test_values_move_back_to_the_units_of_the_rewards(low, width, shares, discount):
    moved = RewardMap(low, low + width)
    rewards = np.clip(low + width * np.array(shares), low, low + width)
    weights = discount ** np.arange(len(rewards))
    value = float(weights @ moved.forward(rewards))
    np.testing.assert_allclose(
        moved.back(value, weights.sum()),
        weights @ rewards,
        rtol=1e-9,
        atol=1e-9 * (abs(low) + width) * len(rewards),
    )


def test_an_estimator_takes_what_was_read():
    log = {"episode": np.repeat(np.arange(50), 2), "state": [0, 1] * 50, "reward": [0.0, 1.0] * 50}
    found = read_episodes(log, unit="episode")
    same(found, Episodes.rectangular([[0, 1]] * 50, [[0, 0]] * 50, [[0.0, 1.0]] * 50))
    values = LSW(states=2, discount=0.5).fit(found).predict(np.arange(2))
    np.testing.assert_allclose(values, [0.5, 1.0], atol=1e-9)


GOOD = {"episode": [0, 0, 1], "step": [0, 1, 0], "state": [0, 1, 0], "reward": [0.0, 1.0, 0.0]}


@rows(
    ("changed", "rule"),
    [
        ({"state": None}, "must include state"),
        ({"state": [0, 1.5, 0]}, r"row 2: state \(1.5\) must be an integer"),
        ({"state": [0, -1, 0]}, r"row 2: states \(-1\) must be at least 0"),
        ({"state": [[0.5], [1.0], [0.0]]}, "must be one integer for each step"),
        ({"reward": [0.0, 2.0, 0.0]}, r"row 2: rewards \(2.0\) must be in \[0, 1\]. Give reward_range"),
        ({"reward": [0.0, 1.0, float("nan")]}, r"row 3: rewards \(nan\)"),
        ({"reward": [0.0, "high", 1.0]}, r"row 2: reward \('high'\) must hold real numbers"),
        ({"step": [0, 0, 0]}, "row 2: step 0 must occur only once"),
        ({"step": [0, 2, 0]}, "row 2: step 1 is missing"),
        ({"step": [0, 1, 1]}, "row 3: step 1 is the first"),
        ({"step": [4, 5, 4]}, "row 1: step 4 is the first"),
        ({"step": None, "episode": [0, 1, 0]}, "row 3: the rows of an episode must be adjacent"),
        ({"episode": None}, "must include episode, or else"),
        ({"user": ["a", "b", "c"]}, "row 2: user must be the same"),
        ({"user": ["a", "a", None]}, "row 3: user"),
        ({"user": [1.0, 1.0, float("nan")]}, "row 3: user"),
        ({"user": ["a"]}, "must have equal lengths"),
        ({name: [] for name in GOOD}, "at least one step"),
        (
            {"episode": None, "step": None, "terminated": [False, "yes", True]},
            "row 2: terminated .'yes'. must be true",
        ),
    ],
)
def test_bad_data_are_refused_by_row_and_rule(changed, rule):
    log = {name: column for name, column in {**GOOD, **changed}.items() if column is not None}
    with pytest.raises(ValueError, match=rule):
        read_episodes(log, unit=None if "user" in log else "episode")


@rows(
    ("name", "text", "rule"),
    [
        (
            "a.csv",
            "episode,state,reward\n0,1\n",
            r"a\.csv: row 1: the row has 2 cells, but there are 3 columns",
        ),
        ("a.csv", "", r"a\.csv: .*first line must name"),
        ("a.csv", "episode,state,state\n0,1,1\n", "each once"),
        ("a.csv", "episode,state,reward\nx,1,2\n", r"a\.csv: row 1: rewards \(2.0\)"),
        ("a.jsonl", '{"episode": 0, "state": 1}\n', "must include reward"),
        ("a.jsonl", '{"episode": 0}\n{"state": 1}\n', "row 2: .*keys of the first"),
        ("a.jsonl", "no\n", "row 1: the line is not JSON"),
        ("a.npz", "no", "not an NPZ"),
        ("a.txt", "no", "must end in one of"),
    ],
)
def test_bad_files_are_refused(name, text, rule, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=rule):
        read_episodes(tmp_path / name, unit="episode")


@rows(
    ("source", "rule"),
    [
        (3, "must be a path, a data frame"),
        ([{"r": 3.0, "l": 4, "t": 0.1}], "must hold each step as"),
        ([(0, 1, 0.5)], "step 1|must be a list of episodes"),
        ([], "at least one step"),
    ],
)
def test_what_holds_no_steps_is_refused(source, rule):
    with pytest.raises(ValueError, match=rule):
        read_episodes(source, unit="episode")


@pytest.mark.parametrize(
    "wrong",
    [(0, 0), (1, 0), (0, float("inf")), (float("nan"), 1), (0, 1, 2), (0, 1j), "05", (-1e308, 1e308), 3],
)
def test_a_range_of_rewards_has_two_finite_ends(wrong):
    with pytest.raises(ValueError, match="two finite numbers with low below high"):
        read_episodes(GOOD, reward_range=wrong, unit="episode")


def test_names_that_are_unknown_are_refused():
    with pytest.raises(ValueError, match="'cell' must be one of"):
        read_episodes(GOOD, columns={"state": "cell"})
    with pytest.raises(ValueError, match="the key"):
        read_episodes(GOOD, columns={"cell": "state"})
    with pytest.raises(ValueError, match="must be a mapping"):
        read_episodes(GOOD, columns=["user"])


def test_words_say_where_episodes_end(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("state,reward,terminated\n0,0,False\n1,1,True\n0,0,False\n")
    assert read_episodes(path, unit="episode").lengths.tolist() == [2, 1]


def test_lines_of_json_hold_one_step_each(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{json.dumps({name: GOOD[name][row] for name in GOOD})}\n" for row in range(3)))
    same(read_episodes(path, unit="episode"), read_episodes(GOOD, unit="episode"))


ARCHIVE = {
    "observations": [[0.0, 1.0], [0.5, 1.0], [0.0, 0.0]],
    "next_observations": [[0.5, 1.0], [1.0, 1.0], [0.1, 0.0]],
    "actions": [1, 1, 0],
    "rewards": [-2.0, 5.0, 0.5],
    "terminals": [False, True, False],
    "timeouts": [False, False, True],
    "user": ["b", "b", "a"],
}


def test_an_archive_of_experts_is_read_and_kept(tmp_path):
    np.savez(tmp_path / "log.npz", **ARCHIVE)
    for found in (read_expert_data(ARCHIVE), read_expert_data(str(tmp_path / "log.npz"))):
        assert (found.experts, found.episodes.lengths.tolist(), found.episodes.user.tolist()) == (
            2,
            [2, 1],
            [0, 1],
        )
        np.testing.assert_array_equal(found.observations, np.float32(ARCHIVE["observations"]))
        np.testing.assert_array_equal(found.last, np.float32([[1.0, 1.0], [0.1, 0.0]]))
        assert (found.over.tolist(), found.rewards.tolist()) == ([True, False], [-2.0, 5.0, 0.5])
        assert found.returns().tolist() == [3.0, 0.5]


@rows(
    ("changed", "rule"),
    [
        ({"next_observations": None}, "row 3: next_observations is missing"),
        ({"observations": [[0.0], [float("nan")], [1.0]]}, "row 2: state must be finite"),
        ({"rewards": [0.0, 1.0, float("inf")]}, "row 3: reward must be finite"),
        ({"actions": [0.5, 1, 1]}, r"row 1: action \(0.5\) must be an integer"),
        ({"user": ["a", "b", "b"]}, "user must be the same"),
    ],
)
def test_bad_data_of_experts_are_refused(changed, rule):
    log = {name: column for name, column in {**ARCHIVE, **changed}.items() if column is not None}
    with pytest.raises(ValueError, match=rule):
        read_expert_data(log)

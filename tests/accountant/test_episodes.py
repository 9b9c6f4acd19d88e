"""Episodes: refusals by message, the file by reading back what was written."""

import dataclasses

import numpy as np
import pytest

from dpproof.accountant.claims.episodes import Episodes, differ_only_in_rewards, replaces_one_user

BATCH = Episodes.rectangular([[0, 1], [1, 1]], [[1, 0], [0, 0]], [[0.5, 1.0], [0.0, 0.25]])


def changed(**fields):
    return dataclasses.replace(BATCH, **fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"states": np.array([0, 1, -1, 1])}, r"states \(-1\) must be at least 0"),
        ({"states": np.array([0.0, 1, 1, 1])}, r"states \(dtype float64\) must have dtype int64"),
        ({"actions": np.array([0, 1, 1])}, r"actions \(shape \(3,\)\) must have shape \(4,\)"),
        ({"rewards": np.array([0.5, np.nan, 0, 0])}, r"rewards \(nan\) must be in \[0, 1\]"),
        ({"rewards": np.array([0.5, 1.0000001, 0, 0])}, r"rewards \(1.0000001\) must be in \[0, 1\]"),
        ({"rewards": np.array([0, 1, 0, 1])}, r"rewards \(dtype int64\) must have dtype float64"),
        ({"lengths": np.array([4, 0])}, r"lengths \(0\) must be at least 1"),
        ({"lengths": np.array([], dtype=np.int64)}, r"at least one episode"),
        ({"user": np.array([0])}, r"user \(shape \(1,\)\) must have shape \(2,\)"),
    ],
)
def test_each_refusal_names_field_and_rule(fields, message):
    with pytest.raises(ValueError, match=message):
        changed(**fields)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (([[0.5, 1.7]], [[0, 1]], [[0, 1]]), r"states \(dtype float64\) must be integers"),
        (([[0, 1, 1], [1, 1, 1]], [[0, 1], [1, 0], [0, 0]], np.zeros((2, 3))), r"actions \(shape \(3, 2\)\)"),
        (([0, 1], [0, 1], [0, 1]), r"must have shape \(episodes, steps\)"),
    ],
)
def test_rectangular_tables_are_neither_cut_nor_reshaped(tables, message):
    with pytest.raises(ValueError, match=message):
        Episodes.rectangular(*tables)


def test_the_file_gives_back_what_was_written(tmp_path):
    BATCH.save(tmp_path / "batch.npz")
    again = Episodes.load(tmp_path / "batch.npz")
    for field in dataclasses.fields(Episodes):
        assert np.array_equal(getattr(again, field.name), getattr(BATCH, field.name))
        assert getattr(again, field.name).dtype == getattr(BATCH, field.name).dtype
    assert [path.name for path in tmp_path.iterdir()] == ["batch.npz"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "batch.npz"
    BATCH.save(path)
    before = path.read_bytes()

    def half(stream, **fields):
        stream.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", half)
    with pytest.raises(OSError, match="disk full"):
        BATCH.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_other_files_are_refused_by_name(tmp_path):
    path = tmp_path / "odd.npz"
    path.write_text("states,actions")
    with pytest.raises(ValueError, match=r"odd\.npz: the file is not an NPZ archive"):
        Episodes.load(path)
    with path.open("wb") as stream:
        np.savez(stream, format=1, states=np.zeros(1))
    with pytest.raises(ValueError, match=r"odd\.npz: the archive must hold"):
        Episodes.load(path)
    with path.open("wb") as stream:
        np.savez(stream, format=2, **vars(BATCH))
    with pytest.raises(ValueError, match=r"odd\.npz: the file has format 2, but this dpproof reads format 1"):
        Episodes.load(path)
    with pytest.raises(FileNotFoundError):
        Episodes.load(tmp_path / "none.npz")


def test_neighbours():
    one_user = changed(rewards=np.array([0.5, 1.0, 1.0, 1.0]))
    two_users = changed(rewards=np.array([0.0, 1.0, 1.0, 1.0]))
    moved = changed(states=np.array([0, 0, 1, 1]))
    assert differ_only_in_rewards(BATCH, one_user)
    assert differ_only_in_rewards(BATCH, BATCH)
    assert not differ_only_in_rewards(BATCH, two_users)
    assert not differ_only_in_rewards(BATCH, moved)
    assert replaces_one_user(BATCH, moved)
    assert replaces_one_user(BATCH, one_user)
    assert not replaces_one_user(BATCH, two_users)
    assert not replaces_one_user(BATCH, changed(lengths=np.array([1, 3])))
    assert not differ_only_in_rewards(BATCH, changed(user=np.array([0, 7])))


def test_one_user_may_own_several_episodes():
    owner = np.array([3, 3])
    assert differ_only_in_rewards(changed(user=owner), changed(user=owner, rewards=np.zeros(4)))


def test_ragged_episodes_have_no_table():
    assert BATCH.table("actions").tolist() == [[1, 0], [0, 0]]
    with pytest.raises(ValueError, match="must all be equal"):
        changed(lengths=np.array([1, 3])).table("actions")

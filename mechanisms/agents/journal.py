"""A private record of a training run, from which the run goes on after a crash and spends nothing twice.

The record holds every user's episode and every random word that the noise was made from. Both are written before
anything that depends on them is shown. When a run begins again, the same users and the same words give the same
releases. So no release is ever drawn twice from the same users.

The record is as private as the users' data. Keep it where they are kept. The file that may be published is the passport
(`dpproof.mechanisms.agents.passport`).
"""

from __future__ import annotations

import hmac
import io
import os
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import NamedTuple

import numpy as np

from dpproof.mechanisms.agents.learner import Record
from dpproof.mechanisms.release.words import Words, WordSource

_SCHEMA = """
create table if not exists about (name text primary key, value blob not null);
create table if not exists words (number integer primary key, words blob not null);
create table if not exists users (place integer primary key, person blob unique, record blob);
"""


class JournalError(ValueError):
    """Raised for a journal that belongs to another agent, or that another process has changed."""


class Entry(NamedTuple):
    """One user's place in the run: a digest of who it was (None if unknown), and what the server got (None if absent)."""

    person: bytes | None
    record: Record | None


class Memory:
    """A journal that is kept in memory only. It knows which persons took part, and nothing else."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._persons: set[bytes] = set()

    def digest(self, person: str) -> bytes:
        """Return a keyed digest of a person's name, so that names are not stored."""
        if not isinstance(person, str):
            raise ValueError(f"person ({person!r:.80}) must be a text")
        return hmac.digest(self._key, person.encode("utf-8", "surrogatepass"), "sha256")

    def knows(self, digest: bytes) -> bool:
        """Return whether this person has already taken part."""
        return digest in self._persons

    def words(self, words: Words) -> None:
        """Note random words before they are used. In memory there is nothing to do."""

    def commit(self, place: int, entry: Entry) -> None:
        """Note a user's place in the run."""
        if entry.person is not None:
            self._persons.add(entry.person)

    def close(self) -> None:
        """Release what the journal holds open."""


class Journal(Memory):
    """A journal in an SQLite file, which only its owner may read. One agent at a time may use it.

    Args:
        path: the file. It is made if it does not exist.
        about: a text that describes the agent: its algorithm, parameters and version.

    Raises:
        JournalError: the file belongs to an agent with another description, or another agent uses it now. Two agents
            would draw different noise on the same users.
    """

    def __init__(self, path: str | FilePath, about: str) -> None:
        super().__init__()
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self._base = sqlite3.connect(path, timeout=1, isolation_level=None, check_same_thread=False)
        try:
            self._lock_and_fill(about)
        except sqlite3.OperationalError as error:
            self._base.close()
            raise JournalError(
                f"journal ({path}) cannot be opened: {error}. Another agent may be using it; close that agent first."
            ) from error
        held = dict(self._base.execute("select name, value from about"))
        self._key = held["key"]
        if held["agent"] != about.encode():
            self._base.close()
            raise JournalError(
                f"journal ({path}) belongs to another agent: {held['agent'].decode()[:200]}. This agent is "
                f"{about[:200]}. Use another file, or make the agent with the same arguments."
            )

    def _lock_and_fill(self, about: str) -> None:
        """Lock the file as long as it is open, and make the tables if there are none."""
        for text in ("locking_mode = exclusive", "journal_mode = wal", "synchronous = full"):
            self._base.execute(f"pragma {text}")
        self._base.executescript(_SCHEMA)
        self._base.execute("begin immediate")
        self._base.execute("insert or ignore into about values ('agent', ?)", (about.encode(),))
        self._base.execute("insert or ignore into about values ('key', ?)", (self._key,))
        self._base.execute("commit")

    def knows(self, digest: bytes) -> bool:
        """Return whether this person has already taken part."""
        return self._base.execute("select 1 from users where person = ?", (digest,)).fetchone() is not None

    def words(self, words: Words) -> None:
        """Write random words before they are used."""
        self._base.execute("insert into words (words) values (?)", (words.tobytes(),))

    def commit(self, place: int, entry: Entry) -> None:
        """Write a user's place in the run.

        Raises:
            JournalError: another process has written this place.
        """
        data = None if entry.record is None else _packed(entry.record)
        try:
            self._base.execute("insert into users values (?, ?, ?)", (place, entry.person, data))
        except sqlite3.IntegrityError as error:
            raise JournalError(
                f"user number {place} is already in the journal. Another process writes to it, or the person took part "
                "before. Begin again from the journal."
            ) from error

    def recorded_words(self) -> Iterator[Words]:
        """Yield the random words in the order in which they were drawn."""
        for (data,) in self._base.execute("select words from words order by number").fetchall():
            yield np.frombuffer(data, np.uint64)

    def entries(self) -> Iterator[Entry]:
        """Yield the users' entries in order.

        Raises:
            JournalError: a place is missing.
        """
        rows = self._base.execute("select place, person, record from users order by place").fetchall()
        for number, (place, person, data) in enumerate(rows):
            if place != number:
                raise JournalError(f"user number {number} is missing from the journal")
            yield Entry(person, None if data is None else _unpacked(data))

    def close(self) -> None:
        """Close the file."""
        self._base.close()


class RecordedWords:
    """A source of random 64-bit words that writes each word to a journal before it returns it.

    When a run begins again, it first returns the words of the journal.
    """

    def __init__(self, journal: Memory, draw: WordSource, recorded: Iterator[Words] = iter(())) -> None:
        self._journal, self._draw = journal, draw
        rows = list(recorded)
        self._held: Words = np.concatenate(rows) if rows else np.empty(0, np.uint64)

    @property
    def left(self) -> int:
        """The number of recorded words that have not been returned again."""
        return len(self._held)

    def __call__(self, count: int) -> Words:
        """Return ``count`` words."""
        old, self._held = self._held[:count], self._held[count:]
        if len(old) == count:
            return old
        new: Words = self._draw(count - len(old))
        self._journal.words(new)
        return np.concatenate([old, new])


def _packed(record: Record) -> bytes:
    found = io.BytesIO()
    np.savez(found, **record)
    return found.getvalue()


def _unpacked(data: bytes) -> Record:
    with np.load(io.BytesIO(data), allow_pickle=False) as held:
        return dict(held)

"""A private record of a training run, from which the run goes on after a crash and spends nothing twice.

The record holds who began, what the server got of each user, and every random word that the noise was made from. All
of it is on the disk before anything that depends on it is shown. When a run begins again, the same users and the same
words give the same releases. So no release is ever drawn twice from the same users.

A person who was under way when the run stopped may come again, and keeps the place. So whether this person had ended
before the run stopped does not move any other user to another batch.

One process at a time may hold a journal. This needs a disk whose locks work, and a network disk may have none. A
copy of a journal must not be used beside the original or after it. Two runs from the same users would draw different
noise on them.

The record is as private as the users' data. Keep it where they are kept. Only its owner may read the file. The
file that may be published is the passport (`dpproof.mechanisms.agents.passport`).
"""

from __future__ import annotations

import hmac
import json
import math
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path as FilePath
from typing import NamedTuple

import numpy as np

from dpproof.mechanisms.agents.learner import Record
from dpproof.mechanisms.release.words import Words

_SCHEMA = """
create table if not exists about (name text primary key, value blob not null);
create table if not exists words (number integer primary key, words blob not null);
create table if not exists events (number integer primary key, ended integer, person blob, record blob,
    unique (person, ended));
"""


_PATIENCE = 2.0
"""How many seconds to wait for another process to close the journal."""


class JournalError(ValueError):
    """Raised for a journal that belongs to another agent or another process, and for an agent that may not go on."""


class Event(NamedTuple):
    """A user who begins an episode, or one who has ended it."""

    ended: bool
    person: bytes | None
    """A digest of who begins or has ended, None if unknown."""
    record: Record | None
    """What the server got of the user who has ended, None if the user is absent."""


class Memory:
    """A journal that is kept in memory only. It knows which persons took part, and nothing else."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._persons: set[bytes] = set()

    def digest(self, person: str) -> bytes:
        """Return a keyed digest of a person's name, so that names are not stored.

        Raises:
            ValueError: the name is not a text.
        """
        if not isinstance(person, str):
            raise ValueError(f"person ({person!r:.80}) must be a text")
        return hmac.digest(self._key, person.encode("utf-8", "surrogatepass"), "sha256")

    def knows(self, digest: bytes) -> bool:
        """Return whether this person has already taken part."""
        return digest in self._persons

    def words(self, words: Words) -> None:
        """Note random words before they are used. In memory there is nothing to do."""

    def choose(self, chosen: str) -> None:
        """Note the mechanism and its parameters."""

    def begin(self, person: bytes | None) -> None:
        """Note that a user begins."""

    def end(self, person: bytes | None, record: Record | None) -> None:
        """Note that a user has ended."""
        if person is not None:
            self._persons.add(person)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Guard a block: all that is noted in it is kept at its end, or nothing if it ends by an error."""
        yield

    def close(self) -> None:
        """Release what the journal holds open."""


class Journal(Memory):
    """A journal in an SQLite file. One process holds it until it closes it or ends.

    Args:
        path: the file. It is made if it does not exist.
        about: a text that describes the agent: its algorithm, parameters and version.

    Raises:
        JournalError: the file belongs to an agent with another description.
    """

    def __init__(self, path: str | FilePath, about: str) -> None:
        super().__init__()
        self._path, self._base = path, _opened(path)
        self._grouped = self._begun = False
        try:
            self._agree("agent", about)
            self._key = self._kept("key", self._key)
        except BaseException:
            self._base.close()
            raise

    def _kept(self, name: str, value: bytes) -> bytes:
        """Return what the journal holds under a name. It keeps the value if it holds nothing yet."""
        self._base.execute("insert or ignore into about values (?, ?)", (name, value))
        held: bytes = self._base.execute("select value from about where name = ?", (name,)).fetchone()[0]
        return held

    def _agree(self, name: str, text: str) -> None:
        held = self._kept(name, text.encode()).decode()
        if held != text:
            raise JournalError(
                f"journal ({self._path}) belongs to another agent: {held:.600}. This agent is {text:.600}. Use another "
                "file, or make the agent with the same arguments."
            )

    @property
    def chosen(self) -> str | None:
        """The mechanism and its parameters, if they were noted."""
        held = self._base.execute("select value from about where name = 'chosen'").fetchone()
        return None if held is None else held[0].decode()

    def choose(self, chosen: str) -> None:
        """Note the mechanism and its parameters.

        Raises:
            JournalError: the journal holds others.
        """
        self._agree("chosen", chosen)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Guard a block: all that is written in it is on the disk at its end, or nothing if it ends by an error."""
        self._grouped, self._begun = True, False
        try:
            yield
            self._end("commit")
        except BaseException:
            with suppress(sqlite3.Error):
                self._end("rollback")
            raise
        finally:
            self._grouped = False

    def _end(self, command: str) -> None:
        if self._begun:
            self._base.execute(command)

    def _write(self, command: str, *values: object) -> None:
        if self._grouped and not self._begun:
            self._base.execute("begin")
            self._begun = True
        self._base.execute(command, values)

    def knows(self, digest: bytes) -> bool:
        """Return whether this person has already taken part."""
        asked = "select 1 from events where person = ? and ended = 1"
        return self._base.execute(asked, (digest,)).fetchone() is not None

    def words(self, words: Words) -> None:
        """Write random words before they are used."""
        self._write("insert into words (words) values (?)", words.tobytes())

    def begin(self, person: bytes | None) -> None:
        """Write that a user begins, before the user sees anything.

        Otherwise the place of a user would be used up after a crash if and only if the user, or another one, had ended
        before. How long a user takes may depend on the user's data, and all later batches would begin elsewhere.
        """
        self._write("insert into events (ended, person) values (0, ?)", person)

    def end(self, person: bytes | None, record: Record | None) -> None:
        """Write that a user has ended.

        Raises:
            JournalError: the person is in the journal already.
        """
        data = None if record is None else _packed(record)
        try:
            self._write("insert into events (ended, person, record) values (1, ?, ?)", person, data)
        except sqlite3.IntegrityError as error:
            raise JournalError(
                "this person is in the journal already. Begin again from the journal."
            ) from error

    def recorded_words(self) -> Iterator[Words]:
        """Yield the random words in the order in which they were drawn."""
        for (data,) in self._base.execute("select words from words order by number").fetchall():
            yield np.frombuffer(data, np.uint64)

    def events(self) -> Iterator[Event]:
        """Yield the events in order.

        Raises:
            JournalError: an event is missing.
        """
        rows = self._base.execute(
            "select number, ended, person, record from events order by number"
        ).fetchall()
        for expected, (number, ended, person, data) in enumerate(rows, 1):
            if number != expected:
                raise JournalError(f"event number {expected} is missing from the journal")
            yield Event(bool(ended), person, None if data is None else _unpacked(data))

    def close(self) -> None:
        """Close the file."""
        self._base.close()


def _opened(path: str | FilePath) -> sqlite3.Connection:
    """Return the only connection to a journal. No other user of the machine may read a new file.

    Raises:
        JournalError: another process holds the file, or it is no journal.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    base = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        base.execute("pragma locking_mode = exclusive")
        base.execute("pragma journal_mode = wal")
        base.execute("pragma synchronous = full")
        base.executescript(_SCHEMA)
    except sqlite3.DatabaseError as error:
        base.close()
        locked = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
        rule = (
            "is in use. One process at a time may hold a journal; end the other one first"
            if locked
            else f"must be a journal of an agent: {error}"
        )
        raise JournalError(f"journal ({path}) {rule}.") from error
    return base


def _packed(record: Record) -> bytes:
    """Return named arrays as bytes: a line of JSON with their types and shapes, and then their content."""
    head = {name: [values.dtype.str, values.shape] for name, values in record.items()}
    return json.dumps(head).encode() + b"\n" + b"".join(values.tobytes() for values in record.values())


def _unpacked(data: bytes) -> Record:
    head, _, body = data.partition(b"\n")
    found, place = {}, 0
    for name, (kind, shape) in json.loads(head).items():
        found[name] = np.frombuffer(body, kind, math.prod(shape), place).reshape(shape)
        place += found[name].nbytes
    return found

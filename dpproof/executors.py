"""Executors run tasks in this process, in other processes or on a Dask cluster. A journal stores the results.

With a journal, interrupted work continues where it stopped. A task is a function and its arguments. The journal
stores each result under a hash of the task, of this project's code, and of the files of the other modules that the
task names. So changed code is run again. The journal does not notice changes in further modules, which those
modules import. Delete the journal when such a module changes. Results are stored as pickles, so a journal must be
trusted like code.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import multiprocessing
import multiprocessing.context
import pickle
import pickletools
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from dpproof.audits.time_budget import ending_at, time_left

P = ParamSpec("P")
T = TypeVar("T")
PACKAGES = (
    "dpproof",
    *(f"dpproof.{name}" for name in ("accountant", "mechanisms", "proofs_check", "audits")),
)
TABLE = "CREATE TABLE IF NOT EXISTS done (key TEXT PRIMARY KEY, value BLOB NOT NULL)"
_CURRENT: ContextVar[Journal | None] = ContextVar("journal", default=None)


class Journal:
    """A file of results, each stored under a key. The file stays valid if the process is interrupted.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, Journal(Path(folder, "journal")) as journal:
    ...     journal.keep("key", 3)
    ...     journal.known("key"), journal.known("other")
    ((3,), None)
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            self._rows = sqlite3.connect(path, check_same_thread=False)
            with self._rows:
                self._rows.execute(TABLE)
        except sqlite3.Error as error:
            raise ValueError(
                f"journal ({str(path)!r}) must be a journal of dpproof, or a file that can be created"
            ) from error

    def __enter__(self) -> Journal:
        """Return the journal. It is closed at the end of the context."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the file."""
        self._rows.close()

    def known(self, key: str) -> tuple[Any] | None:
        """Return the result that is stored under the key, as a tuple with one entry, or None if there is none."""
        with self._lock:
            row = self._rows.execute("SELECT value FROM done WHERE key = ?", (key,)).fetchone()
        return None if row is None else (pickle.loads(row[0]),)

    def keep(self, key: str, value: object) -> None:
        """Store a result under a key. The result is on disk when this method returns."""
        with self._lock, self._rows:
            self._rows.execute("INSERT OR REPLACE INTO done VALUES (?, ?)", (key, pickle.dumps(value)))


class JournalExecutor(Executor):
    """An executor that first looks for results in the journal, and stores new results there.

    Args:
        journal: the journal in which results are stored.
        inner: the executor that runs the other tasks. If it is None, this process runs them one after the other.
    """

    def __init__(self, journal: Journal, inner: Executor | None) -> None:
        self._journal, self._inner = journal, inner

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a task or find its result in the journal, and return a future.

        A task that cannot be pickled is run, but its result is not stored.
        """
        key = _key((fn, args, kwargs))
        if key is not None and (known := self._journal.known(key)) is not None:
            found: Future[T] = Future()
            found.set_result(known[0])
            return found
        future = _now(fn, *args, **kwargs) if self._inner is None else self._inner.submit(fn, *args, **kwargs)
        if key is not None:
            future.add_done_callback(lambda done: self._finished(key, done))
        return future

    def _finished(self, key: str, done: Future[T]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._journal.keep(key, done.result())


class _TimedExecutor(Executor):
    """An executor whose tasks raise `OutOfTimeError` when the time budget of the caller is spent."""

    def __init__(self, inner: Executor) -> None:
        self._inner = inner

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a task until the time budget is spent, and return a future."""
        left = time_left()
        if left == math.inf:
            return self._inner.submit(fn, *args, **kwargs)
        return self._inner.submit(_in_time, time.time() + left, fn, *args, **kwargs)


def _in_time(until: float, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    """Run a task in a worker, whose clock of ``time.monotonic`` may differ from the caller's."""
    with ending_at(time.monotonic() + until - time.time()):
        return fn(*args, **kwargs)


def _now(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    future: Future[T] = Future()
    try:
        future.set_result(fn(*args, **kwargs))
    except Exception as error:
        future.set_exception(error)
    return future


def _key(task: object) -> str | None:
    """Return the journal key of a task, or None if the task cannot be pickled."""
    try:
        written = pickle.dumps(task)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    parts = [written, _own_code(), *(_file_of(name) for name in sorted(_modules(written)))]
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def _modules(written: bytes) -> set[str]:
    """Return the modules outside this project that a pickle names."""
    texts = {str(value) for _, value, _ in pickletools.genops(written) if isinstance(value, str)}
    return {text for text in texts if text in sys.modules and text.partition(".")[0] != "dpproof"}


def _file_of(module: str) -> bytes:
    file = getattr(sys.modules[module], "__file__", None)
    return Path(file).read_bytes() if file is not None and file.endswith(".py") else module.encode()


@cache
def _own_code() -> bytes:
    """Return a hash of all code of this project."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        origin = import_module(package).__file__
        assert origin is not None
        for path in sorted(Path(origin).parent.rglob("*.py")):
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.digest()


@contextlib.contextmanager
def journal_at(path: Path | None) -> Iterator[None]:
    """Within this context, executors of `executor_for` use the journal in this file.

    If the path is None, nothing changes.

    Raises:
        ValueError: the file is no journal, or cannot be made.
    """
    if path is None:
        yield
        return
    with Journal(path) as journal:
        token = _CURRENT.set(journal)
        try:
            yield
        finally:
            _CURRENT.reset(token)


def journaled(executor: Executor | None) -> Executor | None:
    """Return an executor that uses the journal of the present context, and runs other tasks by ``executor``.

    If the context has no journal, return ``executor`` itself.
    """
    journal = _CURRENT.get()
    return executor if journal is None else JournalExecutor(journal, executor)


PATIENCE = 10
"""Number of seconds to wait for a Dask scheduler."""


@contextmanager
def executor_for(workers: int = 1, cluster: str | None = None) -> Iterator[Executor | None]:
    """Provide an executor that uses ``workers`` processes or a cluster, or None if this process works alone.

    The results do not depend on the choice. If the work is interrupted, its processes are terminated. Within
    `journal_at`, finished work is stored and reused, and the executor is not None.

    >>> with executor_for(1) as executor:
    ...     executor is None
    True

    Args:
        workers: the number of processes. With 1, this process does all the work.
        cluster: the address of a Dask scheduler, such as ``tcp://127.0.0.1:8786``. This project and the audited
            code must be installed on its workers.

    Raises:
        ValueError: fewer than one worker, no scheduler at the address, or no package to reach it with.
    """
    if workers < 1:
        raise ValueError(f"workers ({workers!r}) must be an integer at least 1")
    if cluster is not None:
        with _cluster(cluster) as executor:
            yield journaled(_TimedExecutor(executor))
    elif workers == 1:
        yield journaled(None)
    else:
        with ProcessPoolExecutor(workers, _start_method()) as pool:
            try:
                yield journaled(_TimedExecutor(pool))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in multiprocessing.active_children():
                    process.terminate()
                raise


def _start_method() -> multiprocessing.context.BaseContext | None:
    """Return the way in which new processes start. None means Python's default, which forks this process on Linux.

    A fork of a process that has imported JAX may never end, because the threads of JAX do not exist in the copy.
    """
    return multiprocessing.get_context("spawn") if "jax" in sys.modules else None


@contextmanager
def _cluster(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError("cluster needs the package distributed: pip install 'dpproof[cluster]'") from error
    try:
        client: Any = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ValueError(
            f"cluster ({address!r}) must be the address of a running Dask scheduler: {error}"
        ) from error
    with client:
        yield client.get_executor(pure=False)  # equal calls may be meant to draw anew

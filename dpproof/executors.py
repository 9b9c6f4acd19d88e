"""Where work is done: in this process, in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from dpproof.journal import journaled

__all__ = ["executor_for"]

PATIENCE = 10
"""Seconds to wait for a scheduler."""


@contextmanager
def executor_for(workers: int = 1, cluster: str | None = None) -> Iterator[Executor | None]:
    """An executor of ``workers`` processes, or that of the cluster, or None for this process alone.

    What is computed does not depend on it. When the work is interrupted its processes are ended. Within
    `journal.journal_at` finished work is kept, and found again.

    >>> with executor_for(1) as executor:
    ...     executor is None
    True

    Args:
        workers: how many processes; 1 for none but this one.
        cluster: the address of a Dask scheduler, such as ``tcp://127.0.0.1:8786``; its workers must have
            this project, and what is audited, installed.

    Raises:
        ValueError: fewer than one worker, no scheduler at the address, or no package to reach it with.
    """
    if workers < 1:
        raise ValueError(f"workers ({workers!r}) must be an integer at least 1")
    if cluster is not None:
        with _cluster(cluster) as executor:
            yield journaled(executor)
    elif workers == 1:
        yield journaled(None)
    else:
        with ProcessPoolExecutor(workers) as pool:
            try:
                yield journaled(pool)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in multiprocessing.active_children():
                    process.terminate()
                raise


@contextmanager
def _cluster(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError("cluster: needs the package distributed: pip install 'dpproof[cluster]'") from error
    try:
        client: Any = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ValueError(f"cluster ({address!r}) must be the address of a Dask scheduler: {error}") from error
    with client:
        yield client.get_executor(pure=False)  # equal calls may be meant to draw anew

"""A Dask cluster of two worker processes on this machine: what it finds does not depend on who is killed."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.sweep import record as records
from dpproof.audits.sweep import sweeping
from dpproof.audits.sweep.table import Entry, Package
from dpproof.audits.targets.call import audit

distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

BUDGET = 12_000


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes with a nanny each, which starts another where one dies."""
    quiet = {"processes": True, "dashboard_address": None, "host": "127.0.0.1", "silence_logs": 50}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as started:
        yield started


@pytest.fixture
def executor(cluster):
    from dpproof.executors import executor_for

    with executor_for(cluster=cluster.scheduler_address) as executor:
        yield executor


def _numbers():
    def within_one(first, second):
        if abs(first - second) > 1:
            raise ValueError("differ by more than 1")

    return Neighbours(0.0, 1.0, "differ by at most 1", "0 or 1", within_one)


def _deadly(folder, own):
    """Laplace noise; the process that makes the twelfth call away from here kills itself in its middle."""

    def sampler(value, n, rng):
        if os.getpid() != own:
            place = len(os.listdir(folder))
            while True:
                try:
                    handle = os.open(f"{folder}/{place}", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
                    break
                except FileExistsError:
                    place += 1
            os.write(handle, str(os.getpid()).encode())
            os.close(handle)
            if place == 11:
                os.kill(os.getpid(), signal.SIGKILL)
        return value + rng.laplace(0, 1, n)

    return sampler


@pytest.mark.slow
def test_a_killed_worker_loses_nothing_and_nothing_counts_twice(executor, tmp_path):
    pair, sampler = _numbers(), _deadly(str(tmp_path), os.getpid())
    here = audit("noise", PureDP(1.0), sampler, pair, seed=0, budget=BUDGET)
    assert not list(tmp_path.iterdir())
    there = audit("noise", PureDP(1.0), sampler, pair, seed=0, budget=BUDGET, executor=executor)
    callers = {int(path.name): path.read_text() for path in tmp_path.iterdir()}
    dead = callers[11]
    assert len(set(callers.values())) > 1
    assert all(caller != dead for place, caller in callers.items() if place > 11)
    assert there == here
    assert there.samples == BUDGET
    assert len(callers) > 12


@pytest.mark.slow
def test_a_violation_is_the_same_on_the_cluster(executor):
    pair = _numbers()

    def too_little(value, n, rng):
        return value + rng.laplace(0, 0.5, n)

    found = [
        audit("noise", PureDP(1.0), too_little, pair, seed=1, budget=BUDGET, executor=where)
        for where in (None, executor)
    ]
    assert found[0] == found[1]
    assert found[0].verdict.value == "violation"


def _sums(noise):
    """A package with a sound sum and one that has a quarter of its noise; ``noise`` makes each call."""

    def made(name, scale):
        def sampler(data, n, rng):
            return np.round(np.sum(data) + scale * noise(0.0, n, rng), 3)

        more = {"bases": ([0.5] * 4,), "records": (0.0, 1.0), "budget": 2_000, "power": False}
        return Entry(name=name, sampler=sampler, epsilon=1.0, relations=(Adjacency.ADD_REMOVE,), **more)

    return Package("numpy", (made("sound", 1.0), made("faulty", 0.25), made("last", 1.0)), "It says nothing.")


def _on_workers(table):
    class Tables(distributed.WorkerPlugin):
        """Every worker, also one that replaces a killed one, gets the table."""

        def setup(self, worker):
            from dpproof.audits.sweep import sweeping

            sweeping.package_named = lambda _name: table

    return Tables()


@pytest.mark.slow
def test_a_sweep_whose_worker_is_killed_records_every_answer_once_and_as_in_one_process(
    cluster, executor, tmp_path, monkeypatch
):
    table = _sums(_deadly(str(tmp_path), os.getpid()))
    for module in (sweeping, records):
        monkeypatch.setattr(module, "package_named", lambda _name: table)
    with distributed.Client(cluster, set_as_default=False) as client:
        client.register_plugin(_on_workers(table))
    here = list(sweeping.sweep("numpy"))
    assert not list(tmp_path.iterdir())
    there = list(sweeping.sweep("numpy", executor=executor))
    callers = {int(path.name): path.read_text() for path in tmp_path.iterdir()}
    assert all(caller != callers[11] for place, caller in callers.items() if place > 11)
    assert len(set(callers.values())) > 1
    texts = [
        records.begun("numpy", 0, 0.01).with_answers([replace(one, seconds=0.0) for one in found]).text()
        for found in (here, there)
    ]
    assert texts[0] == texts[1]
    assert [one.mechanism for one in there] == ["sound", "faulty", "last"]
    assert [one.verdict for one in there] == ["inconclusive", "violation", "inconclusive"]

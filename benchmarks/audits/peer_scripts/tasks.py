"""What the scripts of all peers share: tasks in, rows out, the mechanisms. Runs in the peer's own Python."""

import json
import os
import sys
import time
from importlib.metadata import PackageNotFoundError, version

import numpy as np


def sample(task, label, n, rng):
    """Outputs on input 0 or 1 of the task's mechanism."""
    noise = rng.laplace if task["mechanism"] == "laplace" else rng.normal
    return label + noise(0, task["scale"], n)


def release(package, source):
    """The installed version; of a source tree its commit."""
    try:
        return version(package)
    except PackageNotFoundError:
        return source


def serve(answer, package, source="source"):
    """Answer the tasks of standard input, a line each; what the libraries print goes to standard error."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        task = json.loads(line)
        rng = np.random.default_rng([task["seed"], task["per_side"]])
        wall, cpu = time.perf_counter(), time.process_time()
        row = answer(task, rng)
        spent = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        about = {"version": release(package, source), "date": time.strftime("%Y-%m-%d")}
        out.write(json.dumps({**task, **row, **spent, **about}) + "\n")
        out.flush()

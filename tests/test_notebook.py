"""The front door in a real notebook, run without a browser: what its cells show."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

CELLS = {
    "account": (
        'import dpproof, numpy\nresult = dpproof.account("dp-sgd", sampling_rate=0.01, noise_multiplier=1, steps=1000,'
        ' adjacency="add-remove")\nresult',
        "text/html",
        "epsilon at delta 1e-6",
    ),
    "plot": ("result.plot()", "image/png", ""),
    "compose": ("dpproof.compose(result, result)", "text/html", "composition"),
    "calibrate": (
        'dpproof.calibrate("laplace", sensitivity=2, adjacency="replace", target_epsilon=1)',
        "text/plain",
        "scale",
    ),
    "verify": ('dpproof.verify("rlsvi.eq2")', "text/html", "PROVED"),
    "audit": (
        "dpproof.audit(lambda x, n, rng: x.mean() + rng.laplace(0, 0.05, n), numpy.tile([0.0, 1.0], 5),"
        ' adjacency="replace", epsilon=1)',
        "text/html",
        "violation",
    ),
}
RUN = """
import sys, nbformat, nbclient
book = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
nbformat.write(book, sys.argv[1])
"""


@pytest.mark.slow
def test_cells_show_tables_pictures_and_sentences(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code, _, _ in CELLS.values()])
    path = tmp_path / "front_door.ipynb"
    nbformat.write(book, path)
    ran = subprocess.run(
        [sys.executable, "-c", RUN, str(path)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for cell, (name, (_, kind, text)) in zip(cells, CELLS.items(), strict=True):
        shown = [output["data"] for output in cell["outputs"] if "data" in output]
        assert shown, name
        assert kind in shown[-1], name
        assert text in "".join(shown[-1][kind]), name

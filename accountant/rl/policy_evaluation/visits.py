"""Files of visits: how many trajectories visit each state, and the weight of each state.

The file is CSV with a header, Parquet, or NPZ. The columns are ``visits`` (integers) and optionally
``weight`` (w or rho of the paper; by default 1 divided by the number of states). A column ``state`` is
allowed, and must then count 0, 1, ....
"""

from __future__ import annotations

import csv
import io
import zipfile
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_SUFFIXES = (".csv", ".npz", ".parquet")


@dataclass(frozen=True)
class VisitsFile:
    """The domain of a parameter whose value is the name of a file with numbers of visits.

    >>> VisitsFile().admits("visits.csv"), VisitsFile().admits("visits")
    (True, False)
    """

    kind: type = str

    def admits(self, value: object) -> bool:
        """Return whether ``value`` is a file name that ends in .csv, .npz or .parquet. The file need not exist."""
        return isinstance(value, str) and Path(value).suffix in _SUFFIXES

    def read(self, text: str) -> str:
        """Return ``text`` unchanged: it is already the name of a file."""
        return text

    def some(self) -> str:
        """Return an example of a file name with an allowed ending."""
        return "visits.csv"

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a path with one of the allowed endings."""
        endings = "|".join(suffix.lstrip(".") for suffix in _SUFFIXES)
        return {"type": "string", "format": "path", "pattern": rf"\.({endings})$"}

    def __str__(self) -> str:
        return f"the name of a file that ends in one of: {', '.join(_SUFFIXES)}"


def read_columns(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of a CSV (with a header), Parquet or NPZ file, by name.

    Raises:
        ValueError: for another ending, a file whose content does not match the ending, an empty file, or a
            value that is no number.
        OSError: for a file that cannot be read.
    """
    readers = {".csv": _csv, ".npz": _npz, ".parquet": _parquet}
    if path.suffix not in readers:
        raise ValueError(f"file ({path.name!r}) must end in one of: {', '.join(readers)}")
    path.stat()  # a missing file says so itself
    return readers[path.suffix](path)


def text_of(path: Path) -> str:
    """Return the text of a file in UTF-8, without the byte-order mark that Excel writes.

    Raises:
        ValueError: for a file in another encoding.
        OSError: for a file that cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = f"byte {error.start + 1} ({error.object[error.start]:#04x})"
        raise ValueError(
            f"{path.name}: {place} is not text in UTF-8. Save the file in UTF-8; Excel calls it 'CSV UTF-8'"
        ) from error


def _csv(path: Path) -> dict[str, npt.NDArray[Any]]:
    stream = io.StringIO(text_of(path), newline="")
    names = [name.strip() for name in next(csv.reader(stream), [])]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"{path.name}: the first line must name the columns, each once")
    first = stream.readline()
    if not first.strip():
        raise ValueError(f"{path.name}: the file must hold at least one row of numbers")
    try:
        body = np.loadtxt(chain([first], stream), delimiter=",", ndmin=2, dtype=np.float64, comments=None)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
    if body.shape[1] != len(names):
        raise ValueError(f"{path.name}: each row must hold {len(names)} numbers, not {body.shape[1]}")
    return {name: _narrowed(body[:, place]) for place, name in enumerate(names)}


def _narrowed(column: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Return the column as integers if it holds only integers."""
    whole = np.isfinite(column) & (np.abs(column) < 2**53) & (column == np.trunc(column))
    return column.astype(np.int64) if whole.all() else column


def _npz(path: Path) -> dict[str, npt.NDArray[Any]]:
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path.name}: the file is not an NPZ archive")
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


def _parquet(path: Path) -> dict[str, npt.NDArray[Any]]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ValueError(
            f"{path.name}: reading Parquet needs pyarrow. Run: pip install 'dpproof[interop]'"
        ) from error
    try:
        table = parquet.read_table(path)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path.name}: the file is not a Parquet file") from error
    if len(set(table.column_names)) < len(table.column_names):
        raise ValueError(f"{path.name}: columns ({', '.join(table.column_names)}) must have different names")
    return {name: decoded(table.column(name)).to_numpy() for name in table.column_names}


def decoded(column: Any) -> Any:
    """Return a column of pyarrow with plain values instead of a dictionary encoding.

    Any other column is returned unchanged. pyarrow's own conversion to numpy replaces a missing value by
    another value of the dictionary.
    """
    kind: Any = getattr(column, "type", None)
    return column.cast(kind.value_type) if hasattr(kind, "index_type") else column


def read_visits(path: Path) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the number of visits and the weight of each of N states from a file; both have shape (N,).

    Raises:
        ValueError: for a missing or unknown column, columns of unequal lengths, states out of order, visits
            that are no integers at least 0, or weights that are not finite and at least 0.
    """
    columns = read_columns(path)
    if "visits" not in columns or not columns.keys() <= {"state", "visits", "weight"}:
        raise ValueError(
            f"{path.name}: columns ({', '.join(columns)}) must be visits and, optionally, state and weight"
        )
    visits = columns["visits"]
    if visits.ndim != 1 or visits.size == 0 or visits.dtype.kind not in "iu" or int(visits.min()) < 0:
        raise ValueError(f"{path.name}: visits must be one integer of at least 0 for each state")
    if "state" in columns and not np.array_equal(columns["state"], np.arange(len(visits))):
        raise ValueError(f"{path.name}: the column state must be 0, 1, ..., {len(visits) - 1} in this order")
    weights = np.asarray(columns.get("weight", np.full(len(visits), 1 / len(visits))), dtype=np.float64)
    if weights.shape != visits.shape or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(f"{path.name}: weight must be one number of at least 0 for each state")
    return visits.astype(np.int64), weights

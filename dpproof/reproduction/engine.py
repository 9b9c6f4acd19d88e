"""The engine of the experiments. It runs the experiment of a paper and stores its tables, plots and page.

Each paper has a `Study`, which defines the measurements and the text of the page. The folder of the study has the
template of the page, ``page.md.j2``. A page is written from the recorded files alone, so it can be written again
without a run.
"""

from __future__ import annotations

import abc
import json
import os
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from dpproof.accountant.numbers.arithmetic import Assumption, listed
from dpproof.reproduction import claims
from dpproof.reproduction.claims import Claim, Evidence, Judge, Judgement
from dpproof.reproduction.first_lines import SIMULATED
from dpproof.reproduction.pages import rendered
from dpproof.reproduction.suite.benchmark import recorded
from dpproof.reproduction.tables import Table, read_rows, write_rows

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

S = TypeVar("S", bound="DataclassInstance")


@dataclass(frozen=True)
class Measured(Generic[S]):
    """The results of an experiment, from which its page is written.

    Attributes:
        size: the settings that say how much was run.
        seed: the seed from which all randomness derives.
        tables: the tables, by the name of their CSV file.
        plots: file names of the plots.
        more: other data for the page, as JSON.
    """

    size: S
    seed: int
    tables: Mapping[str, Table]
    plots: Sequence[str]
    more: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path, digits: int | None = None) -> None:
        """Write the tables as CSV files, and everything else into ``run.json``.

        ``digits`` is the number of significant digits of numbers in the CSV files. None means all digits.
        """
        for name, table in self.tables.items():
            write_rows(folder / f"{name}.csv", table, digits)
        run = {"size": asdict(self.size), "seed": self.seed, **self.more, "plots": list(self.plots)}
        (folder / "run.json").write_text(f"{json.dumps(run, indent=1)}\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path, kind: type[S], tables: Sequence[str], text: Collection[str]) -> Measured[S]:
        """Return the results that `write` wrote into a folder.

        `kind` is the class of the attribute ``size``, and `text` names columns that are read as text.
        """
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        size = {key: tuple(x) if type(x) is list else x for key, x in run.pop("size").items()}
        rows = {name: read_rows(folder / f"{name}.csv", text) for name in tables}
        return cls(kind(**size), run.pop("seed"), rows, run.pop("plots"), run)


class Study(abc.ABC, Generic[S]):
    """An experiment of a paper, which measures numbers and writes a page about them."""

    paper: ClassVar[str]
    """The command-line name of the paper."""
    tables: ClassVar[tuple[str, ...]]
    """Names of the CSV files. A table that has no file is made from what is recorded elsewhere."""
    text: ClassVar[tuple[str, ...]] = ()
    """Columns that are text, even if they look like numbers."""
    digits: ClassVar[int | None] = None
    """Significant digits in the tables, so that other machines write the same numbers; None for all digits."""
    judges: ClassVar[Mapping[str, Judge]] = {}
    """What judges each claim of the paper that is not out of reach."""
    full: S
    quick: S

    @abc.abstractmethod
    def measure(self, size: S, seed: int, folder: Path, workers: int) -> Measured[S]:
        """Run the experiment in at most `workers` processes, write plots into the folder, and return the results."""

    @abc.abstractmethod
    def first_lines(self, found: Measured[S]) -> list[str]:
        """Return sentences on disagreements with the paper, and on what the numbers cannot show."""

    @abc.abstractmethod
    def answer(self, found: Measured[S], first: Sequence[str]) -> Mapping[str, Any]:
        """Return the answer of ``dpproof reproduce`` as JSON data. `first` holds the page's first sentences."""

    @abc.abstractmethod
    def shown(self, found: Measured[S]) -> Mapping[str, Any]:
        """Return the values that the template of the page shows, by name, but not the size and the seed.

        The method `written` adds these two.
        """

    def run(
        self, folder: Path, quick: bool, seed: int, size: S | None = None, workers: int | None = None
    ) -> dict[str, Any]:
        """Run the experiment, write its page, and return the answer of ``dpproof reproduce``.

        The page is written into `folder`, tables and plots into a folder next to the page. `quick` selects the quick
        size instead of the full one. `size`, if given, replaces either. `workers` is the number of processes.
        """
        begin = time.perf_counter()
        beside = folder / self._name
        beside.mkdir(parents=True, exist_ok=True)
        size = size or (self.quick if quick else self.full)
        found = self.measure(size, seed, beside, workers or os.cpu_count() or 1)
        own = {name: found.tables[name] for name in self.tables}
        replace(found, tables=own).write(beside, self.digits)
        (folder / f"{self._name}.md").write_text(self.page(folder), encoding="utf-8")
        return {
            "experiment": self.paper,
            **self.answer(found, [*self._first(found, self.claims(found, folder)), SIMULATED]),
            "seconds": time.perf_counter() - begin,
            "folder": folder.as_posix(),
            "arithmetic_assumptions": listed(Assumption),
        }

    def page(self, folder: Path) -> str:
        """Return the text of the page in `folder`, made again from the recorded results next to the page."""
        found = self.recorded(folder)
        return self.written(found, self.claims(found, folder))

    def claims(self, found: Measured[S], folder: Path) -> list[tuple[Claim, Judgement]]:
        """Return the claims of the paper, judged from these results and from the benchmark.

        The benchmark's results are those beside the page in `folder`, or those that the package was published with.
        A paper whose judges are not written has no claims.
        """
        if not self.judges:
            return []
        evidence = Evidence(recorded(folder), found.tables, {**asdict(found.size), **found.more})
        return claims.judged(self.paper, self.judges, evidence)

    def _first(self, found: Measured[S], judged: Sequence[tuple[Claim, Judgement]]) -> list[str]:
        return [*claims.summary(judged), *self.first_lines(found)]

    def recorded(self, folder: Path) -> Measured[S]:
        """Return the recorded results of a run whose page is in `folder`."""
        return Measured.read(folder / self._name, type(self.full), self.tables, self.text)

    def redraw(self, folder: Path) -> None:
        """Draw the plots again, if they show runs that are recorded elsewhere. Others are drawn with their runs."""

    def written(self, found: Measured[S], judged: Sequence[tuple[Claim, Judgement]]) -> str:
        """Return the text of the page for these results and judged claims."""
        template = Path(sys.modules[type(self).__module__].__file__ or "").with_name("page.md.j2")
        plots = "\n".join(f"![{Path(name).stem}]({self._name}/{name})" for name in found.plots)
        known = {**asdict(found.size), "seed": found.seed, "plots": plots, **self.shown(found)}
        return rendered(template, self._first(found, judged), claims=claims.section(judged), **known)

    @property
    def _name(self) -> str:
        return self.paper.replace("-", "_")

"""Compile lemmas in several files that need each other. A file that did not change is not compiled again."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dpproof.proofs_check.coq.compiler import PRELUDE, CoqError, Lemma, foundations, place, version

FUNCTIONALS = Path(__file__).with_name("functionals.v")
BASE = "base"
IMPORTS = (
    "From Coq Require Import Reals Lra Psatz ZArith FunctionalExtensionality.\n"
    "From Coquelicot Require Import Coquelicot.\nFrom Interval Require Import Tactic.\nOpen Scope R_scope.\n"
)


@dataclass(frozen=True)
class Part:
    """A file: its name, its lemmas, and the names of the parts whose lemmas it uses."""

    name: str
    lemmas: tuple[Lemma, ...]
    needs: tuple[str, ...] = ()
    claims: Mapping[str, str] = field(default_factory=dict)
    """The names of the lemmas that are claims, by the hashes of the claims."""
    head: str = ""
    """What stands before the lemmas."""

    @property
    def text(self) -> str:
        """The file as Coq source text."""
        needed = "".join(f"Require Import {x}.\n" for x in (BASE, *self.needs))
        return IMPORTS + needed + self.head + "\n".join(x.text for x in self.lemmas)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes from compiling in a folder, which is made if it does not exist."""
    path.mkdir(parents=True, exist_ok=True)
    with (path / "lock").open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another process that compiles in {path}", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def packed(parts: Sequence[Part], size: int = 200_000) -> list[Part]:
    """Return the same lemmas in fewer files, because every file loads Coq's libraries, which takes about a second.

    The files of theorems ("paper__statement__claim") are put together if they need parts of the same depth, up to
    ``size`` characters. Each part must come after those that it needs.
    """
    heads = [x.name for x in parts if x.head]
    depth, groups = dict[str, int](), dict[tuple[str, ...], list[Part]]()
    for part in parts:
        depth[part.name] = 1 + max((depth[x] for x in part.needs), default=0)
        paper, theorem, _ = part.name.partition("__")
        label = (
            (paper, str(depth[part.name]), *(x for x in heads if x in part.needs)) if theorem else (paper,)
        )
        groups.setdefault(label, []).append(part)
    rows = [(label, x) for label, group in groups.items() for x in enumerate(_shared(group, size))]
    names = {
        x.name: "_".join((*label, *[f"pack{k}"] * (len(label) > 1))) for label, (k, row) in rows for x in row
    }
    return [_joined(names, heads, row) for _, (_, row) in rows]


def _shared(parts: Sequence[Part], size: int) -> list[list[Part]]:
    """Return the parts in groups of at most ``size`` characters, or of one part."""
    rows, length = [list[Part]()], 0
    for part in parts:
        length += len(part.text)
        if rows[-1] and length > size:
            rows.append([])
            length = len(part.text)
        rows[-1].append(part)
    return rows


def _joined(names: Mapping[str, str], heads: Sequence[str], parts: Sequence[Part]) -> Part:
    """Return one part with the lemmas of all. ``names`` are the new names of parts by their old ones."""
    needs = {names[x] for part in parts for x in part.needs}
    return Part(
        names[parts[0].name],
        tuple(x for part in parts for x in part.lemmas),
        (*sorted(needs - {*heads}), *(x for x in heads if x in needs)),
        {key: name for part in parts for key, name in part.claims.items()},
        parts[0].head,
    )


def base() -> str:
    """Return the tactics and the lemmas behind them as Coq source text."""
    return PRELUDE.read_text(encoding="utf-8") + FUNCTIONALS.read_text(encoding="utf-8")


@dataclass
class Folder:
    """A folder of compiled files. ``keys`` are the hashes of what each compiled file depends on."""

    path: Path
    seconds: float
    keys: dict[str, str]

    def compiled(self, name: str, text: str, key: str) -> str:
        """Compile a file and return an empty text, or what is wrong with it. A stored key avoids the work."""
        mark = self.path / f"{name}.key"
        if mark.exists() and mark.read_text(encoding="utf-8") == key and mark.with_suffix(".vo").exists():
            return ""
        mark.unlink(missing_ok=True)
        (self.path / f"{name}.v").write_text(text, encoding="utf-8")
        limited = f"ulimit -t {self.seconds:.0f}; exec coqc -q -w -all {name}.v"
        done = subprocess.run(
            ["sh", "-c", limited], cwd=self.path, capture_output=True, text=True, check=False
        )
        if done.returncode < 0:
            return f"coqc gave no answer within {self.seconds:g} s of its own time"
        if done.returncode:
            return f"{place(text, done.stderr)}{done.stderr.strip()[-1500:]}"
        mark.write_text(key, encoding="utf-8")
        return ""


def built(parts: Sequence[Part], path: Path, seconds: float) -> dict[str, str]:
    """Compile parts, each after those that it needs. Return what is wrong with those that Coq does not accept."""
    path.mkdir(parents=True, exist_ok=True)
    folder = Folder(path, seconds, {BASE: _hash(f"{version()}{base()}")})
    if error := folder.compiled(BASE, base(), folder.keys[BASE]):
        return {BASE: error, **{x.name: "the tactics do not compile" for x in parts}}
    wrong: dict[str, str] = {}
    waiting, running = {x.name: x for x in parts}, dict[Future[str], str]()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        while waiting or running:
            for part in [x for x in waiting.values() if not {*x.needs} & {*waiting, *running.values()}]:
                del waiting[part.name]
                if lost := [x for x in part.needs if x in wrong or x not in folder.keys]:
                    wrong[part.name] = f"it needs {', '.join(lost)}"
                    continue
                key = _hash(folder.keys[BASE] + part.text + "".join(folder.keys[x] for x in part.needs))
                folder.keys[part.name] = key
                running[pool.submit(folder.compiled, part.name, part.text, key)] = part.name
            if not running and waiting and all({*x.needs} & {*waiting} for x in waiting.values()):
                raise ValueError(f"these lemmas need each other: {', '.join(sorted(waiting))}")
            for found in wait(running, return_when=FIRST_COMPLETED).done if running else ():
                name = running.pop(found)
                if error := found.result():
                    wrong[name] = error
                    print(f"{name}: {error.splitlines()[0]}", flush=True)
    return wrong


def assumptions(parts: Sequence[Part], path: Path, seconds: float) -> frozenset[str]:
    """Return the axioms that the lemmas of compiled parts assume. What Coq said about a compiled file is kept.

    Raises:
        CoqError: if Coq does not answer.
    """
    stored = path / "axioms.json"
    known = json.loads(stored.read_text(encoding="utf-8")) if stored.exists() else {}
    keys = {x.name: (path / f"{x.name}.key").read_text(encoding="utf-8") for x in parts}
    groups: dict[str, list[Part]] = {}
    for part in parts:
        if keys[part.name] not in known:
            groups.setdefault(part.name.partition("_")[0], []).append(part)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for group, found in pool.map(lambda x: (x, _assumed(x, groups[x], path, seconds)), groups):
            known |= {keys[x.name]: sorted(found) for x in groups[group]}
            stored.write_text(json.dumps(known), encoding="utf-8")
    return frozenset(x for key in keys.values() for x in known[key])


def _assumed(group: str, parts: Sequence[Part], path: Path, seconds: float) -> frozenset[str]:
    """Ask about the lemmas of some parts together, for each question costs seconds."""
    used = "".join(f"let _ := {x.name} in\n" for part in parts for x in part.lemmas)
    lines = "".join(f"Require Import {part.name}.\n" for part in parts)
    ask = f"Definition everything : True :=\n{used}I.\nPrint Assumptions everything.\n"
    text = f"{IMPORTS}Require Import {BASE}.\n{lines}{ask}"
    (path / f"axioms_{group}.v").write_text(text, encoding="utf-8")
    limited = f"ulimit -t {seconds:.0f}; exec coqc -q -w -all axioms_{group}.v"
    done = subprocess.run(["sh", "-c", limited], cwd=path, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CoqError(f"the axioms of {group} are not known: {done.stderr.strip()[-1500:]}")
    return foundations(done.stdout)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

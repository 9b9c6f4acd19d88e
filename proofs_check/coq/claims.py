"""All claims of all statements, and the Coq files of those that the kernel proves."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path

from dpproof.proofs_check.certificates import stored
from dpproof.proofs_check.coq import expectations
from dpproof.proofs_check.coq.compiler import Lemma
from dpproof.proofs_check.coq.export import UntranslatableError, lemma_name, proved, refuted
from dpproof.proofs_check.coq.files import Part
from dpproof.proofs_check.coq.script import needs_extra, proof, refutation
from dpproof.proofs_check.coq.theorem import analytic, used, written
from dpproof.proofs_check.kernel import Rejected, check, goal_hash, load
from dpproof.proofs_check.registry import certificate_id, lookup, statement_ids
from dpproof.proofs_check.statement import Goal

EXPECTED, EXTRA, ERFC = "expected", "extra", "erfc"
"""The names of Coq files that others import: about expectations, with more tactics, and about erfc."""
HEADS = {
    EXPECTED: expectations.SOURCE,
    EXTRA: Path(__file__).with_name("extra.v"),
    ERFC: Path(__file__).with_name("erfc.v"),
}


class Claims:
    """The claims of all statements by the ids of their certificates. Equal claims share one lemma."""

    def __init__(self) -> None:
        self.all: dict[str, Goal] = {}
        self.own: dict[str, list[str]] = {}
        self.key = cache(lambda identity: goal_hash(self.all[identity]))
        self.certificate = cache(lambda identity: load(stored(identity).text))
        self.depth = cache(lambda identity: 1 + max(map(self.depth, self._direct(identity)), default=0))
        for entry in map(lookup, statement_ids()):
            ids = [certificate_id(entry, x) for x in entry.obligations]
            self.own[entry.id] = ids
            for identity, obligation in zip(ids, entry.obligations, strict=True):
                self.all[identity] = obligation.goal
        alike: dict[str, list[str]] = {}
        for identity in self.all:
            alike.setdefault(self.key(identity), []).append(identity)
        self.first = {key: x[0] if len(x) == 1 else min(x, key=self.depth) for key, x in alike.items()}
        """The claim that stands for all equal claims. Its proof applies none of them."""

    def keys(self) -> Collection[str]:
        """Return the hashes of all claims."""
        return self.first.keys()

    def recorded(self, known: Iterable[str]) -> list[str]:
        """Return the ids of the claims with these hashes, one for each."""
        return [self.first[key] for key in known if key in self.first]

    def is_arithmetic(self, identity: str) -> bool:
        """Return whether a claim is one of arithmetic, and not a theorem."""
        return "vars" in self.all[identity]

    def used(self, identity: str) -> list[str]:
        """Return the ids of the claims that the proof of a theorem applies."""
        return [] if self.is_arithmetic(identity) else sorted(used(self.certificate(identity)["proof"]))

    def closure(self, statements: Iterable[str]) -> list[str]:
        """Return the claims of statements, and all that their proofs apply."""
        found, waiting = dict[str, None](), [x for name in statements for x in self.own[name]]
        while waiting:
            identity = waiting.pop()
            if identity not in found:
                found[identity] = None
                waiting.extend(self._direct(identity))
        return list(found)

    def _stored(self, identity: str) -> bool:
        try:
            return bool(self.certificate(identity))
        except LookupError:
            return False

    def is_expected(self, identity: str) -> bool:
        """Return whether a claim is one about expectations."""
        return bool(self.all[identity].get("random"))

    def needs_extra(self, identity: str) -> bool:
        """Return whether only the tactics of ``extra.v`` can follow the proof of a claim."""
        return needs_extra(self.certificate(identity)["proof"])

    def has_erfc(self, identity: str) -> bool:
        """Return whether a claim or its proof has erfc, which ``erfc.v`` defines."""
        return f'"{ERFC}"' in json.dumps([self.all[identity], self.certificate(identity)["proof"]])

    def arithmetic(self, identity: str, extra: bool = False) -> list[Lemma]:
        """Return the lemma of a claim of arithmetic, if the kernel accepts its certificate, after those it needs.

        With ``extra`` the proof uses the tactics of ``extra.v``.

        Raises:
            UntranslatableError: if the export does not support something in the claim or its certificate.
            Rejected: if the kernel does not accept the certificate.
            LookupError: if there is no certificate.
        """
        claim, certificate = self.all[identity], self.certificate(identity)
        name = lemma_name(identity)
        if check(certificate, claim).verdict != "PROVED":
            return [Lemma(name, refuted(claim), refutation(claim, certificate["proof"]))]
        if self.is_expected(identity):
            return expectations.lemmas(name, claim, certificate, extra)
        return [Lemma(name, proved(claim), proof(claim, certificate["proof"], extra))]

    def line(self, identity: str) -> bool:
        """Return whether the lemma of a theorem speaks of the integral over the real line."""
        if self.is_arithmetic(identity):
            return False
        own = analytic(self.all[identity]) or analytic(self.certificate(identity)["proof"])
        return own or any(self.line(self.first[self.key(x)]) for x in self.used(identity))

    def theorem(self, identity: str, held: Mapping[str, str], extra: bool = False) -> Part:
        """Return the file of a theorem. ``held`` are the files that have the lemmas of claims, by hashes.

        With ``extra`` the proof uses the tactics of ``extra.v``.

        Raises:
            UntranslatableError: if the proof applies a claim that is in no file, or has no counterpart.
            Rejected: if the kernel does not accept the certificate.
            LookupError: if there is no certificate.
        """
        claim, certificate, label = self.all[identity], self.certificate(identity), lemma_name(identity)
        below = {x: self.all[x] for x in self.used(identity)}
        if lost := [x for x in below if self.key(x) not in held]:
            raise UntranslatableError(f"it applies {', '.join(lost)}, which Coq has not accepted")
        check(certificate, claim, below)
        first = {x: self.first[self.key(x)] for x in below}
        names = {x: lemma_name(y) for x, y in first.items()}
        line = {**{x: self.line(y) for x, y in first.items()}, "": self.line(identity)}
        lemmas = tuple(written(label, claim, certificate, below, names, line, extra))
        erfc = any(map(self.has_erfc, [identity, *below]))
        needs = sorted({held[self.key(x)] for x in below}) + [EXTRA] * extra + [ERFC] * erfc
        return Part(label, lemmas, tuple(needs), {self.key(identity): label})

    def parts(
        self,
        arithmetic: Collection[str],
        ids: Iterable[str],
        extra: Collection[str] = (),
        without: Collection[str] = (),
    ) -> tuple[list[Part], dict[str, str]]:
        """Return the files of claims, and why some claims have none. Files with claims of arithmetic come first.

        Args:
            arithmetic: the hashes of the claims of arithmetic that Coq is known to accept.
            ids: the claims.
            extra: the hashes of the claims whose proofs use the tactics of ``extra.v``.
            without: the hashes of theorems that Coq does not accept.
        """
        chosen = {self.first[self.key(x)] for x in ids}
        chosen |= {self.first[self.key(y)] for x in [*chosen] for y in self._below(x)}
        rows: dict[tuple[str, ...], dict[str, list[Lemma]]] = {}
        reasons: dict[str, str] = {}
        for identity in sorted(x for x in chosen if self.is_arithmetic(x) and self.key(x) in arithmetic):
            key = self.key(identity)
            more = key in extra or self.needs_extra(identity)
            try:
                needs = [EXPECTED] * self.is_expected(identity) + [EXTRA] * more
                needs += [ERFC] * self.has_erfc(identity)
                found = self.arithmetic(identity, more)
            except (UntranslatableError, Rejected, LookupError) as error:
                reasons[key] = f"{identity}: {error}"
            else:
                rows.setdefault((*needs, "claims", key[0]), {})[key] = found
        parts = [Part(name, (), head=path.read_text(encoding="utf-8")) for name, path in HEADS.items()]
        for label, x in sorted(rows.items()):
            lemmas = tuple(y for found in x.values() for y in found)
            names = {key: found[-1].name for key, found in x.items()}
            parts.append(Part("_".join(label), lemmas, label[:-2], names))
        held = {key: part.name for part in parts for key in part.claims}
        for identity in self._ordered(x for x in chosen if not self.is_arithmetic(x)):
            key = self.key(identity)
            if key in without:
                continue
            try:
                more = key in extra or self.needs_extra(identity)
                parts.append(self.theorem(identity, held, more))
                held[key] = parts[-1].name
            except (UntranslatableError, Rejected, LookupError) as error:
                reasons[key] = f"{identity}: {error}"
        return parts, reasons

    def _direct(self, identity: str) -> list[str]:
        return self.used(identity) if self._stored(identity) else []

    def _below(self, identity: str) -> list[str]:
        return [x for y in self._direct(identity) for x in (y, *self._below(y))]

    def _ordered(self, ids: Iterable[str]) -> list[str]:
        """Return theorems after those that they apply."""
        done = dict[str, None]()

        def visit(identity: str) -> None:
            if identity not in done:
                for x in self._direct(identity):
                    if not self.is_arithmetic(x):
                        visit(self.first[self.key(x)])
                done[identity] = None

        wanted = set(ids)
        for identity in sorted(wanted):
            visit(identity)
        return [x for x in done if x in wanted]

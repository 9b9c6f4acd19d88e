"""All claims of all statements, and the Coq files of those that the kernel proves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache

from dpproof.proofs_check.certificates import stored
from dpproof.proofs_check.coq.compiler import Lemma
from dpproof.proofs_check.coq.export import UntranslatableError, lemma_name, proved, refuted
from dpproof.proofs_check.coq.files import Part
from dpproof.proofs_check.coq.script import proof, refutation
from dpproof.proofs_check.coq.theorem import analytic, used, written
from dpproof.proofs_check.kernel import Rejected, check, goal_hash, load
from dpproof.proofs_check.registry import certificate_id, lookup, statement_ids
from dpproof.proofs_check.statement import Goal


class Claims:
    """The claims of all statements by the ids of their certificates. Equal claims share one lemma."""

    def __init__(self) -> None:
        self.all: dict[str, Goal] = {}
        self.own: dict[str, list[str]] = {}
        self.first: dict[str, str] = {}
        for entry in map(lookup, statement_ids()):
            ids = [certificate_id(entry, x) for x in entry.obligations]
            self.own[entry.id] = ids
            for identity, obligation in zip(ids, entry.obligations, strict=True):
                self.all[identity] = obligation.goal
                self.first.setdefault(goal_hash(obligation.goal), identity)
        self.certificate = cache(lambda identity: load(stored(identity).text))

    def keys(self) -> Collection[str]:
        """Return the hashes of all claims."""
        return self.first.keys()

    def key(self, identity: str) -> str:
        """Return the hash of a claim."""
        return goal_hash(self.all[identity])

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
                waiting.extend(self.used(identity) if self._stored(identity) else ())
        return list(found)

    def _stored(self, identity: str) -> bool:
        try:
            return bool(self.certificate(identity))
        except LookupError:
            return False

    def arithmetic(self, identity: str) -> Lemma:
        """Return the lemma of a claim of arithmetic, if the kernel accepts the claim's proof (certificate).

        Raises:
            UntranslatableError: if the export does not support something in the claim or its certificate.
            Rejected: if the kernel does not accept the certificate.
            LookupError: if there is no certificate.
        """
        claim, certificate = self.all[identity], self.certificate(identity)
        name = lemma_name(identity)
        if check(certificate, claim).verdict == "PROVED":
            return Lemma(name, proved(claim), proof(claim, certificate["proof"]))
        return Lemma(name, refuted(claim), refutation(claim, certificate["proof"]))

    def line(self, identity: str) -> bool:
        """Return whether the lemma of a theorem speaks of the integral over the real line."""
        if self.is_arithmetic(identity):
            return False
        own = analytic(self.all[identity]) or analytic(self.certificate(identity)["proof"])
        return own or any(self.line(self.first[self.key(x)]) for x in self.used(identity))

    def theorem(self, identity: str, held: Mapping[str, str]) -> Part:
        """Return the file of a theorem. ``held`` are the files that have the lemmas of claims, by hashes.

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
        lemmas = tuple(written(label, claim, certificate, below, names, line))
        return Part(
            label, lemmas, tuple(sorted({held[self.key(x)] for x in below})), {self.key(identity): label}
        )

    def parts(self, arithmetic: Collection[str], ids: Iterable[str]) -> tuple[list[Part], dict[str, str]]:
        """Return the files of claims, and why some claims have none. Files with claims of arithmetic come first.

        Args:
            arithmetic: the hashes of the claims of arithmetic that Coq is known to accept.
            ids: the claims.
        """
        chosen = {self.first[self.key(x)] for x in ids}
        chosen |= {self.first[self.key(y)] for x in [*chosen] for y in self._below(x)}
        rows: dict[str, dict[str, Lemma]] = {}
        reasons: dict[str, str] = {}
        for identity in sorted(x for x in chosen if self.is_arithmetic(x) and self.key(x) in arithmetic):
            key = self.key(identity)
            try:
                rows.setdefault(f"claims_{key[0]}", {})[key] = self.arithmetic(identity)
            except (UntranslatableError, Rejected, LookupError) as error:
                reasons[key] = f"{identity}: {error}"
        parts = [
            Part(name, tuple(x.values()), (), {key: y.name for key, y in x.items()})
            for name, x in sorted(rows.items())
        ]
        held = {key: part.name for part in parts for key in part.claims}
        for identity in self._ordered(x for x in chosen if not self.is_arithmetic(x)):
            try:
                parts.append(self.theorem(identity, held))
                held[self.key(identity)] = parts[-1].name
            except (UntranslatableError, Rejected, LookupError) as error:
                reasons[self.key(identity)] = f"{identity}: {error}"
        return parts, reasons

    def _below(self, identity: str) -> list[str]:
        direct = self.used(identity) if self._stored(identity) else []
        return [x for y in direct for x in (y, *self._below(y))]

    def _ordered(self, ids: Iterable[str]) -> list[str]:
        """Return theorems after those that they apply."""
        done = dict[str, None]()

        def visit(identity: str) -> None:
            if identity not in done:
                for x in self.used(identity) if self._stored(identity) else ():
                    if not self.is_arithmetic(x):
                        visit(self.first[self.key(x)])
                done[identity] = None

        wanted = set(ids)
        for identity in sorted(wanted):
            visit(identity)
        return [x for x in done if x in wanted]

"""Cross-check by Coq: the claims are exported as lemmas over the reals, and Coq proves them again.

``export`` writes a claim as a lemma, ``script`` proposes proofs guided by certificates, ``compiler`` runs
coqc, ``record`` keeps what was accepted. Run ``make coq``. See docs/notes/coq.md.
"""

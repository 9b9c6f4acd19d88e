"""Cross-check by Coq: claims are exported as lemmas over the real numbers, and Coq proves them again.

``export`` writes a claim as a lemma, ``script`` proposes proofs guided by certificates, ``compiler`` runs
coqc, ``record`` stores which claims were accepted. Run ``make coq``. See docs/notes/coq.md.
"""

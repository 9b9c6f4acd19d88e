"""Cross-check by the proof assistant Coq: claims become lemmas about real numbers, and Coq proves them again.

``export`` writes a claim as a lemma, ``script`` proposes proofs guided by certificates, ``compiler`` runs
coqc, ``record`` stores which claims were accepted. Run ``make coq``. See docs/notes/coq.md.
"""

"""Statements of papers, the verdicts on them, and the kernel: a small program that checks all proofs again."""

if __name__ != "dpproof.proofs_check":
    raise ImportError(f"{__name__} cannot be imported alone. Write: import dpproof.proofs_check")

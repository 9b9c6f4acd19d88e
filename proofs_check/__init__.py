"""Statements of papers, their verdicts and certificates, and the kernel that checks certificates again."""

if __name__ != "dpproof.proofs_check":
    raise ImportError(f"{__name__} is no package of its own: import dpproof.proofs_check")

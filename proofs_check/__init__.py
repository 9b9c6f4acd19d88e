"""Statements of papers, their verdicts and certificates, and the kernel that checks certificates again."""

if __name__ != "dpproof.proofs_check":
    raise ImportError(f"{__name__} cannot be imported alone. Write: import dpproof.proofs_check")

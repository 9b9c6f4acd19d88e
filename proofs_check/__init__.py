"""Is the published statement true? Statements, verdicts, certificates and the kernel that re-checks them."""

if __name__ != "dpproof.proofs_check":
    raise ImportError(f"{__name__} is no package of its own: import dpproof.proofs_check")

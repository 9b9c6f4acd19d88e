"""Audits: statistical evidence on whether an implementation keeps its privacy claim."""

if __name__ != "dpproof.audits":
    raise ImportError(f"{__name__} cannot be imported alone. Write: import dpproof.audits")

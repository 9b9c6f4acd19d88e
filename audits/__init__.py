"""Audits: statistical evidence on whether an implementation keeps its privacy claim."""

if __name__ != "dpproof.audits":
    raise ImportError(f"{__name__} is no package of its own: import dpproof.audits")

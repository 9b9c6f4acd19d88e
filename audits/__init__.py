"""Does this implementation keep its claim? Evidence that never cries wolf."""

if __name__ != "dpproof.audits":
    raise ImportError(f"{__name__} is no package of its own: import dpproof.audits")

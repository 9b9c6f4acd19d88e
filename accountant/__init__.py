"""The accountant: certified privacy bounds, the noise that a privacy target needs, and the assumptions of both."""

if __name__ != "dpproof.accountant":
    raise ImportError(f"{__name__} is no package of its own: import dpproof.accountant")

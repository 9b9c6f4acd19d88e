"""The accountant: certified privacy bounds, the noise that a target needs, and the assumptions of both."""

if __name__ != "dpproof.accountant":
    raise ImportError(f"{__name__} is not a package of its own. Import dpproof.accountant instead.")

"""The accountant: certified privacy bounds, the noise that a privacy target needs, and the assumptions of both."""

if __name__ != "dpproof.accountant":
    raise ImportError(f"{__name__} cannot be imported alone. Write: import dpproof.accountant")

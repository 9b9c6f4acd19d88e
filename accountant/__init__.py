"""How private is it, how much noise does it need? Certified bounds, and what they rest on."""

if __name__ != "dpproof.accountant":
    raise ImportError(f"{__name__} is no package of its own: import dpproof.accountant")

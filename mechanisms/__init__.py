"""Private algorithms, implemented as fast and reproducible samplers of their releases."""

if __name__ != "dpproof.mechanisms":
    raise ImportError(f"{__name__} is no package of its own: import dpproof.mechanisms")

"""Private algorithms, implemented as fast and reproducible samplers of their releases."""

if __name__ != "dpproof.mechanisms":
    raise ImportError(f"{__name__} is not a package of its own. Import dpproof.mechanisms instead.")

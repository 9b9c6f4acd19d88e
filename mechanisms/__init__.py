"""How the private algorithms run: samples of what they release, fast and reproducible."""

if __name__ != "dpproof.mechanisms":
    raise ImportError(f"{__name__} is no package of its own: import dpproof.mechanisms")

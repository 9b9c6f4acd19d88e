"""The private algorithms as samplers of their releases, fast and reproducible."""

if __name__ != "dpproof.mechanisms":
    raise ImportError(f"{__name__} is no package of its own: import dpproof.mechanisms")

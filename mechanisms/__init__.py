"""Private algorithms, implemented as functions and classes that draw random outputs quickly."""

if __name__ != "dpproof.mechanisms":
    raise ImportError(f"{__name__} cannot be imported alone. Write: import dpproof.mechanisms")

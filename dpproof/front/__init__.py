"""The front door: the functions that `dpproof` offers first, with types that checkers see."""

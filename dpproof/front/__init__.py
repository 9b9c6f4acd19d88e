"""The main functions of `dpproof`, with types that type checkers see."""

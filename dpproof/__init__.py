"""dpproof: is this algorithm as private as it says?"""

"""Hard pairs of neighbouring inputs by kind of data, each relation with its validator.

A validator takes two inputs and raises ValueError, showing the difference, unless they are neighbours; it
decides in exact arithmetic. A generator gives pairs in named patterns, each checked by its validator.
"""

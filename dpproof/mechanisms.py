"""The algorithms and their environments: the public names of ``mechanisms``."""

from mechanisms import *

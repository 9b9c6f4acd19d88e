"""One profile for all property tests: the same examples in every run, and no clock."""

from hypothesis import settings

settings.register_profile("same-every-time", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("same-every-time")

"""Reading of claim files such as ``dpproof.toml``. An unknown key or a wrong type is an error with its line.

Nothing in a claim file is evaluated. Callables are named as ``package.module:callable``.
"""

from dpproof.claim_file.entry import claim_from, entry_of
from dpproof.claim_file.reading import Budget, Reading, Refusal, read_all, read_claims

__all__ = ["Budget", "Reading", "Refusal", "claim_from", "entry_of", "read_all", "read_claims"]

"""Results for a mechanism, a statement, a claim or a paper."""

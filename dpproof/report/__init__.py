"""Reports: the ledger, which joins bounds, verdicts and evidence, and the pages made from it."""

__all__: list[str] = []

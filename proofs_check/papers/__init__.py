"""One folder for each paper: its record, and a page for each statement."""

__all__: list[str] = []

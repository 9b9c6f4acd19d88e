"""The report of a check as an HTML page, and the generated pages of the documentation."""

__all__: list[str] = []

"""The corpus: mechanisms whose privacy is known. Some are correct; an audit must refute the faulty ones."""

__all__: list[str] = []

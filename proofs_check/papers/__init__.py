"""One module of statements per paper."""

__all__: list[str] = []

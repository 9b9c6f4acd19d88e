"""How the private algorithms run: samples of what they release, fast and reproducible.

The public names are listed once, in ``__init__.pyi``, and load when first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

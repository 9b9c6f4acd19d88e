"""Does this implementation keep its claim? Evidence that never cries wolf.

The public names are listed once, in ``__init__.pyi``, and load when first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

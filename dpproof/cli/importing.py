"""Search path for the callables of a project."""

from __future__ import annotations

import sys
from pathlib import Path


def import_from(folder: Path) -> None:
    """Make the modules in a folder importable. For a package, this is the folder that contains it."""
    folder = folder.resolve()
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    if str(folder) not in sys.path:
        sys.path.insert(1, str(folder))  # behind the folder one stands in, before what is installed

"""A pytest plugin that changes one line of one module before anything is imported: ``pytest -p tests.changed``.

The environment variable CHANGED holds the module, the text and its replacement as JSON.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import json
import os
import sys
from pathlib import Path


class Changed(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """An importer of one module, in whose source one text is replaced."""

    def __init__(self, module, before, after):
        self.module, self.before, self.after = module, before, after
        folder = importlib.util.find_spec(module.rpartition(".")[0]).submodule_search_locations[0]
        self.path = str(Path(folder) / f"{module.rpartition('.')[2]}.py")

    def find_spec(self, name, path=None, target=None):
        return (
            importlib.util.spec_from_file_location(name, self.path, loader=self)
            if name == self.module
            else None
        )

    def get_filename(self, fullname):
        return self.path

    def get_data(self, path):
        source = Path(path).read_text(encoding="utf-8")
        if source.count(self.before) != 1:
            raise ValueError(
                f"{self.before!r} must occur once in {self.module}, not {source.count(self.before)} times"
            )
        return source.replace(self.before, self.after).encode()

    def path_stats(self, path):
        raise OSError("A changed module is never read from a cache.")

    def set_data(self, path, data):
        """Write no cache."""


if "CHANGED" in os.environ:
    module, before, after = json.loads(os.environ["CHANGED"])
    if module in sys.modules or any(name.startswith(f"{module}.") for name in sys.modules):
        raise RuntimeError(f"{module} is already imported")
    sys.meta_path.insert(0, Changed(module, before, after))

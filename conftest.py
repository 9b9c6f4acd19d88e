"""Modules that import torch, of the extra `offline-rl`, have no doctests where it is not installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

LIBRARY = ("mechanisms/rl", "audits/training", "dpproof/reproduction/expert")
NEEDS = (
    "\nimport torch",
    "\nfrom dpproof.mechanisms.rl.expert.offline",
    "\nfrom dpproof.reproduction.expert.budgets",
)


def _needing_torch(root: Path) -> list[str]:
    """Those whose own lines, outside functions, import it, or what imports it."""
    files = (path for folder in LIBRARY for path in sorted((root / folder).rglob("*.py")))
    return [str(path) for path in files if any(line in path.read_text(encoding="utf-8") for line in NEEDS)]


collect_ignore = [] if find_spec("torch") else _needing_torch(Path(__file__).parent)

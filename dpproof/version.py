"""The version of this project, which answers name."""

__version__ = "0.2.0.dev0"

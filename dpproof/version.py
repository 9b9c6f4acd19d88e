"""The version of this project, which every answer includes."""

__version__ = "0.2.0.dev0"

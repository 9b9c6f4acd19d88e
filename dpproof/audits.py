"""Audits of implementations: the public names of ``audits``."""

from audits import *

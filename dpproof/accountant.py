"""Certified bounds: the public names of ``accountant``."""

from accountant import *

"""The audit of permute-and-flip, with two candidates that have equal utilities on the first input."""

from __future__ import annotations

from functools import partial

from dpproof.audits.targets.noise.exponential import choice, choices
from dpproof.audits.targets.primitive import Setting

TARGET = Setting(partial(choices, tied=True), choice)

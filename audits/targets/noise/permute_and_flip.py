"""The audit of permute-and-flip, on two candidates with equal utilities at first."""

from __future__ import annotations

from functools import partial

from dpproof.audits.targets.noise.exponential import choice, choices
from dpproof.audits.targets.primitive import Setting

TARGET = Setting(partial(choices, tied=True), choice)

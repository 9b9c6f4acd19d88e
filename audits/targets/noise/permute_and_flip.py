"""How permute-and-flip is audited: on two candidates that begin level."""

from __future__ import annotations

from functools import partial

from dpproof.audits.targets.noise.exponential import choice, choices
from dpproof.audits.targets.primitive import Setting

TARGET = Setting(partial(choices, tied=True), choice)

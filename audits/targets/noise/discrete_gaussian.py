"""The audit of discrete Gaussian noise, on answers as far apart as the sensitivity."""

from __future__ import annotations

from dpproof.audits.targets.answers import answers, gaussian
from dpproof.audits.targets.primitive import Setting

TARGET = Setting(answers, gaussian)

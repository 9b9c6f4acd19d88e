"""The audit of Gaussian noise: the true answers of the two inputs differ by the sensitivity."""

from __future__ import annotations

from dpproof.audits.targets.answers import answers, gaussian
from dpproof.audits.targets.primitive import Setting

TARGET = Setting(answers, gaussian)

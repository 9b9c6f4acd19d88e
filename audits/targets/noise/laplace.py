"""The audit of Laplace noise: the true answers of the two inputs differ by the sensitivity."""

from __future__ import annotations

from dpproof.audits.targets.answers import answers, laplace
from dpproof.audits.targets.primitive import Setting

TARGET = Setting(answers, laplace)

"""`calibrate`. Its types are in the stub file next to this file, which `make docs` generates."""

from dpproof.answers.calibration import calibration_of as calibrate

__all__ = ["calibrate"]

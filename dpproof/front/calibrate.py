"""`calibrate`, whose types stand in the stub beside this file, which `make docs` generates."""

from dpproof.answers.calibration import calibration_of as calibrate

__all__ = ["calibrate"]

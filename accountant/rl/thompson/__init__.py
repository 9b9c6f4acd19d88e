"""The accountant of Gaussian Thompson sampling."""

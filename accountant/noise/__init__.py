"""Accountants of basic mechanisms, such as Laplace and Gaussian noise, DP-SGD and randomised response."""

"""Accountants of randomised least-squares value iteration (RLSVI), whose exploration noise makes it private."""

"""A trusted table of facts about probability distributions (laws) that statements take as known.

The facts are densities, probabilities, tails and generating functions. The kernel does not know these distributions
by name. Each row is a one-line integral or a finite sum that people check once. A statement lists the rows that it
uses in ``laws``.
"""

from __future__ import annotations

LAWS = {
    "binomial.mass": "Binomial(N, p) has the mass C(N, q) p^q (1-p)^(N-q) at q; N - X is Binomial(N, 1-p)",
    "gaussian.density": "N(m, v) has the density exp(-(x-m)^2/(2v))/sqrt(2 pi v), which integrates to one",
    "gaussian.tail": "a standard normal variable is above t with probability erfc(t/sqrt 2)/2",
    "laplace.density": "Lap(b) has the density exp(-|x|/b)/(2b), which is symmetric",
    "laplace.tail": "a Laplace variable of scale b is above t >= 0 with probability exp(-t/b)/2",
    "log-normal.moments": "exp(wY) has the moments E exp(kwY) = exp(k^2 w^2/2) for a standard normal Y",
    "student.density": "Student's t with n degrees has a density proportional to (1 + x^2/n)^(-(n+1)/2)",
}
"""The facts that are taken as known, by their names."""

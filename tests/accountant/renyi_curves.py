"""Renyi curves in closed form: randomised response, the least private pure mechanism, and Laplace noise."""

import flint

from dpproof.accountant.guarantees.notions import RenyiDP
from dpproof.accountant.numbers.enclosures import arb_of, exact


def over(excess, order):
    return excess(order).log1p() / (order - 1)


def pure_renyi(epsilon):
    """Bun and Steinke, arXiv:1605.02065v1, Proposition 3.3."""
    loss = exact(epsilon)

    def curve(order):
        e = arb_of(loss)
        if not loss or order == flint.arb("inf"):
            return e
        up, down = 1 / (1 + (-e).exp()), 1 / (1 + e.exp())
        if order == 1:
            return e * (up - down)
        return over(lambda a: up * ((a - 1) * e).expm1() + down * (-(a - 1) * e).expm1(), order)

    return RenyiDP(curve)


def laplace_renyi(scale):
    """Mironov, arXiv:1702.07476v3, Proposition 6."""
    ratio = 1 / exact(scale)

    def curve(order):
        b = arb_of(ratio)
        if order == flint.arb("inf"):
            return b
        if order == 1:
            return b + (-b).expm1()
        return over(lambda a: (a * ((a - 1) * b).expm1() + (a - 1) * (-a * b).expm1()) / (2 * a - 1), order)

    return RenyiDP(curve)

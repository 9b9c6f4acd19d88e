"""Moment-generating functions of sampled Gaussian losses by Arb's quadrature, which knows nothing of the accountant."""

import math
from itertools import pairwise

import flint

from dpproof.accountant.pairs.gaussian_moments import SubsampledGaussianCharacteristic as Loss
from dpproof.accountant.pairs.sampled_loss import SoftCut


def loss_of(change, rate, sigma, cuts, records=1):
    return Loss(rate, sigma, change, tuple(SoftCut(*cut) for cut in cuts), records)


def place_of(cut):
    return -cut.place if cut.reflected else cut.place


def integral(loss, z, jump=None):
    """E e^(zL) with the cuts' weights, by Arb; with ``jump``, also with that cut's weight of jumps."""
    sigma, rate, root = flint.acb(loss.noise_multiplier), flint.acb(loss.rate), flint.acb(2).sqrt()

    def log_ratio_at(y):
        count, grown = (
            loss.records,
            [(j * y / sigma - j * j / (2 * sigma * sigma)).exp() for j in range(loss.records + 1)],
        )
        chances = [math.comb(count, j) * rate**j * (1 - rate) ** (count - j) for j in range(count + 1)]
        return sum(chance * term for chance, term in zip(chances, grown, strict=True)).log()

    def integrand(y, _):
        exponent = -y * y / 2
        if loss.change.in_p:
            exponent += (1 + z) * log_ratio_at(y)
        if loss.change.in_q:
            exponent -= z * log_ratio_at(-y)
        value = exponent.exp() / (2 * flint.acb.pi()).sqrt()
        for cut in loss.cuts:
            side = 1 if cut.keeps_jumps == cut.reflected else -1
            value *= (side * (y - place_of(cut)) / cut.width / root).erfc() / 2
        if jump:
            side = -1 if jump.reflected else 1
            value *= (side * (place_of(jump) - y) / jump.width / root).erfc() / 2
        return value

    places = [-16, *range(-4, 44, 2)]
    return sum((flint.acb.integral(integrand, a, b) for a, b in pairwise(places)), flint.acb(0))

"""Encoder, shuffler and analyser: laws, shapes, and the shuffler's view. Fixed seeds, tests at 1e-6."""

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from dpproof.mechanisms.rl.sdp_pe.shuffled_count import BitEncoder, SumEncoder, histograms, shuffled
from dpproof.mechanisms.rl.sdp_pe.shuffled_count import sample as shuffled_count

REGIMES = [(60, 20.0), (60, 60.0), (20, 70.0), (1, 5.0)]


def run(encoder, bits, seed=0):
    rng = np.random.default_rng(seed)
    return shuffled(encoder.encode(bits, rng), rng)


@pytest.mark.parametrize(("n", "tau"), REGIMES)
@pytest.mark.parametrize("kind", [BitEncoder, SumEncoder])
def test_counters_are_unbiased_with_the_noise_of_their_bits(kind, n, tau):
    """3000 counters: mean within 6 standard errors, variance within 20% (over 6 standard deviations)."""
    encoder = kind(n, tau)
    bits = (np.arange(n)[:, None] < n // 3) * np.ones((1, 3000), np.int64)
    found = encoder.analyse(run(encoder, bits), n)
    p = float(encoder.parameters.noise_chance)
    variance = n * encoder.noise_bits * p * (1 - p)
    assert found.shape == (3000,)
    assert abs(found.mean() - n // 3) < 6 * np.sqrt(variance / 3000)
    assert found.var() == pytest.approx(variance, rel=0.2)


@pytest.mark.parametrize(("n", "tau"), REGIMES)
def test_the_fast_path_has_the_law_of_the_protocol(n, tau):
    """Chi-square of 4000 draws of each against the binomial law, at 1e-6."""
    encoder, rng = BitEncoder(n, tau), np.random.default_rng(4)
    bits = np.ones((n, 4000), np.int64)
    slow, fast = encoder.analyse(run(encoder, bits), n), encoder.counts(np.full(4000, n), rng)
    trials = n * encoder.noise_bits
    law = binom.pmf(np.arange(trials + 1), trials, float(encoder.parameters.noise_chance))
    keep = law * 4000 > 10
    for found in (slow, fast):
        noise = np.rint(found - n + encoder.mean).astype(int)
        seen = np.bincount(noise, minlength=trials + 1)
        parts = np.append(seen[keep], seen[~keep].sum()), np.append(law[keep], law[~keep].sum())
        kept = parts[1] > 0
        if kept.sum() > 1:
            assert chisquare(parts[0][kept], 4000 * parts[1][kept]).pvalue > 1e-6


@pytest.mark.parametrize(("n", "tau"), REGIMES)
def test_the_view_is_that_of_the_sampler_of_audits(n, tau):
    """Mean histograms of printed sums agree within 6 standard errors: 4000 runs of each."""
    encoder = SumEncoder(n, tau)
    bits = (np.arange(n)[:, None] < n // 3) * np.ones((1, 4000), np.int64)
    one = histograms(run(encoder, bits), encoder.noise_bits + 1)
    other = shuffled_count(encoder.parameters, n // 3, 4000, np.random.default_rng(9))
    assert (one.sum(axis=1) == n).all()
    gap = abs(one.mean(axis=0) - other.mean(axis=0))
    assert (gap <= 6 * np.sqrt((one.var(axis=0) + other.var(axis=0)) / 4000) + 1e-12).all()


def test_printed_sums_show_the_bit_and_bits_do_not():
    """All others hold 1: a message 0 in the printed encoding can only be the one user's who holds 0."""
    n, tau = 50, 25.0
    quiet = np.ones((n, 2000), np.int64)
    zero = quiet.copy()
    zero[0] = 0
    sums = [histograms(run(SumEncoder(n, tau), bits), 2)[:, 0] for bits in (zero, quiet)]
    assert sums[1].max() == 0
    assert sums[0].mean() == pytest.approx(0.75, abs=0.06)
    ones = [run(BitEncoder(n, tau), bits).sum(axis=0) for bits in (zero, quiet)]
    assert set(ones[0]) & set(ones[1])


def test_the_shuffler_forgets_who_sent_what():
    """The first message shown is any user's: its mean is the mean of all, within 6 standard errors."""
    bits = np.zeros((10, 4000), np.int64)
    bits[0] = 1
    shown = run(SumEncoder(10, 1e-9), bits)
    assert shown[0].mean() == pytest.approx(0.1, abs=6 * np.sqrt(0.09 / 4000))
    assert (shown.sum(axis=0) == 1).all()


def test_messages_are_written_out_up_to_a_limit(monkeypatch):
    monkeypatch.setattr("dpproof.mechanisms.rl.sdp_pe.shuffled_count.MOST_MESSAGES", 100)
    encoder, rng = BitEncoder(10, 40.0), np.random.default_rng(0)
    assert encoder.encode(np.ones((10, 2), int), rng).size == 100
    with pytest.raises(
        ValueError, match=r"threshold \(40.0\) must be smaller, so that at most 1e\+02 messages"
    ):
        encoder.encode(np.ones((10, 3), int), rng)


def test_refusals():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"users \(0\)"):
        BitEncoder(0, 1.0)
    with pytest.raises(ValueError, match="threshold"):
        BitEncoder(10**12, 1e15 + 1)
    with pytest.raises(ValueError, match=r"threshold .* messages"):
        BitEncoder(10, 1e9).encode(np.ones(10, int), rng)
    with pytest.raises(ValueError, match=r"bits at \(1,\) \(2\) must be one of 0, ..., 1"):
        BitEncoder(2, 1.0).encode([0, 2], rng)
    with pytest.raises(ValueError, match="one row for each user"):
        SumEncoder(3, 1.0).encode([0, 1], rng)
    with pytest.raises(ValueError, match=r"users \(4\) must be 3"):
        SumEncoder(3, 1.0).analyse(np.zeros(3, np.int64), 4)
    with pytest.raises(ValueError, match="counts"):
        BitEncoder(3, 1.0).counts([4], rng)
    with pytest.raises(ValueError, match="messages"):
        histograms(np.array([3]), 2)
    with pytest.raises(ValueError, match="shape of messages"):
        shuffled(np.zeros(3, np.int64), rng)

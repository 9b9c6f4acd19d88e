"""Test cases of configurations of Opacus whose releases depend on private sizes. The code has no planted fault.

The pairs are those of ``audits.training.private_sizes``, with few records. The claim is the guarantee of the training
that Opacus's accountants account for.
"""

from __future__ import annotations

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.corpus.case import Case
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.training.dp_sgd import one_canary_more
from dpproof.audits.training.opacus_releases import Released
from dpproof.audits.training.private_pair import PrivatePair
from dpproof.audits.training.private_sizes import (
    AdaptiveNorm,
    DatasetSize,
    SampleRate,
    WeightedMean,
)

PLACE = 15


def _case(pair: PrivatePair, reason: str) -> Case:
    datasets = Neighbours(False, True, Adjacency.ADD_REMOVE, f"{pair.second}; {pair.first}", one_canary_more)
    return Case(
        name=f"opacus engine, {pair.kind}",
        mechanism=Released(pair),
        pair=datasets,
        claim=pair.guarantee,
        delta=1e-5,
        expected=Finding.VIOLATION,
        truth=None,
        reason=reason,
        budget=1_000,
        requires="opacus",
    )


CASES = (
    _case(
        DatasetSize(records=48, batch_size=2, weights=21, steps=1),
        "the noisy sum is divided by the floor of the sampling rate times the private number of records",
    ),
    _case(
        AdaptiveNorm(records=2, steps=1),
        "the noisy count of unclipped gradients is divided by the private size of the batch",
    ),
    _case(
        WeightedMean(records=127),
        "the weights of the whole batch divide the gradient of each record before it is clipped",
    ),
    _case(
        SampleRate(batch_size=20, noise_multiplier=4.0),
        "the sampling rate of all other records is computed from the private number of records",
    ),
)

"""The words of the page around its tables."""

NOT_INSTALLED = "dp-recorder was not on the path."
BEFORE = """# Runs with the same noise, compared

Written by `python -m benchmarks.paired_runs`.

`dpproof.compare_runs` runs a mechanism on two neighbouring data sets with the same noise. The first run is recorded.
In the second run each number that was released with noise has the recorded value. Both runs then know the same
released numbers, so they must do the same. The answer names the file and the line of the first difference:

- a protected number changes by more than its noise covers at the claimed epsilon, after composition by the accountant;
- the noise scale, the number of draws or the shape of a draw depends on the data;
- a part of the output differs although all released numbers agree;
- the mechanism of a library gets an input that changes by more than the sensitivity that it was given;
- only one of the two runs raises an exception.

```python
import numpy as np

from dpproof import compare_runs


def mean(ages, rng):
    return (np.clip(ages, 0, 100).sum() + rng.laplace(0, 100)) / len(ages)


print(compare_runs(mean, [50, 20, 90], [50, 20], epsilon=1))
```

In pytest the fixture `privacy` has the method `compare`. A difference fails the test:

```python
import numpy as np
import pytest


@pytest.mark.privacy(epsilon=1.0, adjacency="add-remove")
def test_the_sum_is_private(privacy):
    privacy.compare(lambda ages, rng: np.clip(ages, 0, 1).sum() + rng.laplace(), [0.9, 0.2], [0.9])
```

**What it covers.** *No difference found* is not a proof. It covers one pair of data sets and one sequence of released
numbers. The composed epsilon in the answer belongs to this pair. Rounding is not covered: relative differences below
1e-9 are ignored. `compare_runs` does not check that the two data sets are neighbours. If more than one record
changes, a *difference* says nothing about the claim. In pytest, `privacy.compare` checks the relation first.
*Undecided* means that the mechanism uses its noise in a way that dpproof does not follow, or that it is sound to use
the data after a random answer, as randomised response does. Use `dpproof.audit` then.

**Which primitives.** dpproof follows Laplace, Gaussian, Gumbel and uniform numbers of numpy, `random` and `secrets`,
and choices with given probabilities. It repeats the other draws of these modules without following their law. It
takes the mechanisms of OpenDP, diffprivlib and Opacus on trust and compares their inputs and parameters. It follows
the noise that OpenDP draws for the input 0.0. With `package="name"`, the answer names lines of this installed
package. It does not follow noise that a mechanism draws from torch itself, nor noise that a library makes in compiled
code, such as that of PyDP. The answer is *undecided* then.

**Seeds.** Numbers of a generator that the mechanism itself gives a seed do not count as noise, whether the seed is
written in the code or computed from the data: somebody who knows the code can compute them. The answer names the line
of the seed. This covers the generators and bit generators of numpy, `numpy.random.seed`, `random.seed`,
`random.Random`, the generators of torch, and the setting `random_state` of diffprivlib. A generator that the caller
passes, and one without a given seed, make noise. With a given seed, equal outputs are *undecided*. A seed that the
run itself draws, as a forest draws one for each tree, is no difference, but dpproof does not follow the noise of such
a generator. So the answer is *undecided* then. A seed that is computed from a drawn number, such as the number plus
one, is still taken for a given seed.

**Which cases.** The cases below are our own. Cebere et al. (arXiv 2602.17454) report 13 violations in 12 libraries.
The repository of their tool, dp-recorder (commit 85d189e), expects 24 failed and 49 passed tests on three libraries:
11 and 7 on dpmm, 8 and 32 on mbi, 5 and 10 on synthcity. These tests are in an archive that we could not read, and
the text of the paper was available to us in excerpts only. So the 24 detections are *not* reproduced. The last
section runs the three libraries on cases like them. Our cases have the kinds of faults that the repository describes:
private sizes treated as public, domains from the data, wrong sensitivity, noise of scale 0, NaN, and a budget that is
spent twice. We added others. We wrote the cases together with the comparison, so the counts do not estimate how many
faults it finds in the code of others.

**dp-recorder** is run from its source at the same commit. Its annotations are on the two primitives
`laplace` and `gaussian`, and on values that its documentation says to annotate. We wrote the annotations,
so its authors might find more. Its column shows its structural checks. Where these pass, it shows its estimate of
epsilon from 10,000 samples (settings of its own test, delta 1e-5 or that of the claim). We count an estimate as a
finding if it is above the claim by more than 0.1. An exception counts as a finding, too. dpproof needs no annotations.
"""
AFTER = """An *undecided* fault would count as missed. An *undecided* sound mechanism is no false alarm. The sum of
sampled records keeps its claim because of the sampling. dp-recorder estimates the loss for the records that were
sampled, which is larger."""

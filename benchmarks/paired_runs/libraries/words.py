"""The words of the section around its table."""

HEADING = "## Other people's code"
BEFORE = """Written by `python -m benchmarks.paired_runs.libraries ROWS...`. Each file of rows comes from `PYTHON -m
benchmarks.paired_runs.libraries.rows > ROWS` in an environment with one of the libraries, because they need
different versions of numpy. The mechanisms of mbi are in its repository only: `MBI_SOURCE` names a checkout.

`compare_runs` runs on the real libraries here. dp-recorder's column is *published*: the appendix of its repository
lists 20 failed tests by name and message. Its README expects 24, and a note says that the number changes between
runs. We took the mechanisms and the strategies for neighbours from these names. The tests themselves are in an
archive that we could not read. So data, seeds and settings are ours. The rows are like the published cases, but
they are not the same. dp-recorder itself was not run on them, because its annotations of these libraries are in the
archive.

What we changed, and what we did not. The claim is epsilon 1, with delta 1e-5 (dpmm, mbi), 1e-9 (AIM of synthcity)
or 0 (PrivBayes of synthcity). Each function ends with the noisy measurements or tables. Synthetic records are
computed from these. Inference has 5 to 20 steps. Draws of a public name, such as the root of a network, are fixed.
dpmm makes a list of numbers of OpenDP, which dpproof does not follow. We replaced this one function by numpy's
noise of the same law.

A change with * is outside the relation or the documented inputs of the mechanism. Version of mbi: the commit."""
AFTER = """**How to read it.** *Undecided* counts as missed. Three rules of `compare_runs` cause it here. After a
random choice, a use of the data can be sound, as in randomised response. With a delta, the shape of a draw may
depend on the data, as in histograms with a threshold. An exception counts for sure only if it comes before the
first draw. The answer still names the line. In synthcity's PrivBayes, dpproof names the scale of the noise and the
choice of cells, where dp-recorder's message names a later line (`is_weak_mi`). Some of its messages on JAM say that
a measurement changes by 1.4142, more than a sensitivity of 1. The code of JAM scales this noise by the square root
of 2, so that dpproof does not report it.

The epsilon of JAM belongs to one sequence of choices, on a pair that we searched by hand for the known fault, with
90 % of the budget for selection. With the default of 20 % and three rounds we found no difference on a first pair.
Whether the whole mechanism exceeds its claim was not computed.

**Kinds of faults.** The repository of dp-recorder, its trackers and the excerpts of the paper name nine kinds: a
domain from the data, a wrong sensitivity of a selection, control flow on exact scores, noise of scale 0, NaN and
infinity, a private size, sums without clipping, a wrong formula of an odometer, and a budget that is spent twice.
Five of them belong to these three libraries. dpproof answers *difference* for two of them: the selection of JAM,
and NaN or infinity in dpmm. For the domain and for noise of scale 0 it is *undecided*. The control flow on exact
scores was not isolated. The other four kinds are in other libraries and have only cases of our own above.

**New findings.** Three rows are not in the trackers as far as we could search: the normalised scores of dpmm's
PrivBayes, the scale of the noise on counts in synthcity's PrivBayes (the same scale was reported for
DataSynthesizer, issue 34), and the seed 0 of synthcity's plugins. `python -m
benchmarks.paired_runs.libraries.exact` recomputes the first two from formulas: an event exceeds exp(1) times its
probability on the neighbour by 0.333 and by 0.4996. The third is read in the source. Drafts of reports:
`docs/disclosures/dpmm-privbayes.md` and `docs/disclosures/synthcity-privbayes.md`. Nothing was sent.

**What these runs mended in dpproof.** A choice and noise in one run raised an error. Noise that OpenDP draws for
the input 0 and that the library adds itself was a false *difference*. `numpy.random.RandomState()` was not
followed. An exception before the first draw was *undecided* if the other run made a random choice. A norm of noisy
numbers was not followed. Not mended: lists of OpenDP's numbers, and the time. A comparison repeats the function
four times or more, and slows down Python code that is full of calls: JAM takes minutes."""

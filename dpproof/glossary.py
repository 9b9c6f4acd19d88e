"""The glossary: each word of the project with its meaning. `dpproof explain WORD` and the documentation show it."""

from __future__ import annotations

from collections.abc import Mapping

GLOSSARY: Mapping[str, str] = {
    "account": (
        "A certified bound on epsilon, delta, or the power of an attack, for a mechanism with given "
        "parameters."
    ),
    "adjacency": (
        "The neighbouring relation: the rule that says which two data sets are neighbours. `add-remove`: "
        "one has one record more. `replace`: one record differs. `rewards-only`: the rewards of one user "
        "differ. `expert`: one has all trajectories of one more expert. `by-sensitivity`: the results "
        "differ by at most the sensitivity."
    ),
    "advantage": (
        "The largest difference between the true and the false positive rate of an attack. It equals "
        "delta at epsilon 0."
    ),
    "assumption": ("A fact that an answer uses and that dpproof does not prove. The answer names it."),
    "attained": ("A bound is attained if two named neighbours reach it. No smaller bound is true then."),
    "audit": (
        "A run of an implementation on neighbouring data sets, which looks for events that are more "
        "likely on one than the claim allows."
    ),
    "bet": (
        "An audit bets that an event is more likely on one of two neighbours than the claim allows. If "
        "the claim holds, the bets win nothing on average."
    ),
    "calibration": ("The search for the least noise that is certified to meet a target."),
    "certificate": (
        "A formal proof of one claim of a statement, as data. The kernel checks it with the standard "
        "library of Python alone."
    ),
    "certified": (
        "The true value lies between the lower and the upper bound. The proof covers rounding errors."
    ),
    "claim": (
        "The promise of a deployment: mechanism, parameters, neighbouring relation, trust model, epsilon "
        "and delta."
    ),
    "claim file": ("A TOML file with claims, which `dpproof check` checks."),
    "composition": (
        "The privacy of several mechanisms that run on the same data, each of which may depend on the "
        "outputs of the others."
    ),
    "delta": (
        "The slack of (epsilon, delta)-differential privacy: the probability of an event may exceed "
        "exp(epsilon) times its probability on a neighbour by at most delta."
    ),
    "dominating pair": (
        "Two probability distributions that are at least as easy to tell apart as the outputs of a "
        "mechanism on any two neighbours. Accountants compose them."
    ),
    "e-value": (
        "The wealth of bets against a claim that began with 1. If the claim holds, it ever exceeds "
        "1/alpha with probability at most alpha, however often one looks."
    ),
    "epsilon": (
        "The largest logarithm of the ratio of the probabilities of an event on two neighbours, up to delta."
    ),
    "event": ("A set of outputs. A violation names an event that is too likely on one of the neighbours."),
    "failures": (
        'What an audit does with a call that raises an exception. With `failures = "error"` the audit ends with an '
        'error; with `"token"` the type of the exception is an output. `nan` is the same for outputs that contain '
        'NaN. In a claim file: `audit = { failures = "token" }`; in Python: `audit(f, data, failures="token")`.'
    ),
    "finding": ('The result of an audit: violation, nothing found ("consistent"), or inconclusive.'),
    "kernel": ("The small program that checks certificates: `python -m dpproof.proofs_check.kernel`."),
    "law": (
        "A density, a tail or a generating function of a named distribution that the proofs take as "
        "known. All laws are in one table."
    ),
    "mechanism": ("A randomised function of the data whose output is released."),
    "mu": (
        "The parameter of Gaussian differential privacy. An attack on a mechanism with mu does no better "
        "than one that tells N(0, 1) from N(mu, 1)."
    ),
    "neighbours": ("Two data sets that the neighbouring relation allows."),
    "noise multiplier": ("The standard deviation of the noise of DP-SGD, divided by the clipping norm."),
    "pair": ("Two neighbours that an audit runs the mechanism on."),
    "post-processing": (
        "A computation that uses a private output and not the data. Its result is as private as the output."
    ),
    "power": ("The probability that an audit finds a violation of a given size."),
    "privacy profile": ("Delta as a function of epsilon."),
    "query": (
        "What is asked of the data: count, histogram, or 'sum in [a, b]' of one number a record. Under "
        "add-remove or replace the sensitivity follows from it, if each user has one record."
    ),
    "reading": ("A step of an argument that people read and the kernel does not check. Verdicts count them."),
    "released bits": (
        "The exact numbers that leave the program. A bound covers them only if the sampler is exact; "
        "otherwise it holds in real arithmetic."
    ),
    "rho": (
        "The parameter of zero-concentrated differential privacy. Gaussian noise with parameter mu has "
        "rho = mu^2 / 2."
    ),
    "sensitivity": (
        "The largest change of a result between neighbours, in absolute value (L1) or Euclidean norm (L2)."
    ),
    "severity": ("How much a refuted statement changes: substantive, repairable, or slip."),
    "simulation": (
        "A run with a seed. Whoever knows the seed can subtract the noise, so it carries no guarantee."
    ),
    "statement": ("A numbered theorem, lemma or sentence of a paper, or one of dpproof."),
    "tight": ("The smallest bound that is proved here. Answers show it beside the published bound."),
    "trade-off function": (
        "The least false negative rate of a test between neighbours, as a function of its false positive "
        "rate."
    ),
    "trust model": ("Who sees the raw data: central, joint, local or shuffle."),
    "unit": (
        "Whose data one record holds, such as one patient. A guarantee for one visit does not protect a "
        "patient with many visits as well."
    ),
    "verdict": (
        "The known status of a statement: PROVED, STEPS PROVED, REFUTED, PROVED ON A SUBDOMAIN, PROVED "
        "GIVEN, ASSUMED or OPEN."
    ),
    "witness": (
        "A JSON file with everything that is needed to find a violation again: `dpproof audit --replay FILE`."
    ),
    "would have seen": ("The smallest epsilon that an audit finds with probability at least 0.9."),
}

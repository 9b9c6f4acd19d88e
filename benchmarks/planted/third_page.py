"""The section of the page on planted faults that is about the faults of the third user."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.planted.case import Case, Event
from benchmarks.planted.page import CLASSES, consistent, promise, refuted, wrong
from benchmarks.planted.run import THIRD, Answer, key

TITLE = "## Faults of the third user"
COMMIT = "348f6ed1"
Pairs = list[tuple[Case, Answer]]
HEAD = f"""{TITLE}

The third user is a statistician who asks whether *consistent* can be trusted. This user had not read the engine of the
audits. The code of dpproof was that of commit {COMMIT}, on 2026-11-30. Each audit had at most {THIRD[True]:.0f}
seconds ({THIRD[False]:.0f} seconds without a fault). Other programs used both processors. Each mechanism was audited
once, and no fault was changed after its audit. `compare_runs` was not run. One untouched mechanism, GeometricTruncated,
had 120 seconds.

All but four faults make one event more or less frequent, and change nothing else (the file `tilt.py` says how). So the
true epsilon is known exactly. It is rounded to four figures for faults in decimal digits. The table has the
probabilities of the event on the two inputs. A simulation confirmed them before the audits. Three rules were fixed
before the first audit.

- An event belongs to a documented class if one input gives it a probability of at least 1 %.
- A *wrong* assurance is the answer *consistent* that lists this class as covered, for a fault whose true epsilon is at
  least twice the promise.
- The faults whose names begin with `weak` have a true epsilon of less than twice the promise. *Consistent* is a
  correct answer on them, and so is a violation.

The first set has 65 faults. They were written before any audit. The second set has 30 faults, with events that are
narrow, seldom or one digit. The third set has 18 faults, with events that have an unusual form. The second and the
third set were written after the first answers were known, so they are not independent of these answers. Each set was
committed before its first audit. The second and the third set aim at decimal digits on purpose, because the first set
had found a wrong assurance there. So only the first set is a sample that no answer had shaped. smartnoise-sql was left
out, because it needs another version of OpenDP.
"""


CAUSE = """The wrong assurances have one cause, as far as they were looked into. The class of decimal digits did not
count digits from the decimal point. It took the width of the middle half of the outputs, for example 14, and the power
of ten below it, 10. The last of its three digits had a hundredth of this value, here 0.1. So for totals with noise of
scale 10 the answer covered tens, units and the first decimal, and for noise of scale 1 also the second. It did not
cover the digits after these, though the how-to and the answer spoke of a decimal digit and of digits above the third.
The audit found some faults in these digits through the low bits of doubles. Then it said *violation* or *violation
(floating point only)*.

The cause was mended after these answers. The digits of a number with up to six decimals are now counted from its last
decimal place, all of them. Of other numbers six digits are used, from the size of their spread on, and the class has
this name. Then the 11 faults with the answer *consistent* were audited again. All 8 with a wrong assurance, and
`interval_near_centre`, were *violation*. The other two were *consistent* again, which is correct. This is no test on
new faults.

The first answer on `interval_near_centre`, *consistent*, was correct. Intervals are listed as not covered. Moreover
the audit ran a pair on which the fault does not show, though one of the four pairs that it tried shows it.

A fourth user, who had not read the engine either, then planted 32 faults (`benchmarks/planted/fourth.py`) and audited
each once, for at most 60 seconds, on the code after this mend. Of 24 faults in a documented class with at least twice
the promise, 24 were *violation*, and so were 4 weaker ones. Of 4 faults outside of the classes 1 was found, 1 was
*consistent*, and 2 were *inconclusive*. Of 4 more faults, written after these answers, 3 were found. The last one was
*consistent*: a digit that the answer did not name as covered. Then this user found one wrong assurance by hand: the
last printed digit of amounts of both signs. The digit of a negative number was that of the number rounded down. Audits
now also bet on the digits of absolute values, and find this fault.

A fifth user asked how often *consistent* is wrong for narrow events, and planted 55 faults
(`benchmarks/planted/fifth.py`). On most of them one event is exp(2.2 epsilon) times more probable on one input, at
promises of 0.45 to 1.5. On the code of that time, 46 were *violation*, 1 was *inconclusive* and 8 were
*consistent*. Of these 8 answers, 6 listed the class of the fault as covered. Two of these 6 events have a mean
probability below 1 % on the two inputs, and one of the two is in no class. So 4 answers were wrong: two sets of
remainders (2 of 100, and 20 of 1,000), a pair of numbers, and an order of two words. By hand the user found more:
sets of remainders, intervals and lengths with a probability of up to 0.1 on one input and 0 on the other. There
were two causes. The planted violations contained half of all remainders, and other events of any size with the
same probability, so narrow events hardly counted. And the bets on a score had 32 bins, which is too coarse for
them. Now small masses are drawn more often in most of the further classes, and there are 128 bins. The same faults
were audited again: 49 were *violation* and 6 *consistent*. One of these is wrong, the remainders 98 and 99 of 100,
with a mean probability of 1.3 %. This is no test on new faults. Of 12 faults that the user had found by hand, 9
are *violation* now. A tail with a mean probability of 0.8 %, and a remainder beside a shift by the whole promise,
are *violation* in one of two runs each. A pair of numbers with a mean probability of 0.5 % is *consistent* in
both.

A sixth user planted 48 faults on the code after this mend (`benchmarks/planted/sixth.py`): one event of a covered
class, with a mean probability from 0.014 to 0.3 and a true epsilon of 2.1 to 3.0 times the promise. 46 were
*violation* and 2 *inconclusive*. 23 of them were audited again with a true epsilon of 2.05 to 2.3 times the
promise, and all were *violation*. Of 13 untouched mechanisms none was a violation. So no answer was *consistent*,
and these 71 answers do not show how often *consistent* is wrong. Then one of the two *inconclusive* faults was
audited with more samples, as the answer had proposed, and was *consistent*: lists in which one word comes before
another, with a mean probability of 3.6 %. This is a wrong assurance, like the order of two words above. The class
of words mixes such events with more frequent ones. Since then two words in an order are a class of their own, so
an answer says whether it covers them. In the same way random sets of 40 or 60 of the remainders modulo 1,000,
which somebody else tried then, were *consistent* in 9 of 12 audits, 8 of which listed the class of remainders as
covered. Remainders modulo 100 and 1,000 are now a class of their own, too.

A seventh user planted 46 faults on the code after that (`benchmarks/planted/seventh.py`), and 22 more after the first
answers were known. Of these 68, 22 are in remainders modulo 100 and 1,000, 20 in orders of two words, 13 in patterns
of low bits, and 13 in other classes. In the first set the true epsilon is 2.05 to 4 times the promise, and the mean
probability of the event is 1.25 % to 30 %. In the second set they are at most 2.3 times the promise and 6 %. Of the
first set, 41 were *violation* and 5 *inconclusive*. Of the second set, 18 were *violation*, 2 *inconclusive* and 2
*consistent*. Both *consistent* answers are wrong assurances. One fault is in the multiples of 36 modulo 1,000, with
a mean probability of 1.55 %. The other one is in the order of two words: the answer did not cover the class of such
orders, but it covered the class "presence or order of a token". Of 14 untouched mechanisms none was a violation.

More samples hardly helped against the first fault, because the bets on a score ended after 2^16 samples. The scores
are fitted again and again, and nothing was bet on the later fits. Three things were changed. The bets go on to 2^20
samples. Events of less than 2 % are named as not covered. The class of words is called "presence of a token, or its
place before another (mixed)". With 128,000 samples the code before the change found 21 of 30 sets of 28 remainders
modulo 1,000, each with a mean probability of 1.6 %. After the change `--rare` found 60 of 60, and 49 of 60 with 64,000
samples. Of 12 other such sets, audited with 64,000 samples and with their power, 7 were *violation* and 5 *consistent*.
One of these 5 answers covers the class, except for events of less than 2 %.

The 68 faults were audited again after the change. This is no test on new faults. Of the first set, 43 were *violation*
and 3 *inconclusive*. Of the second set, 17 were *violation*, 2 *inconclusive* and 3 *consistent*: the multiples of 36,
and two orders of words. None of these 3 answers covers the class of its fault, but the two on orders of words cover
the mixed class. These two events have a mean probability of 1.3 % and 1.5 %. The untouched mechanisms were not audited
again.
"""


def section(cases: list[Case], found: dict[str, Answer]) -> Iterator[str]:
    """Generate the lines of the section; cases that were not audited are named."""
    third = [case for case in cases if case.author == 3]
    asked = [(case, found[key(case)]["audit"]) for case in third if key(case) in found]
    faults = [(case, audit) for case, audit in asked if case.fault]
    yield HEAD
    yield from _summary(faults)
    yield from _missed([pair for pair in faults if not refuted(pair[1])])
    yield "### All faults\n"
    yield "| fault | promise | true epsilon | probabilities of the event | class | audit | seconds |"
    yield "|---|---|---|---|---|---|---|"
    yield from (_row(*pair) for pair in faults)
    yield from _untouched([pair for pair in asked if not pair[0].fault])
    left = [key(case) for case in third if key(case) not in found]
    if left:
        yield f"\nThe time ended before these were audited: {', '.join(left)}."


def groups(faults: Pairs) -> dict[str, Pairs]:
    """Return the faults by set, and by whether *consistent* would be a wrong assurance."""
    sorts: dict[str, Callable[[Case], bool]] = {
        "in a documented class, at least twice the promise": heavy,
        "weaker than twice the promise": lambda case: not doubled(case),
        "outside of the documented classes": lambda case: doubled(case) and case.event is Event.NONE,
    }
    found = {
        f"{name}, {sort}": [pair for pair in faults if pair[0].set == number and of(pair[0])]
        for number, name in enumerate(("first set", "second set", "third set"), 1)
        for sort, of in sorts.items()
    }
    return {name: pairs for name, pairs in found.items() if pairs}


def doubled(case: Case) -> bool:
    """Whether the true epsilon is at least twice the promise."""
    return case.loss is not None and case.loss >= 2 * case.claim[0]


def heavy(case: Case) -> bool:
    """Whether an assurance about the class of a fault would be wrong."""
    return doubled(case) and case.event is not Event.NONE


def _summary(faults: Pairs) -> Iterator[str]:
    yield "| faults | number | found | floating point only | inconclusive | consistent | of these wrong |"
    yield "|---|---|---|---|---|---|---|"
    for name, pairs in [*groups(faults).items(), ("all", faults)]:
        yield f"| {name} | {' | '.join(map(str, counts(pairs)))} |"
    inside = [pair for pair in faults if heavy(pair[0])]
    said = [pair for pair in faults if consistent(pair[1]) and not refuted(pair[1])]
    covered = [pair for pair in said if wrong(*pair)]
    yield (
        f"\nThe answer is *consistent* for {len(said)} faults, and {len(covered)} of these answers are wrong"
        f" assurances ({share(covered, said)}). The aim was at most 10 %. In the documented classes there are"
        f" {len(inside)} faults with at least twice the promise. A wrong assurance was given for"
        f" {share(covered, inside)} of them.\n\n{CAUSE}"
    )


def share(some: Pairs, of: Pairs) -> str:
    """Return a share in percent."""
    return f"{100 * len(some) / len(of):.1f} %" if of else "none"


def counts(pairs: Pairs) -> tuple[int, ...]:
    """Return how many faults there are, and how many of each answer."""
    audits = [audit for _, audit in pairs]
    missed = [pair for pair in pairs if not refuted(pair[1])]
    return (
        len(pairs),
        len(pairs) - len(missed),
        sum("floating" in audit["verdict"] for audit in audits),
        sum(audit["verdict"] in ("inconclusive", "error") for audit in audits),
        sum(audit["verdict"] == "consistent" for audit in audits),
        sum(wrong(*pair) for pair in missed),
    )


def _missed(pairs: Pairs) -> Iterator[str]:
    yield "### *Consistent* on a fault\n"
    for case, audit in pairs:
        if not consistent(audit):
            continue
        covered = [name for name, one in audit["power"].items() if one["enough"]]
        named = CLASSES.get(case.event, "none of the classes")
        yield (
            f"- `{case.name}`: **{'wrong' if wrong(case, audit) else 'correct'}**. {case.fault} True epsilon"
            f" {case.loss or 0:.3g}; class: {named}. Covered: {'; '.join(covered)}."
            f" Pair: {audit['pairs'][0]['description']}."
        )
    yield "\n### Other answers that are no violation\n"
    for case, audit in pairs:
        if not consistent(audit):
            yield f"- `{case.name}`: {audit['verdict']}. {case.fault} {audit['weakness']}."
    yield ""


def _answered(audit: Answer) -> str:
    return (
        f"error: {' '.join(audit['words'].split())}" if audit["verdict"] == "error" else str(audit["verdict"])
    )


def _row(case: Case, audit: Answer) -> str:
    low, high = case.mass or (0.0, 0.0)
    answer = f"at least {audit['epsilon_lower']:.2f}" if refuted(audit) else audit["verdict"]
    if "floating" in answer:
        answer += f", without bits {audit['without_bits']}"
    cells = (
        f"{case.package} `{case.name}`: {case.fault}",
        promise(case),
        f"{case.loss or 0:.3g}",
        f"{low:.3g}, {high:.3g}",
        case.event.value,
        answer,
        f"{audit['seconds']:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def _untouched(sound: Pairs) -> Iterator[str]:
    audits = [audit for _, audit in sound]
    yield "\n### Untouched mechanisms of the third user\n"
    yield (
        f"Of {len(sound)} untouched mechanisms, {sum(map(refuted, audits))} were reported as a *violation*, and"
        f" {sum('floating' in audit['verdict'] for audit in audits)} as *violation (floating point only)*."
        f" {sum(map(consistent, audits))} answers are *consistent*, if low bits are left out. The time budget ended"
        f" {sum('time budget' in audit.get('weakness', '') for audit in audits)} of these audits, or the measurement"
        f" of their power. {sum(audit['verdict'] == 'error' for audit in audits)} ended with an error.\n"
    )
    yield "| mechanism | promise | audit | seconds |\n|---|---|---|---|"
    for case, audit in sound:
        answer = _answered(audit) + (
            f", without bits {audit['without_bits']}" if audit.get("without_bits") else ""
        )
        yield f"| {case.package} {case.name} | {promise(case)} | {answer} | {audit['seconds']:.1f} |"

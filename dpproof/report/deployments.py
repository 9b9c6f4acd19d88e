"""The page on published deployments, and its picture: published numbers beside certified ones."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence

import matplotlib as mpl

from dpproof.accountant.drawing import STYLE
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.enclosures import exact
from dpproof.deployments.carried import carried
from dpproof.deployments.comparing import KINDS, Comparison, Word, compare_all, fairness
from dpproof.deployments.records import bundled

PICTURE = "images/deployments.svg"
_LOOKS = {
    Word.REPRODUCED: ("#009e73", "o"),
    Word.ROUNDED_DOWN: ("#d98c00", "v"),
    Word.LOOSE: ("#0072b2", "D"),
    Word.CONDITIONAL: ("#6a4fa3", "s"),
    Word.INCONSISTENT: ("#b3261e", "X"),
}
"""The colour and the mark of each verdict. The marks differ for those who do not see the colours."""
_MEANINGS = {
    Word.REPRODUCED: "A usual formula gives the published number from what the source states.",
    Word.ROUNDED_DOWN: "The formula gives a slightly larger number. It was rounded down. A bound should be rounded up.",
    Word.LOOSE: "The published number is a valid bound, and larger than necessary. No formula that was tried gives it.",
    Word.CONDITIONAL: "The number follows only if something holds that the source does not state. The table says what.",
    Word.INCONSISTENT: "The number is smaller than what follows from the other numbers of the same source.",
    Word.UNDERSPECIFIED: "The source states too little. The table says what is missing.",
}

_EPOCHS = 20
_HOW = [
    "## What a certified number rests on",
    "",
    "The column *how* of the two tables has three entries.",
    "",
    "- *From the mechanism's parameters*: the source states the noise and how often it was added. dpproof computes the",
    "  number from these.",
    "- *From the stated rho*: the source states rho. dpproof computes epsilon from it, and relies on rho.",
    "- *From the stated parts*: the source states the parts of its number. dpproof adds them up, and relies on each.",
    "",
]


def page() -> tuple[str, bytes]:
    """Return the page as Markdown, and its picture as SVG."""
    found = compare_all(bundled())
    return _markdown(found), _picture([one for one in found if one.found.best is not None])


def _markdown(found: Sequence[Comparison]) -> str:
    by_id = {one.row.id: one for one in found}
    lines = [*_beginning(found), *_stories(by_id), *_second_look(by_id), *_HOW]
    for title, rows in (
        ("Deployments", [one for one in found if one.row.record]),
        ("Trainings", [one for one in found if not one.row.record]),
    ):
        lines += [f"## {title}", "", "| what | published | certified | verdict | how |"]
        lines += ["|---|---|---|---|---|", *map(_line, rows), ""]
    lines += [
        *_carried(found),
        "## Row by row",
        "",
        "These paragraphs are for those who want to repeat a computation. Each one names the formula that gives the",
        "published number, what it assumes, and what to ask those who published it.",
        "",
    ]
    for one in found:
        lines += [
            f"**{one.row.curator}: {one.row.name}.** {_plain(fairness(one))} Source: {_plain(one.row.source)}.",
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def _beginning(found: Sequence[Comparison]) -> list[str]:
    done = [one for one in found if one.found.best is not None]
    counts = Counter(one.word for one in found)
    records = len({one.row.record for one in found if one.row.record})
    lines = [
        "# Published guarantees, recomputed",
        "",
        "Companies and statistical offices publish how well they protect the data of people. Most state a number,",
        "epsilon. It measures how much the data of one person can change what is published. A smaller epsilon protects",
        "better. A second number, delta, bounds the probability of results that reveal more than epsilon says. It is",
        "small: 1e-5 stands for 0.00001. Some state a third number, rho. It gives an epsilon for each delta.",
        "",
        f"This page compares {len(found)} published numbers with certified ones. They come from the {records} records",
        "of the [deployments registry](https://github.com/opendp/deployments-registry-data), from the configurations",
        f"of the 2020 Census, and from tutorials and papers. {len(done)} can be recomputed. The command",
        "`dpproof check deployments` prints the same comparison.",
        "",
        "A certified number is an upper bound that was proved for the facts that the source states, and for the",
        "condition that its row names. If it is below the published number, and these hold, people are better",
        "protected than was said. If two numbers are given, the exact value lies between them. The facts themselves",
        "are not checked: nobody outside can see whether the noise was added.",
        "",
        "A verdict compares like with like. It says whether the procedure of the source gives the number of the",
        "source. No verdict says that a number is wrong.",
        "",
        "| verdict | rows | meaning |",
        "|---|---|---|",
    ]
    lines += [f"| {word.value} | {counts[word]} | {_MEANINGS[word]} |" for word in Word]
    caption = "Published numbers against certified ones. On the line, both are equal."
    return [
        *lines,
        "",
        f"![{caption}]({PICTURE})",
        "",
        f"{caption} Above the line, the published number",
        "is larger than necessary. Below it, the published number is too small for the stated facts. Each step of an",
        "axis multiplies by ten.",
        "",
    ]


def _second_look(by_id: Mapping[str, Comparison]) -> list[str]:
    """Return what a second computation of ten rows found."""
    last = by_id["opacus-cifar-20"]
    noise = exact(last.row.recompute["noise"])
    ordered = GaussianDP.of_square(_EPOCHS / noise**2).epsilon(last.row.published["delta"]).upper
    return [
        "## Ten rows, computed a second time",
        "",
        "Ten rows were drawn at random. Somebody who had not seen this page read their sources again, and computed the",
        "numbers with other programs. Seven rows agreed. Three stated a fact that had to be corrected.",
        "[A note](notes/deployments_recheck.md) lists all ten.",
        "",
        f"One source is instructive. A tutorial of Opacus, a program library, shows {last.published} in the last",
        "line that it printed. This number is for batches that are drawn at random. The line was printed by an earlier",
        "version, in which a variable had the wrong name. Its training read the data in a fixed order. A reader of the",
        "tutorial noticed this, and its authors corrected the code in February 2022. They kept the printed lines.",
        "Random batches hide who took part in a step. In a fixed order nothing hides it. For half of the records, the",
        f"same noise then gives epsilon {ordered:.1f}. For the corrected code, the printed number is a valid bound:",
        f"the certified epsilon for the same number of steps is {last.certified}.",
        "",
    ]


def _stories(by_id: Mapping[str, Comparison]) -> list[str]:
    """Return five rows, explained to a reader who does no mathematics."""
    persons, files = by_id["census-pl94-persons"], by_id["census-dhc-persons"]
    energy, training, detailed = by_id["recurve-paper"], by_id["opacus-mnist-1"], by_id["census-ddhc-a"]
    return [
        "## Five rows in plain words",
        "",
        "### The Census rounded down, and did better than it said",
        "",
        f"The Census Bureau published {persons.published} for the redistricting data. The published settings of its",
        "program, put into the usual formula, give 17.1436. That number was rounded to 17.14. A bound should be",
        "rounded up, because a smaller number promises more than was computed. Here the promise holds all the same:",
        f"the exact computation for the {persons.found.notes[0].partition(' ')[0]} noisy questions gives at most",
        f"{persons.certified.rpartition(' ')[2]}. The difference comes from the formula, which is not exact.",
        "",
        "### Two formulas in one programme",
        "",
        f"For the next product, the Bureau published {files.published}. The formula of the first product gives 25.42.",
        "An older formula gives 26.34. Both formulas are valid, and the older one gives larger numbers. A reader who",
        "compares 17.14 with 26.34 compares two products and two formulas at once. The exact computation gives at most",
        f"{files.certified.rpartition(' ')[2]}.",
        "",
        "### A sample does not divide a large epsilon",
        "",
        f"A study of electricity use published {energy.published}. Its steps have a total epsilon of 6.8. The data",
        "were a sample of one customer in eight, and the study multiplied 6.8 by one eighth. This product is a good",
        "approximation when epsilon is small. At 6.8 it is not: a customer who is in the sample is hardly protected,",
        f"and this happens once in eight cases. The correct formula gives {energy.certified}. The registry states the",
        "corrected number. It holds if the sample was drawn at random. The study chose it from groups",
        "of similar customers.",
        "",
        "### The first part of a training",
        "",
        f"A tutorial trains a model, and prints {training.published} after one pass over the data. The certified",
        f"epsilon is {training.certified}. The printed number is a valid bound, up to its rounding. It is three times",
        "the certified one. The tutorial uses a method that is accurate for long trainings and not for short ones.",
        "",
        "### What does it mean to change one record?",
        "",
        f"Three detailed Census files publish one number each, called rho. For file A, {detailed.published} is four",
        "times the sum of the settings. For file B and for the supplemental file, the number is two times the sum.",
        "Both factors can be right. The settings seem to protect a person who is added. If a person is replaced by",
        "another, one count falls and another count rises. For this change the factor two is enough. A general rule",
        "for two changes gives the factor four. A reader can compare the files only if each names its change.",
        "",
    ]


def _carried(found: Sequence[Comparison]) -> list[str]:
    """Return the section on the rows whose numbers have a certificate."""
    rows = [(one, name, epsilon) for one in found for name, epsilon in carried(one.row).items()]
    return [
        "## Numbers that can be checked again",
        "",
        "These numbers have a certificate: a file with the claim and the plan of a computation. The kernel, a small",
        "program that shares no code with the accountant, computes the upper bound again with rational numbers.",
        "[The note](notes/carried_numbers.md) says what this proves, and what is taken for granted. Check one with",
        f"`dpproof verify {rows[0][1]}`, which takes a few seconds.",
        "",
        "| row | certificate | computed from | epsilon at most | at delta |",
        "|---|---|---|---|---|",
        *(
            f"| {_plain(one.row.name)} | `{name}` | {_FROM[name.split('.')[1]]} "
            f"| {float(epsilon)} | {one.row.published['delta']} |"
            for one, name, epsilon in rows
        ),
        "",
        "The conversion from rho is proved by the kernel and by Coq (`classic.zcdp_conversion`). So are the two",
        "numbers of the redistricting data that it gives.",
        "",
    ]


_CERTIFIED = ", with a [certificate](#numbers-that-can-be-checked-again)"
_FROM = {
    "json": "the noise of its queries",
    "rho": "the sum of the budgets",
    "printed-rho": "the published rho",
}


def _line(one: Comparison) -> str:
    cells = (
        f"{one.row.curator}: {one.row.name}",
        one.published,
        one.certified,
        one.verdict,
        f"{KINDS[one.found.kind]}{_CERTIFIED * bool(carried(one.row))}",
    )
    return f"| {' | '.join(map(_plain, cells))} |"


def _plain(text: str) -> str:
    """Escape what Markdown would read as a table or as emphasis."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


def _picture(found: Sequence[Comparison]) -> bytes:
    """Return the published numbers against the certified upper bounds, on logarithmic axes, as SVG."""
    from matplotlib.figure import Figure

    with mpl.rc_context({**STYLE, "font.size": 12}):
        figure = Figure(figsize=(5.6, 5.2), layout="constrained")
        axes = figure.add_subplot()
        for word, (colour, mark) in _LOOKS.items():
            rows = [one for one in found if one.word is word]
            for kind, inside in (("epsilon", colour), ("rho", "none")):
                places = [one for one in rows if one.row.quantity == kind]
                axes.scatter(
                    [float(one.found.best[1]) for one in places if one.found.best],
                    [float(one.row.published[kind]) for one in places],
                    s=46,
                    marker=mark,
                    facecolors=inside,
                    edgecolors=colour,
                    alpha=0.8,
                    label=word.value + (" (rho)" if kind == "rho" else "") if places else None,
                )
        ends = (0.08, 80.0)
        axes.plot(ends, ends, color="#777777", linewidth=1, zorder=0)
        axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
        axes.set_xlabel("certified upper bound")
        axes.set_ylabel("published number")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:g}")
        axes.legend(fontsize=11, loc="upper left")
        stream = io.BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()

"""The page on published deployments, and its picture: published numbers beside certified ones."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence

import matplotlib as mpl

from dpproof.accountant.drawing import STYLE, TIGHT
from dpproof.deployments.carried import carried
from dpproof.deployments.comparing import KINDS, Comparison, Word, compare_all, fairness
from dpproof.deployments.records import bundled

PICTURE = "images/deployments.svg"
_COLOURS = {
    Word.REPRODUCED: "#2e7d32",
    Word.ROUNDED_DOWN: "#d98c00",
    Word.LOOSE: TIGHT,
    Word.CONDITIONAL: "#6a4fa3",
    Word.INCONSISTENT: "#b3261e",
}
_MEANINGS = {
    Word.REPRODUCED: "A usual procedure, applied to what the source states, gives the published number.",
    Word.ROUNDED_DOWN: "The procedure gives a slightly larger number. It was rounded down.",
    Word.LOOSE: "The published number is an upper bound. No procedure that was tried gives it.",
    Word.CONDITIONAL: "The number is reproduced under an assumption that the source does not state.",
    Word.INCONSISTENT: "The number is smaller than what follows from the other published numbers.",
    Word.UNDERSPECIFIED: "The source states too little. The table says what is missing.",
}


def page() -> tuple[str, bytes]:
    """Return the page as Markdown, and its picture as SVG."""
    found = compare_all(bundled())
    return _markdown(found), _picture([one for one in found if one.found.best is not None])


def _markdown(found: Sequence[Comparison]) -> str:
    by_id = {one.row.id: one for one in found}
    lines = [*_beginning(found), *_stories(by_id)]
    for title, rows in (
        ("Deployments", [one for one in found if one.row.record]),
        ("Trainings", [one for one in found if not one.row.record]),
    ):
        lines += [f"## {title}", "", "| published by | what | published | certified | how | verdict |"]
        lines += ["|---|---|---|---|---|---|", *map(_line, rows), ""]
    lines += [
        *_carried(found),
        "## Row by row",
        "",
        "Each paragraph names the most charitable reading, and what to ask the curators.",
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
        f"This page compares {len(found)} published privacy guarantees with certified ones. They come from the "
        f"{records} records of the [deployments registry](https://github.com/opendp/deployments-registry-data), "
        f"from the configurations of the 2020 Census, and from tutorials and papers. {len(done)} can be recomputed.",
        "`dpproof check deployments` prints the same comparison. `make docs` generates this page.",
        "",
        "A certified number is an upper bound that was proved for the facts that the source states. If it is below the",
        "published number, the deployment is more private than was said. A verdict compares like with like: it asks",
        "whether the procedure of the source gives the number of the source. No verdict says that a number is wrong.",
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
        f"{caption} Above the line, the published number is larger.",
        "",
    ]


def _stories(by_id: Mapping[str, Comparison]) -> list[str]:
    """Return five rows, explained to a reader who does no mathematics."""
    persons, files = by_id["census-pl94-persons"], by_id["census-dhc-persons"]
    energy, training, detailed = by_id["recurve-paper"], by_id["opacus-mnist-1"], by_id["census-ddhc-a"]
    return [
        "## Five rows in plain words",
        "",
        "Epsilon measures how much one person's data can change what is published. A smaller epsilon protects better.",
        "Delta bounds the probability of results that reveal more than epsilon says.",
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
        "corrected number. It holds if the sample was drawn at random, and the study matched its sample by strata.",
        "",
        "### The first epoch of a training",
        "",
        f"A tutorial trains a model, and prints {training.published} after one pass over the data. The certified",
        f"epsilon is {training.certified}. The printed number is a valid bound, up to its rounding. It is three times",
        "too large. The tutorial uses a method that is accurate for long trainings and not for short ones.",
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
        one.row.curator,
        one.row.name,
        one.published,
        one.certified,
        f"{KINDS[one.found.kind]}{_CERTIFIED * bool(carried(one.row))}",
        one.verdict,
    )
    return f"| {' | '.join(map(_plain, cells))} |"


def _plain(text: str) -> str:
    """Escape what Markdown would read as a table or as emphasis."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


def _picture(found: Sequence[Comparison]) -> bytes:
    """Return the published numbers against the certified upper bounds, on logarithmic axes, as SVG."""
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.5, 5.5), layout="constrained")
        axes = figure.add_subplot()
        for word, colour in _COLOURS.items():
            rows = [one for one in found if one.word is word]
            for mark, kind in (("o", "epsilon"), ("s", "rho")):
                places = [one for one in rows if one.row.quantity == kind]
                axes.scatter(
                    [float(one.found.best[1]) for one in places if one.found.best],
                    [float(one.row.published[kind]) for one in places],
                    s=26,
                    marker=mark,
                    color=colour,
                    alpha=0.8,
                    label=f"{word.value} ({kind})" if places else None,
                )
        ends = (0.08, 80.0)
        axes.plot(ends, ends, color="#777777", linewidth=1, zorder=0)
        axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
        axes.set_xlabel("certified upper bound")
        axes.set_ylabel("published number")
        axes.legend(fontsize=8, loc="upper left")
        stream = io.BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()

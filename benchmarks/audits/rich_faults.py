"""Faulty and sound mechanisms with rich outputs: vectors, dictionaries, texts, trees and images.

A mechanism is a function of the label (which of two inputs it ran on) and a generator. Every sound one meets epsilon 1
exactly; every faulty one violates it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.outputs import of_objects

Labels = NDArray[np.int64]
Rng = np.random.Generator
Draw = Callable[[Labels, Rng], NDArray[Any]]
KEPT = np.e / (1 + np.e)
"""The probability with which randomised response with epsilon 1 tells the truth."""
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
WORDS = [first + second for first in "bcdfghjklm" for second in "aeiou"]


def _told(label: int, rng: Rng) -> int:
    """The label by randomised response, with epsilon 1."""
    return label if rng.random() < KEPT else 1 - label


def _laplace(labels: Labels, rng: Rng, d: int) -> NDArray[np.float64]:
    return rng.laplace(size=(len(labels), d))


def coordinate(d: int, shift: float = 2.0) -> Draw:
    """One coordinate moves; a shift of 1 is sound."""

    def draw(labels: Labels, rng: Rng) -> NDArray[Any]:
        x = _laplace(labels, rng, d)
        x[:, 3] += shift * labels
        return x

    return draw


def sparse_set(d: int) -> Draw:
    """Five coordinates move a little: 0.8 each."""

    def draw(labels: Labels, rng: Rng) -> NDArray[Any]:
        x = _laplace(labels, rng, d)
        x[:, [1, 4, 7, 11, 17]] += 0.8 * labels[:, None]
        return x

    return draw


def correlation(d: int) -> Draw:
    """Two coordinates have correlation 0.9 or -0.9; each alone is the same."""

    def draw(labels: Labels, rng: Rng) -> NDArray[Any]:
        x, c = rng.normal(size=(len(labels), d)), np.where(labels == 1, 0.9, -0.9)
        x[:, 5] = c * x[:, 2] + np.sqrt(1 - c**2) * x[:, 5]
        return x

    return draw


def norm(d: int) -> Draw:
    """All coordinates are a little larger."""

    def draw(labels: Labels, rng: Rng) -> NDArray[Any]:
        return rng.normal(size=(len(labels), d)) * np.where(labels == 1, 1 + 1.5 / np.sqrt(d), 1.0)[:, None]

    return draw


def covariance(d: int) -> Draw:
    """The variance in a direction of all coordinates is twelve times as large."""

    def draw(labels: Labels, rng: Rng) -> NDArray[Any]:
        x, v = rng.normal(size=(len(labels), d)), np.full(d, 1 / np.sqrt(d))
        return np.asarray(x + np.where(labels == 1, 2.5, 0.0)[:, None] * (x @ v)[:, None] * v)

    return draw


def dense(d: int) -> Draw:
    """The mean moves in a direction of all coordinates."""

    def draw(labels: Labels, rng: Rng) -> NDArray[Any]:
        return rng.normal(size=(len(labels), d)) + labels[:, None] * 2.2 / np.sqrt(d)

    return draw


def box(d: int) -> Draw:
    """A box of three coordinates holds 30 % of the outputs of one input."""

    def draw(labels: Labels, rng: Rng) -> NDArray[Any]:
        x = rng.uniform(-1, 1, (len(labels), d))
        moved = (rng.random(len(labels)) < 0.3) & (labels == 1)
        x[moved, :3] = rng.uniform(0, 0.6, (moved.sum(), 3))
        return x

    return draw


def triple() -> Draw:
    """The product of three signs tells the label; any two are independent of it."""

    def draw(labels: Labels, rng: Rng) -> NDArray[Any]:
        x = rng.normal(size=(len(labels), 3))
        tells = np.where(rng.random(len(labels)) < 0.95, 1, -1) * (2 * labels - 1)
        x[:, 2] = np.abs(x[:, 2]) * np.sign(x[:, 0]) * np.sign(x[:, 1]) * tells
        return x

    return draw


def patch(labels: Labels, rng: Rng) -> NDArray[Any]:
    """A patch of 4 x 4 pixels of 16 x 16 is brighter."""
    x = rng.normal(size=(len(labels), 16, 16))
    x[:, 3:7, 8:12] += 0.5 * labels[:, None, None]
    return x


def texture(labels: Labels, rng: Rng) -> NDArray[Any]:
    """Neighbouring pixels of a row are positively correlated."""
    x = rng.normal(size=(len(labels), 16, 17))
    c = np.where(labels == 1, 0.15, 0.0)[:, None, None]
    return np.asarray((x[:, :, :-1] + c * x[:, :, 1:]) / np.sqrt(1 + c**2))


def blot(labels: Labels, rng: Rng) -> NDArray[Any]:
    """A quarter of the image has a larger variance."""
    x = rng.normal(size=(len(labels), 16, 16))
    x[:, 8:, 8:] *= np.where(labels == 1, 1.25, 1.0)[:, None, None]
    return x


def pixel(labels: Labels, rng: Rng) -> NDArray[Any]:
    """One pixel moves by as much as epsilon 1 allows: sound."""
    x = rng.laplace(size=(len(labels), 16, 16))
    x[:, 5, 5] += labels
    return x


def _each(one: Callable[[int, Rng], object]) -> Draw:
    return lambda labels, rng: of_objects([one(int(label), rng) for label in labels])


def _entry(label: int, rng: Rng) -> object:
    """An entry is there far more often."""
    found = {f"k{i}": int(rng.poisson(5)) for i in range(12) if rng.random() < 0.7}
    return {**found, "rare": int(rng.poisson(5))} if rng.random() < (0.4, 0.04)[1 - label] else found


def _value(label: int, rng: Rng) -> object:
    """One value of a dictionary whose entries vary moves."""
    return {
        f"k{i}": float(rng.laplace() + 2 * label * (i == 7))
        for i in range(12)
        if i == 7 or rng.random() < 0.8
    }


def _sound_entry(label: int, rng: Rng) -> object:
    """The presence of one entry is randomised response: sound."""
    found = {f"k{i}": int(rng.poisson(5)) for i in range(12) if rng.random() < 0.7}
    return {**found, "rare": int(rng.poisson(5))} if _told(label, rng) else found


def _words(rng: Rng) -> list[str]:
    return [WORDS[i] for i in rng.integers(0, 50, 8)]


def _word(label: int, rng: Rng) -> object:
    """One word at any place is far more frequent."""
    words = _words(rng)
    if rng.random() < (0.05, 0.5)[label]:
        words[int(rng.integers(0, 8))] = "zz"
    return " ".join(words)


def _order(label: int, rng: Rng) -> object:
    """The order of two words, at any place, tells the label."""
    words, place = _words(rng), int(rng.integers(0, 7))
    words[place : place + 2] = ("xa", "xb") if (rng.random() < 0.9) == (label == 1) else ("xb", "xa")
    return " ".join(words)


def _letter(label: int, rng: Rng) -> object:
    """One letter of a text without words is three times as frequent."""
    chances = np.ones(26)
    chances[4] += 2 * label
    return "".join(rng.choice(LETTERS, 20, p=chances / chances.sum()))


def _sound_word(label: int, rng: Rng) -> object:
    """One word at any place is there by randomised response: sound."""
    words = _words(rng)
    if _told(label, rng):
        words[int(rng.integers(0, 8))] = "zz"
    return " ".join(words)


def _leaves(label: int, rng: Rng, depth: int = 0) -> object:
    """Deep leaves are larger."""
    if depth == 3 or rng.random() < 0.2:
        return int(rng.integers(0, 5) + depth * label * (rng.random() < 0.25))
    return [_leaves(label, rng, depth + 1) for _ in range(int(rng.integers(1, 4)))]


def _node(chance: float, rng: Rng, depth: int = 0) -> object:
    if depth == 3:
        return {"leaf": float(rng.normal())}
    kind = ("or", "and")[int(rng.random() < chance)] if depth == 2 else "top"
    return {"kids": [_node(chance, rng, depth + 1) for _ in range(int(rng.integers(1, 3)))], "kind": kind}


def _kinds(label: int, rng: Rng) -> object:
    """The kind of the inner nodes of a tree depends on the label."""
    return _node((0.3, 0.75)[label], rng)


def _sound_kinds(label: int, rng: Rng) -> object:
    """The kind of all inner nodes is one randomised response: sound."""
    return [_node(float(_told(label, rng)), rng)]


FAULTS: Mapping[str, Draw] = {
    **{
        f"{d} numbers: {name}": make(d)
        for d in (20, 200)
        for name, make in (
            ("one coordinate", coordinate),
            ("five coordinates", sparse_set),
            ("correlation of two", correlation),
            ("norm", norm),
            ("covariance", covariance),
            ("all coordinates", dense),
        )
    },
    "3 numbers: a box": box(3),
    "20 numbers: a box": box(20),
    "3 numbers: product of three signs": triple(),
    "image: patch": patch,
    "image: texture": texture,
    "image: variance in a quarter": blot,
    "dictionary: an entry": _each(_entry),
    "dictionary: a value": _each(_value),
    "text: a word": _each(_word),
    "text: order of two words": _each(_order),
    "text: a letter": _each(_letter),
    "tree: leaves": _each(_leaves),
    "tree: kinds of nodes": _each(_kinds),
}
SOUND: Mapping[str, Draw] = {
    "20 numbers": coordinate(20, 1.0),
    "200 numbers": coordinate(200, 1.0),
    "image": pixel,
    "dictionary": _each(_sound_entry),
    "text": _each(_sound_word),
    "tree": _each(_sound_kinds),
}

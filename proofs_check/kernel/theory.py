"""Facts that every theorem may use: about two functions, and about the integral over the real line.

``LAWS`` and ``THEOREMS`` are the only facts of analysis that the kernel believes without a proof.
"""

from typing import Any

LAWS: dict[str, Any] = {
    "step.one": {"all": [["x", "[0, inf)"]], "then": ["==", ["step", "x"], "1"]},
    "step.zero": {"all": [["x", "(-inf, 0)"]], "then": ["==", ["step", "x"], "0"]},
    "abs.up": {"all": [["x", "[0, inf)"]], "then": ["==", ["abs", "x"], "x"]},
    "abs.down": {"all": [["x", "(-inf, 0]"]], "then": ["==", ["abs", "x"], ["neg", "x"]]},
    "normal": {
        "all": [["m", "real"], ["v", "(0, inf)"]],
        "then": [
            "==",
            ["lebesgue", "y", ["exp", ["neg", ["/", ["^", ["-", "y", "m"], "2"], ["*", "2", "v"]]]]],
            ["sqrt", ["*", "2", "pi", "v"]],
        ],
    },
    "laplace": {
        "all": [["m", "real"], ["b", "(0, inf)"]],
        "then": [
            "==",
            ["lebesgue", "y", ["exp", ["neg", ["/", ["abs", ["-", "y", "m"]], "b"]]]],
            ["*", "2", "b"],
        ],
    },
    "interval": {
        "all": [["a", "real"], ["b", "real"]],
        "if": [[">=", "b", "a"]],
        "then": [
            "==",
            ["lebesgue", "y", ["*", ["step", ["-", "y", "a"]], ["step", ["-", "b", "y"]]]],
            ["-", "b", "a"],
        ],
    },
}
"""Clauses by name: step(x) is 1 for x >= 0 and 0 for x < 0; the absolute value; the integrals of the densities of a
normal and of a Laplace law, without their constants; and the length of an interval."""
THEOREMS: dict[str, Any] = {
    "lebesgue.shift": {
        "functions": {"f": {"takes": ["real"], "gives": "real"}, "c": {"takes": [], "gives": "real"}},
        "given": {"defined": ["==", ["lebesgue", "x", ["f", "x"]], ["lebesgue", "x", ["f", "x"]]]},
        "goal": ["==", ["lebesgue", "x", ["f", ["+", "x", "c"]]], ["lebesgue", "x", ["f", "x"]]],
    }
}
"""Theorems by id, about every function: the integral over the real line does not change under a shift."""

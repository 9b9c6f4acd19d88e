"""A sample of stored answers of the command line: what was answered is answered, to the last digit.

The whole list takes a quarter of an hour: ``python tools/golden_answers.py write NEW``, then ``compare``.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SLOW = ("audit", "check", "verify papers")
"""Beginnings of questions that take long; other tests ask them."""


def tool():
    found = importlib.util.spec_from_file_location("golden_answers", ROOT / "tools" / "golden_answers.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_every_fortieth_answer_is_the_stored_one():
    golden = tool()
    stored = golden.read(ROOT / "tests" / "golden" / "answers.jsonl.xz")
    asked = [question for question in stored if not question.startswith(SLOW)][::40]
    assert len(asked) > 25
    different = [question for question in asked if golden.answer(question) != stored[question]]
    assert not different

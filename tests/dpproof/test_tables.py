"""Answers as rows with columns."""

from __future__ import annotations

import csv
import io
import math

from dpproof.tables import rows


def test_answers_of_every_kind_have_rows_with_scalars_only(run):
    statements = rows(run("verify", "rlsvi", "--json").json)
    assert {"id", "verdict", "method"} <= statements[0].keys()
    (account,) = rows(run("account", "gaussian", "--sigma", "2", "--delta", "1e-6", "--json").json)
    assert account["parameters.sigma"] == 2.0
    assert account["epsilon.lower"] <= account["epsilon.upper"]
    (pure,) = rows(run("account", "gaussian", "--sigma", "2", "--delta", "0", "--json").json)
    assert math.isinf(pure["epsilon.upper"])
    for table in (statements, [account]):
        assert all(
            value is None or isinstance(value, str | int | float) for row in table for value in row.values()
        )


def test_a_csv_writer_takes_them(run):
    table = rows(run("verify", "rlsvi", "--json").json)
    text = io.StringIO()
    writer = csv.DictWriter(text, sorted({key for row in table for key in row}))
    writer.writeheader()
    writer.writerows(table)
    assert len(text.getvalue().splitlines()) >= len(table) + 1

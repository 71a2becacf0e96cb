"""Which command lines start the process of the model before their flags are read."""

from __future__ import annotations

import pytest

from hookcli.cli.app import will_run


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ("inspect model.py", True),
        ("inspect --help", False),
        ("inspect", False),
        ("render report.json", False),
        ("diff a.py b.py", True),
        ("diff a.py b.py -f json=difference.json", True),
        ("diff -q a.json b.json", False),
    ],
)
def test_a_line_that_will_run_a_model(line, runs, monkeypatch):
    monkeypatch.delenv("_HOOKCLI_COMPLETE", raising=False)
    assert will_run(line.split()) is runs

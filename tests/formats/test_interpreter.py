"""The Python that ran the model, in the head of a report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.formats.parts.summary import head, interpreter
from hookcli.report.report import Environment

OWN = Environment("0.1", "2.13.0", "3.12.1", "linux", 0.1, "/usr/bin/python", "own")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, None),
        ({"python_executable": None, "python_source": None}, None),  # an older report
        ({"python_source": "--python"}, "3.12.1, torch 2.13.0 /usr/bin/python (--python)"),
        ({"python_source": ".venv", "torch": None}, "3.12.1 /usr/bin/python (.venv)"),
        (
            {"python_source": "VIRTUAL_ENV", "python_executable": "/a\x1b[31m/python"},
            "3.12.1, torch 2.13.0 /a\\x1b[31m/python (VIRTUAL_ENV)",
        ),
    ],
)
def test_the_python_is_shown_if_it_is_not_that_of_hookcli(changes, line):
    assert interpreter(replace(OWN, **changes)) == line


def test_the_head_of_a_report_has_the_line():
    from tests.formats.fabricate import TRACE

    other = replace(TRACE, environment=replace(OWN, python_source="HOOKCLI_PYTHON"))
    assert ("python", "3.12.1, torch 2.13.0 /usr/bin/python (HOOKCLI_PYTHON)") in head(other)
    assert "python" not in dict(head(TRACE))

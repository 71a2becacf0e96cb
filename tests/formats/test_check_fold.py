"""Many rows that say the same are one, and no other rows are."""

from __future__ import annotations

from hookcli.formats.check.rows import folded
from hookcli.report.findings import CheckRow


def row(target, message=None, *, rule="output_shape", status="fail", place="net.py:3"):
    message = f"output of {target} is wrong" if message is None else message
    return CheckRow(rule, target, status, "error", 1, 2, message, place, f"{rule}{target}")


def test_one_finding_in_every_block_is_one_row():
    rows = [row(f"h.{i}.up") for i in range(12)]
    (one,) = folded(rows)
    assert one.target == "h.0.up and 11 more"
    assert one.message == ("output of h.0.up is wrong; also at h.1.up, h.2.up, h.3.up and 8 more")
    assert (one.rule, one.status, one.place) == ("output_shape", "fail", "net.py:3")


def test_three_stand_by_themselves():
    rows = [row(f"h.{i}") for i in range(3)]
    assert folded(rows) == rows


def test_what_is_said_otherwise_is_not_folded():
    rows = [
        *(row(f"h.{i}", f"h.{i} has {i} things") for i in range(5)),
        *(row(f"g.{i}", place=f"net.py:{i}") for i in range(5)),
        *(row("", f"thing {i}") for i in range(5)),
        *(row(f"k.{i}", status="error") for i in range(5)),
    ]
    assert folded(rows) == rows


def test_checks_of_a_rule_that_passed_are_one_row():
    rows = [row("", f"call {i}", status="pass") for i in range(5)]
    rows.insert(2, row("x"))
    first, second = folded(rows)
    assert (first.target, first.message, first.value) == ("5 checks", "5 checks passed", None)
    assert second == row("x")

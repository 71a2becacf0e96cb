"""The table of layers in the data of a page: a row for each call and each module that never ran."""

from __future__ import annotations

import dataclasses

import pytest

from hookcli.formats.html.data.layers import layers
from hookcli.formats.html.data.references import References
from hookcli.report.memory import CallMemory
from hookcli.report.report import UncalledRow
from hookcli.report.values import Leaf
from tests.formats.checks import row as check
from tests.formats.fabricate import H, layer, parameter, report, stats

CALLS = (
    layer(0, "", "Net", None),
    layer(1, "body", "Block", 0, output_grad=stats(0.12345678)),
    layer(2, "body.fc", "Linear", 1, flops=24, activation_bytes=32),
    layer(3, "body.fc", "Linear", 1, call=1, output_grad=stats("nan")),
    layer(5, None, "Made", 1),
)


def table(calls=CALLS, **more):
    made = report("inspect", layers=calls, **more)
    return layers(made, References(made))


def texts(column):
    return [None if at < 0 else column["texts"][at] for at in column["at"]]


def test_a_row_for_each_call_in_the_order_of_the_run():
    made = table()
    assert made["count"] == 5
    assert texts(made["name"]) == ["", "body", "body.fc", "body.fc", None]
    assert made["call"] == [0, 0, 0, 1, 0]
    assert made["order"] == [0, 1, 2, 3, 5]
    assert texts(made["type"]) == ["Net", "Block", "Linear", "Linear", "Made"]


def test_a_parent_is_a_row_and_not_an_order():
    later = tuple(
        dataclasses.replace(
            row, order=row.order + 10, parent=None if row.parent is None else row.parent + 10
        )
        for row in CALLS
    )
    assert table(later)["parent"] == table()["parent"] == [-1, 0, 1, 1, 1]


def test_a_module_that_never_ran_is_under_the_nearest_module_that_did():
    idle = [
        UncalledRow(name, "Linear", "net.py:9") for name in ("body.a.b", "x", "body.fc.y", "x.z")
    ]
    made = table(uncalled=tuple(idle))
    assert made["count"] == 9
    assert made["parent"][5:] == [1, 0, 2, 6]  # x.z is under x, which never ran either
    assert made["call"][5:] == [-1] * 4
    assert texts(made["status"])[5:] == ["uncalled"] * 4
    assert texts(made["place"])[5:] == ["net.py:9"] * 4
    for name in ("order", "training", "own", "parameters", "flops", "activation", "grad_norm"):
        assert made[name][5:] == [None] * 4


def test_a_root_that_never_ran_has_no_parent():
    made = table(
        calls=(), uncalled=(UncalledRow("", "Net", None), UncalledRow("fc", "Linear", None))
    )
    assert made["parent"] == [-1, 0]


@pytest.mark.parametrize("row", range(2))
def test_a_figure_that_is_not_known_is_null(row):
    made = table()
    assert [made[name][row] for name in ("flops", "saved", "peak", "output_norm")] == [None] * 4


def test_figures_of_costs_memory_and_norms():
    first = dataclasses.replace(CALLS[0], memory=CallMemory(12, 40, 50), stats=stats(2.0))
    made = table((first, *CALLS[1:]))
    assert (made["saved"][0], made["peak"][0]) == (12, 40)
    assert made["output_norm"] == [2.0, None, None, None, None]
    assert made["flops"] == [None, None, 24, None, None]
    assert made["activation"] == [None, None, 32, None, None]
    assert made["grad_norm"] == [None, 0.123457, None, "nan", None]  # six digits


def test_a_status_says_all_that_is_wrong_or_unusual():
    calls = (
        CALLS[0],
        dataclasses.replace(CALLS[1], notes=("raised ValueError: no",)),
        dataclasses.replace(CALLS[2], shared_with=("head.weight",), recomputed=True),
        CALLS[3],
        CALLS[4],
    )
    checks = (
        check("dead_layer", "body.fc", severity="warning"),
        check("dead_layer", "body.fc", severity="warning"),
        check("non_finite", "body", severity="error"),
        check("budget", "", status="pass"),
        check("stride", "nothing.here", severity="error"),
    )
    assert texts(table(calls, checks=checks)["status"]) == [
        "", "error raised", "warning recomputed shared", "", "unregistered",
    ]  # fmt: skip


def test_a_check_of_a_parameter_is_that_of_the_module_that_owns_it():
    finding = check("missing_gradient", "body.fc.weight")
    made = table(checks=(finding,), parameters=(parameter("body.fc.weight", (2, 2)),))
    assert texts(made["status"]) == ["", "", "error", "", "unregistered"]


def test_tensors_are_listed_if_they_have_figures():
    measured = Leaf(".x\u202e", (2, 4), "float32", stats=stats(1.5))
    made = table((CALLS[0], dataclasses.replace(CALLS[1], outputs=(measured, H))))
    assert set(made["tensors"]) == {"1"}
    first, second = made["tensors"]["1"]["output"]
    assert first[:3] == [".x\\u202e", "[2, 4]", "float32"]
    assert first[3][1] == 1.5
    assert second[3:] == [None, None]


def test_names_and_notes_cannot_change_the_text_around_them():
    odd = layer(0, "a\u202eb", "Net\x1b[31m", None, shared_with=("\u2066s",), notes=("\x07n",))
    made = table((dataclasses.replace(odd, aliases=("\u200fz",)),))
    assert texts(made["name"]) == ["a\\u202eb"]
    assert "\x1b" not in made["type"]["texts"][0]
    assert (made["aliases"]["0"], made["shared_with"]["0"], made["notes"]["0"]) == (
        ["\\u200fz"], ["\\u2066s"], ["\\x07n"],
    )  # fmt: skip

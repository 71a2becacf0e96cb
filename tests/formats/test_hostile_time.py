"""Reports with hostile names: the work grows with the length, and not with its square.

Work is counted, not timed: function calls, those of C functions too. What runs inside one call of
C (a regex that backtracks) is held by sizes for which the square would take minutes.
"""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import sys

import pytest
from hypothesis import example, given, settings, strategies as st

from hookcli.formats.grads import document as grads
from hookcli.formats.inspect.cells import Caller
from hookcli.formats.parts import text
from hookcli.formats.parts.grid import shrink
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.outputs.escapes import markdown as quote
from hookcli.report.report import ErrorInfo, UncalledRow
from hookcli.text import closest
from tests.formats.checks import row
from tests.formats.fabricate import Leaf, event, layer, parameter, report, stats

COMMANDS = ("inspect", "grads", "trace", "check")
TIMES = {"unit": "us", "phases": [], "calls": [], "nodes": [], "events": []}
LENGTH = 5_000
NAMES = {
    "one word": "a",
    "dots": ".",
    "parts": "a.",
    "slashes": "/",
    "backslashes": "\\",
    "control characters": "\x1b[31m",
    "zero width": "\u200d",
    "wide": "漢",
    "combining": "e\u0301",
    "brackets": "[",
    "numbers": ".1",
    "words": "a ",
    "lines": "\n",
    "colons": ":1",
    "underscores": "_a",
    "packages": "/site-packages",
    "surrogates": "\ud800",
    "commands": "##[",
}


def named(name):
    """A report in which every text is hostile."""
    leaf = Leaf(name, (2, 3), name)
    layers = [layer(0, "", "Net", None), layer(1, name, name, 0, inputs=(leaf, leaf))]
    layers.append(layer(2, f"{name}x", name, 1, notes=(name,)))
    layers = [dataclasses.replace(one, place=name, aliases=(f"{name}y",)) for one in layers]
    weights = [
        dataclasses.replace(
            parameter(f"{a}.{name}.w", (4,), grad=stats(0.5, nans=1), shared_with=(f"z.{name}.w",)),
            dtype=name,
            module_type=name,
        )
        for a in "bc"
    ]
    statuses = ("fail", "pass", "skip", "error")
    return {
        "layers": tuple(layers),
        "parameters": tuple(weights),
        "events": (
            event(0, "forward", "forward_pre", name, 0, (leaf,)),
            event(1, "forward", "forward", name, 0, (leaf,), node=name),
        ),
        "checks": tuple(
            row(rule, name, one, message=f"{name} said", place=name, value=name, limit=name)
            for rule, one in itertools.product(("finite", name), statuses)
        ),
        "uncalled": (UncalledRow(name, name, name),),
        "warnings": (name,),
        "error": ErrorInfo("forward", name, 0, (), name, name, name),
        "timings": TIMES,
    }


def calls_of(function):
    """How many functions it calls."""
    count = 0

    def tell(_frame, what, _argument):
        nonlocal count
        count += what in {"call", "c_call"}

    sys.setprofile(tell)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.timeout(200)
@pytest.mark.parametrize("unit", NAMES.values(), ids=NAMES)
def test_a_long_name_is_drawn_in_every_format(unit):
    held = named(unit * (LENGTH // len(unit)))
    for command in COMMANDS:
        for name, form in FORMATS.items():
            draw = form.files if form.writes_folder else form.render
            assert draw(report(command, **held), View(width=80)), (command, name)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_calls_do_not_depend_on_how_wide_a_cell_is(command):
    for width in (80, 200):
        short, long = (
            calls_of(
                lambda name=name: FORMATS["table"].render(
                    report(command, **named(name)), View(width)
                )
            )
            for name in ("a" * 3_000, "a" * 30_000)
        )
        assert long < 1.5 * short


def deep(levels):
    """A call in a call in a call, and a parameter as deep."""
    layers = tuple(
        dataclasses.replace(layer(i, f"n{i}", "T", i - 1 if i else None), depth=i)
        for i in range(levels)
    )
    opened = [event(i, "forward", "forward_pre", f"n{i}", 0) for i in range(levels)]
    closed = [event(levels + i, "forward", "forward", f"n{i}", 0) for i in reversed(range(levels))]
    weight = parameter("a." * levels + "w", (2,), grad=stats(1.0))
    return {"layers": layers, "events": (*opened, *closed), "parameters": (weight,)}


def nodes(levels):
    """The timings of a backward through all of it."""
    return {**TIMES, "calls": [[i, 0, i * 0.1, 9e9] for i in range(levels)],
            "nodes": [[i, "N", 0, 1e6 + i, 1e6 + i + 0.5] for i in range(levels)]}  # fmt: skip


@pytest.mark.parametrize("format", ["table", "tree", "markdown"])
@pytest.mark.parametrize("command", ["inspect", "grads", "trace"])
def test_deep_trees_are_written_in_proportion(command, format):
    one, two = (
        len(FORMATS[format].render(report(command, **deep(levels)), View()))
        for levels in (1500, 3000)
    )
    assert two < 2.5 * one


def test_the_slices_of_a_deep_backward_grow_in_proportion():
    one, two = (
        calls_of(
            lambda n=n: FORMATS["perfetto"].render(
                report("trace", **deep(n), timings=nodes(n)), View()
            )
        )
        for n in (600, 1200)
    )
    assert two < 3.2 * one


@pytest.mark.parametrize("format", ["table", "tree", "markdown"])
@pytest.mark.parametrize("command", COMMANDS)
def test_one_long_cell_does_not_widen_all_rows(command, format):
    long, count = "a" * 100_000, 1000
    held = {
        "layers": tuple(layer(i, f"n{i}", "T" if i else long, None) for i in range(count)),
        "events": tuple(event(i, "forward", "tensor" if i else long, "t") for i in range(count)),
        "parameters": tuple(
            dataclasses.replace(
                parameter(f"{'p' if i else long}{i}", (2,), grad=stats(1.0)),
                dtype="f" if i else long,
            )
            for i in range(count)
        ),
        "checks": tuple(row(f"r{i}" if i else long) for i in range(count)),
    }
    drawn = FORMATS[format].render(report(command, **held), View(width=80))
    assert len(drawn) < 10 * len(long) + 4000 * count


def test_shapes_of_very_many_sizes_are_cut():
    sizes = (1,) * 200_000
    assert text.leaf_text([Leaf("", sizes, "f")], 20) == "[1,1,1,1,1,1,1,1,…]"


def test_aliases_are_looked_up_once():
    aliases = tuple(f"y{i}" for i in range(3000))
    caller = dataclasses.replace(layer(0, "x", "N", None), aliases=aliases)
    rows = (caller, *(layer(i + 1, f"q{i}", "N", 0) for i in range(3000)))
    drawn = FORMATS["tree"].render(report("inspect", layers=rows), View())
    assert "q2999 (N)" in drawn
    assert Caller(caller).below("y7.fc") == "fc"


names = st.text("ab.", max_size=6)


@settings(deadline=None)
@given(names, st.lists(names, max_size=4), st.lists(names, min_size=1, max_size=4))
def test_a_short_name_leaves_out_the_first_name_that_is_before_it(own, aliases, below):
    caller = Caller(dataclasses.replace(layer(0, own, "N", None), aliases=tuple(aliases)))
    for name in below:
        homes = [f"{home}." for home in (own, *aliases)] if own else []
        expected = next((name[len(home) :] for home in homes if name.startswith(home)), None)
        assert caller.below(name) == expected


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=5), st.integers(-3, 120)
)
def test_columns_shrink_as_if_one_character_at_a_time(columns, excess):
    widths, least = [w for w, _ in columns], [n for _, n in columns]
    expected, left = list(widths), excess
    while left > 0 and (wide := [i for i, w in enumerate(expected) if w > least[i]]):
        expected[max(wide, key=lambda i: expected[i])] -= 1
        left -= 1
    assert (shrink(widths, least, excess), widths) == (left, expected)


pieces = st.lists(
    st.sampled_from(["/site-packages", "\\dist-packages", "/", "x", "\n", "\\"]), max_size=7
)


@settings(deadline=None)
@given(pieces.map("".join))
def test_a_place_leaves_out_the_way_to_the_last_installed_package(path):
    lines = []
    for line in path.split("\n"):
        ends = [
            i + len("/site-packages/")
            for i in range(len(line))
            if line[i : i + 1] in {"/", "\\"}
            and line[i + 1 : i + 14] in {"site-packages", "dist-packages"}
            and line[i + 14 : i + 15] in {"/", "\\"}
        ]
        lines.append(line[ends[-1] :] if ends else line)
    assert text.place(path) == "\\n".join(lines)


@settings(deadline=None)
@given(st.text("ab[]_*2, \\|#(:\n/<&", max_size=14))
@example("[*] and [*]")
def test_runs_of_marks_are_quoted_one_by_one(said):
    once = quote(said)
    assert once.replace("\\\\", "").count("\\\\") == 0
    for mark in "*|#`~":
        assert once.count(f"\\{mark}") == said.count(mark)


@settings(deadline=None)
@given(st.lists(names, min_size=1, max_size=5), st.lists(names, min_size=1, max_size=5))
def test_names_are_told_apart_by_what_they_have_not_in_common(one, other):
    a, b = ".".join(one), ".".join(other)
    expected = a, b
    while "." in a and "." in b and a.rpartition(".")[2] == b.rpartition(".")[2]:
        a, b = a.rpartition(".")[0], b.rpartition(".")[0]
        expected = a, b
    assert grads._apart(".".join(one), ".".join(other)) == expected


def test_hints_do_not_compare_long_names():
    names = [f"{'ab' * 2500}{i}" for i in range(500)]
    assert closest("ba" * 2500, names) == []
    assert closest("conv", ["convv", *names]) == ["convv"]


@settings(deadline=None)
@given(st.text("abc", max_size=8), st.lists(st.text("abc", max_size=8), max_size=8))
def test_hints_are_those_of_difflib(word, names):
    for count, cutoff in ((1, 0.6), (3, 0.5)):
        expected = difflib.get_close_matches(word, names, count, cutoff)
        assert closest(word, names, count, cutoff) == expected

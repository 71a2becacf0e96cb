"""Colour says nothing that the text does not say: without its codes a report is the plain one."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from hookcli.cli.output import Target, deliver
from hookcli.comparison.compare import compare
from hookcli.console import Console
from hookcli.formats.registry import FORMATS, formats_of
from hookcli.formats.view import View
from hookcli.report.report import ErrorInfo
from tests.formats.checks import BROKEN, CHECK, row
from tests.formats.fabricate import (
    GRADS,
    LAYERS,
    TRACE,
    H,
    X,
    event,
    layer,
    parameter,
    report,
    stats,
)

CODES = re.compile(r"\x1b\[\d+m")
TEXTS = [name for name, row in FORMATS.items() if not row.writes_folder]
FOR_TERMINALS = ("table", "tree")
ERROR = ErrorInfo("forward", "fc", 0, (), "ValueError", "no", "net.py:13")

names = st.text("a.│├└─…–|`- é卷\x1b\u202e\u00a0\n", max_size=30) | st.sampled_from(
    ["nan", "inf", "–", "-", "raised", "ok", "none", " ", "  x  ", "a" * 300]
)
norms = st.none() | st.floats(0, 1e9) | st.sampled_from(["nan", "inf", "-inf", 0.0])
statuses = st.sampled_from(["ok", "none", "zero", "non_finite", "frozen", None])


@st.composite
def layers(draw):
    rows = [layer(0, "", "Net", None, outputs=())]
    for order in range(1, draw(st.integers(1, 8))):
        parent = draw(st.integers(0, order - 1))
        raised = draw(st.booleans())
        made = layer(
            order, draw(names), draw(names) or "Net", parent, outputs=() if raised else (H,),
            notes=("raised ValueError",) if raised else (), output_grad=stats(draw(norms)),
        )  # fmt: skip
        rows.append(replace(made, depth=rows[parent].depth + 1))
    return tuple(rows)


@st.composite
def gradients(draw):
    found = [
        parameter(f"{name}.{i}", (4, 3), draw(statuses), grad=stats(draw(norms)), ratio=draw(norms))
        for i, name in enumerate(draw(st.lists(names, max_size=20)))
    ]
    return tuple(found)


@st.composite
def checks(draw):
    words = st.tuples(
        st.sampled_from(["pass", "fail", "skip", "error"]),
        st.sampled_from(["error", "warning"]),
    )
    return tuple(
        row("finite", name, status, severity, message=name or "said", value=value)
        for name, (status, severity), value in draw(
            st.lists(st.tuples(names, words, norms), max_size=8)
        )
    )


@st.composite
def events(draw):
    return tuple(
        event(i, "forward", draw(st.sampled_from(["forward_pre", "forward"])), draw(names), 0,
              (X,), recomputed=draw(st.booleans()))
        for i in range(draw(st.integers(0, 9)))
    )  # fmt: skip


@st.composite
def reports(draw, command=None):
    return report(
        command or draw(st.sampled_from(["inspect", "grads", "trace", "check"])),
        layers=draw(layers()),
        parameters=draw(gradients()),
        events=draw(events()),
        checks=draw(checks()),
        warnings=tuple(draw(st.lists(names, max_size=2))),
        error=draw(st.sampled_from([None, ERROR])),
    )


views = st.builds(
    View,
    width=st.sampled_from([80, 200]) | st.integers(1, 300),
    unicode=st.booleans(),
    only=st.none() | st.just("*"),
    fail_on=st.sampled_from(["never", "warning", "error"]),
)


def hold(draw, name, view):
    """That colour changes nothing but codes, and those in formats for terminals alone."""
    plain, painted = draw(replace(view, color=False)), draw(replace(view, color=True))
    assert "\x1b" not in plain
    assert CODES.sub("", painted) == plain
    if name not in FOR_TERMINALS:
        assert painted == plain


@settings(deadline=None, max_examples=80)
@given(reports(), views)
def test_the_text_of_a_report_is_the_same_without_colour(found, view):
    for name in TEXTS:
        if name != "perfetto":
            hold(lambda view, name=name: FORMATS[name].render(found, view), name, view)


@settings(deadline=None, max_examples=30)
@given(reports("grads"), reports("grads"), st.booleans(), views)
def test_the_text_of_a_diff_is_the_same_without_colour(a, b, same_names, view):
    if same_names:
        b = replace(b, layers=a.layers)
    diff = compare(replace(a, error=None), replace(b, error=None))
    for name in formats_of("diff"):
        hold(lambda view, name=name: FORMATS[name].render(diff, view), name, view)


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("name", [name for name in TEXTS if name != "perfetto"])
@pytest.mark.parametrize(
    "found",
    [GRADS, TRACE, CHECK, BROKEN, report("inspect", layers=LAYERS)],
    ids=lambda found: found.command,
)
def test_colour_is_where_the_command_s_formats_are_for_terminals(found, name, width):
    view = View(width=width)
    hold(lambda view: FORMATS[name].render(found, view), name, view)
    painted = FORMATS[name].render(found, replace(view, color=True))
    assert ("\x1b" in painted) == (name in FOR_TERMINALS)


def painted(found, form="table", **view):
    return FORMATS[form].render(found, View(width=200, color=True, **view))


@pytest.mark.parametrize("form", FOR_TERMINALS)
def test_statuses_of_gradients_stand_out_by_their_kind(form):
    text = painted(GRADS, form)
    for part in (
        "\x1b[1m\x1b[31mnon-finite\x1b[0m",
        "\x1b[33mzero\x1b[0m",
        "\x1b[33mnone: the loss does not reach it\x1b[0m",
        "\x1b[2mfrozen\x1b[0m",
        "\x1b[32mok\x1b[0m",
        "\x1b[1m\x1b[31mnan\x1b[0m",
        "\x1b[2m–\x1b[0m",
    ):
        assert part in text, part
    assert "\x1b[1m\x1b[31mscale" in text  # the row's name
    assert "\x1b[33mfc.bias" in text or "\x1b[33mbias" in text


def test_a_parameter_that_is_called_nan_is_no_number():
    text = painted(report("grads", parameters=(parameter("nan", (1,), grad=stats(1.0)),)))
    assert "\x1b[31mnan" not in text


def test_the_largest_and_the_smallest_of_many_norms_are_marked():
    many = tuple(parameter(f"p{i:02}", (1,), grad=stats(2.0**i)) for i in range(16))
    for form in FOR_TERMINALS:
        text = painted(report("grads", parameters=many), form)
        marked = re.findall(r"\x1b\[36m([^\x1b]+)\x1b", text)
        assert marked == ["1", "2", "4", "8192", "16384", "32768"]
        few = painted(report("grads", parameters=many[:8]), form)
        assert "\x1b[36m" not in few


def test_findings_have_the_colour_of_their_severity():
    found = (row("a", "x"), row("b", "x", severity="warning"), row("c", "x", severity="info"),
             row("d", "x", "error"), row("e", "x", "pass"), row("f", "x", "skip"))  # fmt: skip
    text = painted(report("check", checks=found))
    for line in (
        "\x1b[31mfail\x1b[0m        a",
        "\x1b[33mwarning\x1b[0m     b",
        "\x1b[36mwarning\x1b[0m     c",
        "\x1b[31mnot judged\x1b[0m  d",
        "\x1b[32mpass\x1b[0m        e",
        "\x1b[2mskip\x1b[0m        f",
        "\x1b[31m\x1b[1mFAILED",
    ):
        assert line in text, line
    passed = painted(report("check", checks=found[4:]))
    assert "\x1b[32m\x1b[1mPASSED" in passed
    page = painted(report("inspect", layers=LAYERS, checks=found[:2]))
    assert "\x1b[31merror:\x1b[0m a," in page
    assert "\x1b[33mwarning:\x1b[0m b," in page


@pytest.mark.parametrize("form", FOR_TERMINALS)
def test_guides_recede_and_a_call_that_raised_does_not(form):
    raised = replace(LAYERS[2], outputs=(), notes=("raised ValueError",))
    text = painted(report("inspect", layers=(*LAYERS[:2], raised)), form)
    assert "\x1b[2m├─\x1b[0m fc" in text
    assert "\x1b[2m└─\x1b[0m head" in text
    assert "\x1b[31mraised\x1b[0m" in text


def test_the_first_call_that_differs_stands_out():
    a = report("inspect", layers=LAYERS)
    b = replace(a, layers=(LAYERS[0], replace(LAYERS[1], outputs=(X,)), LAYERS[2]))
    diff = compare(a, b)
    text = FORMATS["table"].render(diff, View(width=200, color=True))
    assert "\x1b[1m\x1b[31mfc (Linear)\x1b[0m" in text
    assert text.count("\x1b[1m\x1b[31m") == 1
    assert "\x1b[31mFirst difference:\x1b[0m" in text
    assert "\x1b[31m\x1b[1mDIFFERENT" in text


@pytest.mark.parametrize(("color", "in_files"), [("auto", False), ("always", True)])
def test_a_file_has_colour_only_where_it_was_asked_for(tmp_path, capsysbinary, color, in_files):
    console, view = Console(color=color), View(color=True)  # as at a terminal
    files = [tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "c.md"]
    forms = ("table", "tree", "markdown")
    targets = [Target(form, file) for form, file in zip(forms, files, strict=True)]
    deliver(GRADS, (*targets, Target("table", None)), view, console)
    assert b"\x1b[1m" in capsysbinary.readouterr().out
    assert ["\x1b" in file.read_text() for file in files] == [in_files, in_files, False]
    diff = compare(report("inspect", layers=LAYERS), report("inspect", layers=LAYERS[:2]))
    deliver(diff, (targets[0], targets[2], Target("table", None)), view, console)
    assert b"\x1b[1m" in capsysbinary.readouterr().out
    assert ["\x1b" in file.read_text() for file in files[::2]] == [in_files, False]

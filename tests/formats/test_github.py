"""Workflow commands: what GitHub's runner makes of them, and the summary of a step."""

from __future__ import annotations

import re

import pytest

from hookcli.formats.ci.github import command
from hookcli.formats.ci.step_summary import brief
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.rules.catalogue import CATALOGUE
from tests.formats.checks import BROKEN, CHECK, Runner, row
from tests.formats.fabricate import PARAMETERS, parameter, report, stats
from tests.formats.test_formats import HOSTILE
from tests.formats.training_reports import GAN

HERE = {"root": "/repo", "start": "/repo"}


def said(text, rule):
    """A finding's message, with how it is mended."""
    return f"{text}\nto fix it: {CATALOGUE[rule].mend}"


def read(found=CHECK, **view):
    return Runner().read(FORMATS["github"].render(found, View(**{**HERE, **view})))


def test_annotations_stand_on_their_lines_the_worst_first():
    assert read().annotations == [
        (
            "error",
            {"file": "c.yaml", "line": "3", "title": "hookcli: output_shape, not judged"},
            "head: no module that ran matches 'head'",
        ),
        (
            "error",
            {"file": "sub/net.py", "line": "12", "title": "hookcli: finite"},
            said("fc: the output of fc (Linear) contains 4 NaN in 4 elements", "finite"),
        ),
        (
            "warning",
            {"file": "sub/net.py", "line": "9", "title": "hookcli: grad_exists"},
            said("spare: weight, bias never got one", "grad_exists"),
        ),
        (
            "warning",
            {"file": "c.yaml", "line": "9", "title": "hookcli: unused_suppression"},
            "gone.*: take it out",
        ),
    ]


def test_the_last_line_is_the_verdict():
    text = FORMATS["github"].render(CHECK, View(**HERE))
    assert text.endswith("\nFAILED: 1 failed, 2 warned, 1 not judged, 3 skipped, 1 passed\n")


def test_what_passed_is_in_a_group_that_is_closed():
    text = FORMATS["github"].render(CHECK, View(**HERE))
    assert read().groups == 0
    group = text.partition("::group::")[2].partition("::endgroup::")[0].splitlines()
    assert group[0] == "hookcli: 3 skipped, 1 passed"
    assert group[-1] == "pass: deterministic: two runs agree"
    assert read().others == []


def test_a_model_that_raised_comes_first():
    [found] = read(BROKEN).annotations
    assert found == (
        "error",
        {"file": "sub/net.py", "line": "13", "title": "hookcli: the model failed"},
        "ValueError in forward, in fc: no way",
    )


def test_a_file_outside_the_repository_is_told_in_words():
    found = report("check", checks=(row(place="/usr/lib/site-packages/zoo/net.py:7"),))
    [(_, properties, text)] = read(found).annotations
    assert properties == {"title": "hookcli: finite"}
    assert text == said("the model: said\nat zoo/net.py:7", "finite")


@pytest.mark.parametrize(
    ("errors", "warnings", "more"),
    [
        (10, 10, None),
        (11, 3, "1 more error"),
        (25, 12, "15 more errors and 2 more warnings"),
    ],
)
def test_what_github_leaves_out_is_said(errors, warnings, more):
    rows = [row(target=f"w{i}", severity="warning") for i in range(warnings)]
    rows += [row(target=f"e{i}") for i in range(errors)]
    run = read(report("check", checks=tuple(rows)))
    notices = [text for name, _, text in run.kept if name == "notice"]
    expected = (
        [] if more is None else [f"GitHub shows 10 of a kind per step: see the log for {more}"]
    )
    assert notices == expected
    assert [text.split(":")[0] for name, _, text in run.kept if name == "error"] == [
        f"e{i}" for i in range(min(errors, 10))
    ]


def test_values_are_escaped_as_the_toolkit_does():
    text = command("error", "50 %\r\nof: a, b", file="a,b:c%.py", line=3, title=None)
    assert text == "::error file=a%2Cb%3Ac%25.py,line=3::50 %25%0D%0Aof: a, b"
    assert Runner().read(text).annotations == [
        ("error", {"file": "a,b:c%.py", "line": "3"}, "50 %\r\nof: a, b")
    ]


def test_a_message_is_no_longer_than_the_runner_takes():
    [(_, _, text)] = read(report("check", checks=(row(message="%" * 9000),))).annotations
    assert len(text) == 4000


MORE = ["%0A::error::x", "a,line=9", "file=x,y::z", "::endgroup::", "::add-mask::a", "\r::x::y"]


@pytest.mark.parametrize("name", [*HOSTILE.values(), *MORE])
def test_no_name_begins_a_command_or_changes_one(name):
    rows = tuple(
        row(name, name, status, message=name, place=f"{name}:3")
        for status in ("fail", "error", "skip", "pass")
    )
    run = read(report("check", checks=rows))
    assert run.others == []
    assert run.groups == 0
    assert [kind for kind, _, _ in run.annotations] == ["error", "error"]
    for _, properties, text in run.annotations:
        assert set(properties) <= {"file", "line", "title"}
        assert properties["line"] == "3"
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e]", text)


def test_a_summary_has_the_verdict_and_what_failed():
    text = brief(CHECK, View(**HERE))
    assert text.startswith("### Net: FAILED: 1 failed, 2 warned, 1 not judged, 3 skipped, 1 passed")
    assert "- **fail** finite, fc: the output of fc (Linear) contains 4 NaN in 4 elements" in text
    assert "<details><summary>3 skipped, 1 passed</summary>" in text
    assert "more finding" not in text


def test_a_summary_keeps_within_github_s_limit():
    many = report("check", checks=tuple(row(target=f"m{i}") for i in range(5000)))
    text = brief(many, View(**HERE))
    assert "4,950 more findings are in the log." in text
    assert len(text) < 20_000
    wild = report("check", checks=tuple(row("<" * 9**6, "<" * 9**6) for _ in range(9)))
    text = brief(wild, View(**HERE))
    assert text.startswith("### Net: FAILED: 9 failed")
    assert len(text.encode()) <= 2**20


def test_a_summary_has_the_gradients_of_the_report_as_bars():
    found = report("check", parameters=PARAMETERS)
    lines = brief(found, View(**HERE)).split("\n")
    table = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("|") and not line.startswith("|:")
    ]
    assert "**Gradients**" in lines
    assert table == [
        ["Parameter", "Gradient norm", "1e-1..1e0", "Status"],
        ["fc.weight", "0.5", "━" * 14, "ok"],  # 20 cells * (log10(0.5) + 1) = 13.98
        ["fc.bias", "–", "", "all zeros"],
        ["head.bias", "–", "", "no gradient"],
        ["scale", "–", "", "NaN"],
    ]


def test_of_many_gradients_a_summary_has_the_absent_the_smallest_and_the_largest():
    rows = [parameter(f"p{i}", (4,), grad=stats(10.0 ** (i % 7 + i / 100))) for i in range(60)]
    rows += [parameter(f"n{i}", (4,), "none") for i in range(9)]
    text = brief(report("check", parameters=tuple(rows)), View(**HERE))
    shown = re.findall(r"^\| ([pn]\d+) ", text, re.MULTILINE)
    by_norm = sorted(rows[:60], key=lambda row: row.grad["norm"])
    wanted = {row.name for row in (*by_norm[:4], *by_norm[-4:])} | {f"n{i}" for i in range(7)}
    assert set(shown) == wanted
    assert len(shown) == 15
    assert "15 of 69 parameters" in text


def test_names_of_gradients_are_escaped_in_a_summary():
    row = parameter(f"{HOSTILE}|<b>", (4,), grad=stats(1.0))
    text = brief(report("check", parameters=(row,)), View(**HERE))
    assert "<b>" not in text
    lines = [line for line in text.split("\n") if "&lt;b&gt;" in line]
    assert len(lines) == 1


def test_a_summary_without_gradients_has_no_table():
    assert "**Gradients**" not in brief(CHECK, View(**HERE))


def test_the_summary_of_a_training_has_a_table_for_each_record():
    text = brief(GAN, View(**HERE))
    assert text.count("**Gradients**") == 2
    assert "#### netG (Generator, Adam)" in text

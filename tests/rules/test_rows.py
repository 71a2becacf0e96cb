"""What a row says beside the rule's own words: what it looked at, and why it does not count."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from hookcli.report.findings import CheckRow, Measurement, PassedOver
from hookcli.report.schema import from_json
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.judge import UNUSED, judge_report, row_of
from hookcli.rules.rule import RuleFinding
from hookcli.spec.checks import CheckSpec, Suppression
from tests.formats.fabricate import LAYERS, parameter, report

PARAMETERS = (parameter("fc.weight", (4, 3)), parameter("head.bias", (1,)))
NET = report("check", layers=LAYERS, parameters=PARAMETERS)


def shape(size, at="fc"):
    return CheckSpec("output_shape", {"at": at, "shape": (2, size)})


@pytest.mark.parametrize(
    ("check", "target"),
    [
        (shape(4), "fc"),
        (CheckSpec("output_shape", {"shape": (2, 1)}), ""),
        (CheckSpec("grad_exists", {"at": ("fc.*", "head.*")}), "fc.*, head.*"),
    ],
)
def test_a_row_that_passed_names_what_its_check_looks_at(check, target):
    [row] = judge_report(NET, (check,)).checks
    assert (row.status, row.target) == ("pass", target)


def test_a_name_for_what_passed_changes_no_fingerprint():
    named, whole = (
        judge_report(NET, (check,)).checks[0]
        for check in (shape(4), CheckSpec("output_shape", {"shape": (2, 1)}))
    )
    assert named.fingerprint == whole.fingerprint


def test_a_finding_that_does_not_count_says_by_what_and_its_json_comes_back():
    why = Suppression("output_shape", "f*", "until v2", "c.yaml:3: suppress[0]")
    [found] = judge_report(NET, (shape(5),)).checks
    over = judge_report(NET, (shape(5),), (why,))
    known = judge_report(NET, (shape(5),), (), {found.fingerprint})
    assert found.passed_over is None
    assert over.checks[0].passed_over == PassedOver("suppression", "until v2", why.place)
    assert known.checks[0].passed_over == PassedOver("baseline")
    from hookcli.report.encode import to_json

    for one in (over, known):
        assert from_json(to_json(one)).checks == one.checks
    assert "passed_over" not in to_json(judge_report(NET, (shape(5),)))


def test_a_row_has_everything_that_a_finding_has():
    mark = hashlib.sha256(b"grad_exists|fc|none").hexdigest()[:16]
    finding = RuleFinding("fail", "fc", "none", "m", 1, 2, "n.py:3", cause="cut_off", advice="try",
                          step=4)  # fmt: skip
    row = CheckRow("grad_exists", "fc", "fail", "warning", 1, 2, "m", "n.py:3", mark,
                   cause="cut_off", advice="try", step=4)  # fmt: skip
    rule, check = CATALOGUE["grad_exists"], CheckSpec("grad_exists", place="c.yaml:1")
    assert row_of(rule, check, finding) == row
    own = row_of(rule, check, replace(finding, severity="error", fingerprint="own", cause=""))
    assert own == replace(row, severity="error", fingerprint="own", cause=None)
    severe = replace(check, severity="error")
    assert row_of(rule, severe, replace(finding, severity="warning")).severity == "error"
    for status, place in (("error", "c.yaml:1"), ("fail", None), ("skip", None), ("pass", None)):
        assert row_of(rule, check, replace(finding, status=status, place=None)).place == place
    assert row_of(rule, CheckSpec("grad_exists"), replace(finding, place=None)).place is None


@pytest.mark.parametrize(
    ("status", "target"), [("pass", "fc.*"), ("skip", "fc.*"), ("fail", ""), ("error", "")]
)
def test_only_what_passed_or_was_skipped_has_the_globs_of_the_check_as_its_target(status, target):
    finding = RuleFinding(status, "", "", "m")
    check = CheckSpec("grad_exists", {"at": ("fc.*",)})
    assert row_of(CATALOGUE["grad_exists"], check, finding).target == target
    named = replace(finding, target="fc")
    assert row_of(CATALOGUE["grad_exists"], check, named).target == "fc"


def test_an_unused_suppression_is_a_whole_row():
    why = Suppression("output_shape", "f*", "until v2", "c.yaml:3")
    _, row = judge_report(NET, (shape(4),), (why,)).checks
    mark = hashlib.sha256(b"unused_suppression|f*|output_shape").hexdigest()[:16]
    message = "unused suppression of output_shape at 'f*': remove it"
    assert row == CheckRow(UNUSED, "f*", "fail", "warning", 0, 1, message, "c.yaml:3", mark)


def test_all_findings_of_a_run_that_did_not_finish_are_told_if_one_failed():
    differ = {"compared": 1, "differ": ["output"], "largest": 0.5}
    rows = (Measurement("repeat_eval", "", None, differ, None),
            Measurement("repeat_train", "", None, {"why": "fake"}, None))  # fmt: skip
    made = replace(NET, measurements=rows, error="any")
    check = CheckSpec("deterministic", {"modes": ("eval", "train")})
    assert [row.status for row in judge_report(made, (check,)).checks] == ["fail", "skip"]


def test_rows_that_the_run_made_stay_unless_a_check_judges_them_again():
    made = CheckRow("neutral", "", "pass", "error", None, None, "m", None, "f")
    rows = made, replace(made, rule="hooks_fired"), replace(made, rule="output_shape")
    judged = judge_report(replace(NET, checks=rows), (shape(4), CheckSpec("hooks_fired")))
    assert [(row.rule, row.message) for row in judged.checks] == [
        ("neutral", "m"), ("output_shape", "the output of 1 call has shape [2, 4]"),
        ("hooks_fired", "every configured hook fired"),
    ]  # fmt: skip

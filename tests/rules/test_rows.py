"""What a row says beside the rule's own words: what it looked at, and why it does not count."""

from __future__ import annotations

import pytest

from hookcli.report.findings import PassedOver
from hookcli.report.schema import from_json
from hookcli.rules.judge import judge_report
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

"""What does not count: suppressions, and those that nothing needs; a baseline knows these too."""

from __future__ import annotations

from hookcli.rules.judge import UNUSED, judge_report
from hookcli.spec.checks import CheckSpec, Suppression
from tests.rules.judging import HERE, judge

REPORT = judge(f"{HERE / 'models.py'}:UnusedHead")
CHECKS = (CheckSpec("uncalled_modules"), CheckSpec("grad_exists"))


def of(*suppressions, known=()):
    made = [Suppression(rule, at, "a reason", f"c.yaml:{i}") for i, (rule, at) in
            enumerate(suppressions)]  # fmt: skip
    rows = judge_report(REPORT, CHECKS, made, known).checks
    return {(row.rule, row.target): row for row in rows}


def test_a_glob_covers_the_rule_s_own_targets_alone():
    rows = of(("uncalled_modules", "he*"))
    assert rows["uncalled_modules", "head"].status == "skip"
    assert rows["uncalled_modules", "head"].message.startswith("suppressed, a reason: Linear never")
    assert rows["grad_exists", "head"].status == "fail"


def test_one_that_covers_nothing_is_a_finding_at_its_own_line():
    row = of(("uncalled_modules", "gone.*"))[UNUSED, "gone.*"]
    assert (row.status, row.severity, row.place) == ("fail", "warning", "c.yaml:0")


def test_the_first_that_matches_is_used_and_the_next_is_idle():
    rows = of(("uncalled_modules", "*"), ("uncalled_modules", "head"))
    assert rows[UNUSED, "head"].status == "fail"


def test_an_idle_one_may_be_suppressed_and_that_one_is_then_used():
    rows = of(("uncalled_modules", "gone.*"), (UNUSED, "gone*"))
    assert rows[UNUSED, "gone.*"].status == "skip"
    assert [key for key in rows if key[0] == UNUSED] == [(UNUSED, "gone.*")]
    rows = of((UNUSED, "nothing"))
    assert rows[UNUSED, "nothing"].status == "fail"


def test_a_baseline_knows_idle_ones():
    row = of(("uncalled_modules", "gone.*"))[UNUSED, "gone.*"]
    again = of(("uncalled_modules", "gone.*"), known={row.fingerprint})[UNUSED, "gone.*"]
    assert (again.status, again.passed_over.by) == ("skip", "baseline")

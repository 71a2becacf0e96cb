"""The fingerprint of a finding about hooks: baselines keep it, however the message is worded."""

import dataclasses

from hookcli.report.recording import HookFinding, Recording
from hookcli.report.rows.measurements import checks

FINDING = HookFinding("hook_misuse", "fc", "forward edits output", "the hook changed", "a.yaml:3")


def fingerprint(**changes):
    recording = Recording()
    recording.findings = [dataclasses.replace(FINDING, **changes)]
    (row,) = checks(recording)
    return row.fingerprint


def test_words_lines_and_severity_are_not_part_of_the_fingerprint():
    same = {
        fingerprint(),
        fingerprint(message="the hook edited"),
        fingerprint(place="a.yaml:90"),
        fingerprint(severity="warning"),
    }
    assert len(same) == 1


def test_the_rule_the_target_and_the_problem_are():
    others = {
        fingerprint(),
        fingerprint(rule="hooks_fired"),
        fingerprint(target="fc2"),
        fingerprint(problem="forward returns"),
    }
    assert len(others) == 4

"""`--fail-on`: findings make the status 1 where that is asked, and never hide a failure."""

from __future__ import annotations

import dataclasses

import pytest

from hookcli.report.findings import CheckRow
from hookcli.report.report import ErrorInfo
from hookcli.worker import attempts
from hookcli.worker.attempts import WorkerResult
from tests.conftest import SAMPLES, attempt

NET = SAMPLES / "siamese.py"


def finding(severity, status="fail"):
    return CheckRow("misuse", "fc", status, severity, None, None, "it is misused", None, "f")


@pytest.fixture(scope="module")
def report():
    return attempt(NET, tensors="fake")


@pytest.fixture
def status(line, report, monkeypatch):
    """The status and stderr of a command whose run finds these."""

    def of(*arguments, checks=(), error=None, command="inspect"):
        found = dataclasses.replace(report, checks=tuple(checks), error=error)
        monkeypatch.setattr(attempts, "run", lambda *_: WorkerResult(found, ()))
        status, _, err = line(command, *arguments)
        return status, err

    return of


@pytest.mark.parametrize(
    ("level", "severity", "expected"),
    [
        (None, "error", 0), ("never", "error", 0), ("error", "error", 1), ("error", "warning", 0),
        ("warning", "warning", 1), ("warning", "error", 1),
    ],
)  # fmt: skip
def test_findings_fail_from_the_level_that_is_asked_for(level, severity, expected, status):
    flags = [] if level is None else ["--fail-on", level]
    found, err = status(NET, *flags, checks=[finding(severity)])
    assert found == expected
    assert err == (f"note: exit status 1: 1 finding with --fail-on {level}\n" * expected)


def test_what_passed_or_was_skipped_is_no_finding(status):
    checks = [finding("error", "pass"), finding("error", "skip")]
    assert status(NET, "--fail-on", "warning", checks=checks) == (0, "")


def test_a_quiet_command_fails_without_a_word(status):
    assert status(NET, "--fail-on", "error", "-q", checks=[finding("error")] * 2) == (1, "")


def test_the_file_says_so_too_and_the_flag_overrides_it(status, tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text(f"model: {NET}\nfail_on: warning\n")
    checks = [finding("warning")]
    assert status("-c", config, checks=checks)[0] == 1
    assert status("-c", config, "--fail-on", "never", checks=checks)[0] == 0


def test_a_model_that_failed_comes_before_its_findings(status):
    error = ErrorInfo("forward", None, None, (), "ValueError", "no", None)
    found, err = status(NET, "--fail-on", "error", checks=[finding("error")], error=error)
    assert found == 3
    assert err.startswith("error: ValueError in forward: no\n")

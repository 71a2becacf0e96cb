"""What is known of a run from its journal: its speed, its age, and whether it goes on."""

from __future__ import annotations

import dataclasses
import platform
import time

import pytest

from hookcli.cli.following.followed_run import FollowedRun, RunState
from hookcli.cli.following.run_view import curve, render
from hookcli.cli.training.saved_journal import read_judged, suppressions_of
from hookcli.formats.parts.sparkline import sparkline
from hookcli.formats.view import View
from hookcli.report.files import read_saved
from hookcli.report.journal.journal_entries import (
    final_line,
    header_line,
    report_line,
    steps_line,
)
from hookcli.report.steps import StepRow
from hookcli.report.training import ScriptInfo
from tests.comparison.trainings import record, training


@pytest.fixture
def journal(tmp_path):
    """Write a journal of steps that end at these seconds, written `ago` seconds before now."""

    def write(*seconds, ago=0.0, host=None, final=False, **more):
        script = ScriptInfo("train.py", (), False, "running", None)
        report = dataclasses.replace(
            training(record([1.0], {"fc.weight": 1.0})),
            script=script,
            diagnoses=None,
            examined=None,
        )
        at = time.time() - ago
        header = {"at": at, "host": host or platform.node(), "script": "train.py", **more}
        lines = [header_line(header), report_line(report, [0], at=at, up=0.0)]
        for step, up in enumerate(seconds):
            row = StepRow(step, 1, 1, 1.0 / (step + 1), 1.0, 0.1)
            counts = {"total": step + 1, "skipped": 0, "unwatched": 0, "every": 1}
            lines.append(steps_line(0, counts, [row], at=at, up=up))
        if final:
            ended = dataclasses.replace(script, ended="completed", status=0)
            lines.append(final_line(dataclasses.replace(report, script=ended), at=at, up=9.0))
        (tmp_path / "run.json.journal").write_bytes(b"".join(lines))
        return str(tmp_path / "run.json")

    return write


def test_the_speed_is_that_of_the_process_whatever_the_clock_does(journal):
    run = FollowedRun(journal(0.5, 1.0, 1.5, 2.0, ago=-3600))
    run.update()
    assert run.steps() == 4
    assert run.speed() == 2.0
    assert run.age() is None
    assert "the clock was set back" in render([run], View())


def test_a_run_without_a_living_process_was_killed(journal):
    run = FollowedRun(journal(1.0, ago=7200))
    assert run.update()
    assert not run.update()
    assert run.state is RunState.KILLED
    assert "train.py: no end was recorded, step 0, 1 steps/s, last entry 2.0 h ago" in render(
        [run], View()
    )


def test_of_a_process_on_another_machine_nothing_is_claimed(journal):
    run = FollowedRun(journal(1.0, ago=7200, host="elsewhere"))
    run.update()
    assert run.state is RunState.RUNNING
    assert "still running, step 0, 1 steps/s, last entry 2.0 h ago" in render([run], View())


def test_a_run_whose_process_was_killed_while_it_was_judged_is_judged(journal):
    file = journal(1.0, ago=100, final=True)
    report = read_judged(file)
    assert (report.script.ended, report.script.status) == ("completed", 0)
    assert read_saved(file).diagnoses is None
    assert report.diagnoses is not None
    run = FollowedRun(file)
    run.update()
    assert run.state is RunState.KILLED


def test_the_last_entry_of_a_run_is_its_speed_until_another_comes(journal):
    run = FollowedRun(journal(1.0, 2.0))
    run.update()
    journal(1.0, 2.0, 2.5, 3.0)
    run.update()
    assert run.speed() == 2.0  # two steps in the last second


def test_a_link_to_the_output_finds_the_journal_beside_its_target(journal, tmp_path):
    file = journal(1.0)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "last.json").symlink_to(file)
    assert read_judged(str(tmp_path / "links" / "last.json")).script.ended == "unknown"


@pytest.mark.parametrize("rows", [None, 3, [3], [["a", "b", "c"]], [["a", "b", "c", 4]]])
def test_suppressions_that_no_run_has_written_are_dropped(rows):
    assert suppressions_of({"suppressions": rows}) == ()


def test_suppressions_of_the_run_count():
    (one,) = suppressions_of({"suppressions": [["finite", "*", "known", "c.yaml:3"]]})
    assert (one.rule, one.at, one.reason, one.place) == ("finite", "*", "known", "c.yaml:3")


@pytest.mark.parametrize(
    ("values", "bars"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 8], "▁▂▃▄▅▆▇█"),
        ([5, 5, 5], "▁▁▁"),
        ([1, None, 8], "▁ █"),
        ([1, float("nan"), 8, float("inf")], "▁!█!"),
        ([float("nan")], "!"),
        ([None, None], "  "),
        ([], ""),
        ([1, 3, 8, 10], "▁█"),  # means of pairs
        ([0.0, 1e-320], "▁▁"),  # a scale that overflows
    ],
)
def test_a_curve_of_bars(values, bars):
    assert sparkline(values, 2 if bars == "▁█" else 8) == bars


def test_a_curve_has_its_last_value_and_characters_of_the_terminal():
    (line,) = curve("loss", [4.0, 1.0, None, "nan"], View(unicode=False))
    assert line == "  loss       @_ !  nan"
    assert [*curve("loss", [None], View())] == []

"""Runs that are killed, that end in other ways, and that somebody looks at and asks meanwhile."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from hookcli.report.journal.journal_reader import JournalReader
from tests.conftest import ROOT

TRAIN = """\
import os, signal, sys, time
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.aux = nn.Linear(4, 1), nn.Linear(4, 1)
    def forward(self, x):
        return self.body(x)

torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for step in range(int(sys.argv[1])):
    x = torch.arange(8.0).reshape(2, 4) + step % 5
    if len(sys.argv) > 3 and step == 20:
        x[0, 0] = float("nan")
    loss = net(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), flush=True)
    time.sleep(0.01)
exec(sys.argv[2])
"""
KILL = "os.kill(os.getpid(), signal.SIGKILL)"


@pytest.fixture
def script(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


def printed(out):
    """The losses that the script has printed, by step; a last line that is cut is left out."""
    lines = out[: out.rfind("\n") + 1].splitlines()
    rows = [line.split() for line in lines if line[:1].isdigit()]
    return {int(step): float(loss) for step, loss in rows}


def test_a_run_that_is_killed_with_its_script_is_rendered_and_judged(script, cli):
    both = f"os.kill(os.getppid(), signal.SIGKILL)\n{KILL}"
    done = cli("run", "-o", "run.json", "train.py", "5", both, real=True)
    assert done.status == -signal.SIGKILL
    assert not (script / "run.json").exists()
    assert cli("render", "run.json", "-o", "whole.json").status == 0
    report = json.loads((script / "whole.json").read_text())
    assert report["script"] == {
        **report["script"], "ended": "unknown", "status": None,
    }  # fmt: skip
    (record,) = report["records"]
    known = {row["step"]: row["loss"] for row in record["training"]["steps"]}
    losses = printed(done.out)
    assert known == pytest.approx({step: losses[step] for step in known})
    assert set(known) >= {0, 1, 2}  # the steps in detail
    assert "'aux' never ran" in json.dumps(report["diagnoses"])
    shown = cli("render", "run.json.journal")
    assert "(no end was recorded)" in shown.out
    assert "note: no end was recorded: last entry" in shown.out


@pytest.mark.parametrize(
    ("end", "status"),
    [(KILL, -9), ("os._exit(3)", 3), ("sys.exit(4)", 4), ("raise ValueError('x')", 1), ("", 0)],
)
def test_each_end_gives_the_status_of_plain_python_and_a_report(end, status, script, cli):
    done = cli("run", "-o", "run.json", "train.py", "4", end)
    assert done.status == status
    assert not (script / "run.json.journal").exists()
    record = json.loads((script / "run.json").read_text())["records"][0]["training"]
    assert [row["loss"] for row in record["steps"]][:3] == pytest.approx(
        [*printed(done.out).values()][:3]
    )


def test_a_script_without_torch_leaves_no_journal(tmp_path, cli):
    (tmp_path / "s.py").write_text("print(1)\n")
    assert cli("run", "-o", "run.json", "s.py").out == "1\n"
    assert [file.name for file in tmp_path.iterdir()] == ["s.py"]


def test_a_folder_that_cannot_be_written_gives_a_note(script, cli, monkeypatch):
    (script / "run.json.journal").mkdir()
    done = cli("run", "-o", "run.json", "train.py", "2", "")
    assert done.status == 0
    assert "note: the report is written at the end only: cannot write" in done.err
    assert (script / "run.json").exists()


class Running:
    """A training that goes on until the end of a test."""

    def __init__(self, folder, *flags, arguments=("100000", "")):
        command = [sys.executable, "-m", "hookcli", "run", "-o", "run.json", *flags]
        self.process = subprocess.Popen(
            [*command, "train.py", *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.journal = folder / "run.json.journal"
        self.wait_for(5)

    def wait_for(self, steps):
        """Wait until the journal has so many steps."""
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            reader = JournalReader(str(self.journal))
            if self.journal.exists() and reader.update() and not reader.is_empty():
                records = reader.report("running").records
                if records and records[0].training.total >= steps:
                    return
            time.sleep(0.1)
        raise AssertionError(self.process.stderr.read() if self.process.poll() else "no steps")

    def kill(self):
        self.process.kill()
        return self.process.communicate(timeout=30)


@pytest.fixture
def running(script):
    run = Running(script)
    yield run
    run.kill()


def test_a_run_that_goes_on_is_followed_asked_and_not_started_twice(running, script, cli):
    shown = cli("follow", "run.json")
    assert shown.status == 0
    assert "train.py: still running, step" in shown.out
    assert "steps/s" in shown.out
    assert "loss " in shown.out
    assert "never ran" not in shown.out  # it may run in the next step

    again = cli("run", "-o", "run.json", "train.py", "1", "")
    assert again.status == 2
    assert again.error()[0].endswith("run.json is the output of a run that has not ended")

    answer = cli("ask", "run.json", "--steps", "2", "-f", "json")
    assert answer.status == 0, answer.err
    record = json.loads(answer.out)["records"][0]["training"]
    assert [row["sampled"] for row in record["steps"]] == [True, True]
    first, second = (row["step"] for row in record["steps"])
    assert second == first + 1
    assert record["sampled"] == [first, second]

    traced = cli("ask", "run.json", "--preset", "trace")
    assert traced.status == 0, traced.err
    assert "forward_pre" in traced.out
    assert "post_accumulate_grad  body.weight" in traced.out

    past = cli("ask", "run.json", "--steps", "1-2")
    assert past.status == 2
    assert "these steps have passed: the next one is" in past.error()[0]
    folder = script / "run.json.journal.asks"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [*folder.iterdir()] == []

    out, _ = running.kill()
    losses = printed(out)
    assert {row["step"]: row["loss"] for row in record["steps"]} == pytest.approx(
        {first: losses[first], second: losses[second]}
    )
    over = cli("follow", "run.json")
    assert "train.py: no end was recorded, step" in over.out
    assert "'aux' never ran" in over.out
    ended = cli("ask", "run.json")
    assert (ended.status, ended.error()[0]) == (2, "the run of run.json does not run any more")


def test_a_page_is_written_again_as_the_training_goes(running, script):
    command = [sys.executable, "-m", "hookcli", "follow", "run.json", "-o", "live.html"]
    follow = subprocess.Popen(
        [*command, "-q", "--every", "0.2"], cwd=script, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    page, seen = script / "live.html", set()
    until = time.monotonic() + 60
    while len(seen) < 2 and time.monotonic() < until:
        if page.exists():
            seen.add(page.stat().st_ino)
            assert '<body data-reload="1">' in page.read_text()
        time.sleep(0.05)
    assert len(seen) == 2
    running.kill()
    assert follow.wait(30) == 0
    assert "data-reload" not in page.read_text()


def test_a_finding_is_told_as_it_happens_and_given_to_a_command(script):
    (script / "alert.py").write_text(
        "import sys\nopen('alerts.jsonl', 'a').write(sys.stdin.read() + '\\n')\nsys.exit(5)\n"
    )
    alert = f"{sys.executable} alert.py"
    run = Running(
        script, "--notify", "error", "--on-finding", alert, arguments=("100000", "", "nan")
    )
    alerts, until = script / "alerts.jsonl", time.monotonic() + 60
    while not alerts.exists() and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(0.5)
    _, err = run.kill()
    (document,) = map(json.loads, alerts.read_text().splitlines())
    assert document["schema"] == "hookcli.finding/1"
    assert document["script"] == "train.py"
    assert document["finding"]["step"] == 20
    assert document["finding"]["severity"] == "error"
    first, failed, killed = err.splitlines()
    assert first.startswith("hookcli: error: the loss is not finite at step 20: ")
    assert failed == "hookcli: the command of --on-finding failed: exit status 5"
    assert killed.startswith("hookcli: the run has ended without a report, its last step was ")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--notify", "error"], "--notify requires a file with the record of the run"),
        (["--on-finding", "true"], "--on-finding requires a file with the record of the run"),
        (
            ["-o", "run.json", "--on-finding", "no-such-program"],
            "command not found: no-such-program",
        ),
        (["-o", "run.json", "--on-finding", "'"], "the command cannot be split into words: "),
        (["-o", "run.json", "--on-finding", ""], "command not found: ''"),
    ],
)
def test_wrong_flags_of_findings_are_refused(flags, message, script, cli):
    done = cli("run", *flags, "train.py", "1", "")
    assert done.status == 2
    assert done.error()[0].startswith(message)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["follow", "no.json"], "file not found: no.json"),
        (["ask", "no.json"], "file not found: no.json"),
        (["ask", "no.json", "--steps", "x"], "--steps must be a number or a range"),
        (["ask", "no.json", "--kinds", "forwrd"], "unknown kind 'forwrd'"),
        (
            ["ask", "no.json", "--kinds", "forward", "--preset", "trace"],
            "--kinds cannot be combined with --preset",
        ),
        (["follow", "a.json", "b.json", "-o", "x.html"], "a file shows one run, got several"),
        (["follow", "a.json", "-f", "html"], "a format of a run that is followed requires a file"),
    ],
)
def test_wrong_command_lines_are_refused(command, message, cli):
    done = cli(*command)
    assert done.status == 2
    assert done.error()[0].startswith(message)


def test_a_journal_without_a_whole_first_entry_is_refused_at_once(tmp_path, cli):
    (tmp_path / "run.json.journal").write_text("x")
    done = cli("ask", "run.json")
    assert done.status == 2
    assert done.error()[0].endswith("is not a hookcli journal: it has no whole first entry")

"""Scripts that end without the end of Python, and signals while their report is made or judged."""

from __future__ import annotations

import json
import signal
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no process waits")
TRAIN = """\
import os, resource, signal, sys, threading, time
import faulthandler
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
for step in range(4):
    loss = net(torch.ones(2, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item(), flush=True)
"""
TO_COMMAND = "os.kill(os.getppid(), signal.{}); time.sleep(60)"
# The end of the script: the status of the command, and how and why the report says it ended.
ENDS = {
    "os.kill(os.getpid(), signal.SIGTERM)": (-15, "signal", "SIGTERM"),
    "os.kill(os.getpid(), signal.SIGKILL)": (-9, "signal", "SIGKILL"),
    "os.abort()": (-6, "signal", "SIGABRT"),
    TO_COMMAND.format("SIGTERM"): (-15, "signal", "SIGTERM"),
    TO_COMMAND.format("SIGHUP"): (-1, "signal", "SIGHUP"),
    "resource.setrlimit(resource.RLIMIT_CPU, (1, 9))\nwhile True: pass": (-24, "signal", "SIGXCPU"),
    "os._exit(3)": (3, "exit", None),
    "os._exit(0)": (1, "exit", None),  # --fail-on counts a finding
    "faulthandler.dump_traceback_later(0.1, exit=True); time.sleep(60)": (1, "exit", None),
    "os.execv('/bin/true', ['true'])": (1, "exit", None),
}
# While the report is made: at the first call of a function, and so that it fails.
DYING = "import hookcli.training.watch as w\nw.Watch.finish = lambda *_: {}"


@pytest.fixture
def ended(cli, tmp_path):
    def run(end, *flags):
        (tmp_path / "train.py").write_text(TRAIN + end)
        done = cli("run", "--fail-on", "warning", *flags, "train.py")
        file = tmp_path / "run.json"
        return done, json.loads(file.read_text()) if file.exists() else None

    return run


@pytest.mark.parametrize("end", ENDS)
def test_an_end_that_python_does_not_see_has_its_status_and_a_report(end, ended, tmp_path):
    status, how, why = ENDS[end]
    done, report = ended(end, "-o", "run.json")
    assert done.status == status, done.err
    script = report["script"]
    told = status if status >= 0 else 128 - status
    assert (script["ended"], script["status"], script.get("error")) == (
        how, 0 if status == 1 and "faulthandler" not in end else told, why,
    )  # fmt: skip
    assert "the process of the script ended before its report: last entry" in report["warnings"][0]
    losses = [row["loss"] for row in report["records"][0]["training"]["steps"]]
    assert losses[:3] == pytest.approx([float(loss) for loss in done.out.split()[:3]])
    assert "'aux' never ran" in json.dumps(report["diagnoses"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json", "train.py"]


def test_without_a_file_a_summary_is_printed(ended):
    done, _ = ended("os.kill(os.getpid(), signal.SIGTERM)")
    assert done.status == -signal.SIGTERM
    assert "hookcli run train.py: ended by SIGTERM, 3 of 3 steps in detail" in done.err
    assert "'aux' never ran" in done.err


@pytest.mark.parametrize(
    ("last", "status"), [("", 1), ("\nsys.exit(4)", 4), ("\nraise KeyboardInterrupt", -2)]
)
@pytest.mark.parametrize("dies", ["os._exit(5)", "os.kill(os.getpid(), 9)", "1 / 0"])
def test_a_script_that_is_ended_while_its_report_is_made_had_ended_before(
    dies, last, status, ended
):
    done, report = ended(DYING.format(dies) + last, "-o", "run.json")
    assert done.status == status
    how = {1: "completed", 4: "exit", -2: "interrupted"}[status]
    assert report["script"]["ended"] == how
    assert len(report["records"]) == 1


def test_signals_to_the_command_while_it_judges_change_nothing(ended):
    # A process of the script waits until it is over, and sends them for a second.
    sends = (
        "command, script = os.getppid(), os.getpid()\n"
        "if os.fork() == 0:\n"
        "    for number in range(3): os.close(number)\n"
        "    while os.getppid() == script: time.sleep(0.001)\n"
        "    for _ in range(20):\n"
        "        for number in (1, 2, 14, 15, 10):\n"
        "            try: os.kill(command, number)\n"
        "            except ProcessLookupError: os._exit(0)\n"
        "        time.sleep(0.02)\n"
        "    os._exit(0)\n"
    )
    done, report = ended(sends, "-o", "run.json")
    assert (done.status, report["script"]["ended"]) == (1, "completed")


def test_a_script_that_ends_before_it_imports_torch_leaves_nothing(cli, tmp_path):
    (tmp_path / "train.py").write_text("import os; os.kill(os.getpid(), 15)")
    done = cli("run", "-o", "run.json", "train.py")
    assert (done.status, done.err) == (-signal.SIGTERM, "")
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]

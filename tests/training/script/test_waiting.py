"""Scripts that end without the end of Python, and signals while their report is made or judged."""

from __future__ import annotations

import json
import signal
import subprocess
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


# What ends Python after the report has been made: the C library calls a function with a number.
AFTER = {"abort": (-6, "by SIGABRT"), "_exit": (5, "with exit status 5")}


def in_a_process(script, folder):
    """Run a script in a process that ends as Python does; return its status and its report."""
    (folder / "train.py").write_text(script)
    command = [sys.executable, "-m", "hookcli", "run", "-q", "-o", "run.json", "train.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True)
    return done.returncode, json.loads((folder / "run.json").read_text())


@pytest.mark.parametrize("end", AFTER)
def test_a_report_has_the_status_of_a_process_that_ends_otherwise_than_its_script(end, tmp_path):
    status, how = AFTER[end]
    at_end = f"import ctypes\nc = ctypes.CDLL(None)\nc['__cxa_atexit'](c['{end}'], 5, None)"
    actual, report = in_a_process(TRAIN + at_end, tmp_path)
    assert actual == status
    assert report["script"]["ended"] == "completed"
    assert report["script"]["status"] == (status if status > 0 else 128 - status)
    assert f"after the script, which had exit status 0, Python ended {how}" in report["warnings"]


AT_EXIT = "class Last:\n    def __del__(self): exec('0')\nlast = Last()\n"


@pytest.mark.parametrize("after", ["", AT_EXIT])
def test_ctrl_c_has_the_status_that_python_gives(after, tmp_path):
    """Python forgets Ctrl-C if code runs by `exec` while it exits: the status is 1, not SIGINT."""
    script = f"{TRAIN}{after}raise KeyboardInterrupt"
    actual, report = in_a_process(script, tmp_path)
    plain = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True)
    assert actual == plain.returncode
    assert report["script"]["ended"] == "interrupted"
    assert report["script"]["status"] == (actual if actual >= 0 else 128 - actual)
    assert not [line for line in report["warnings"] if "Python ended" in line]


def test_no_memory_for_the_end_leaves_no_traceback_of_hookcli(ended):
    """The report is made of the journal by the process that waits."""
    dying = (
        "import hookcli.training.script.session as session\n"
        "def own_imports(): raise MemoryError\n"
        "session.own_imports = own_imports\n"
        "sys.exit(4)"
    )
    done, report = ended(dying, "-q", "-o", "run.json")
    assert (done.status, done.err) == (4, "")
    assert "the process of the script ended before its report" in report["warnings"][0]
    assert report["script"]["status"] == 4

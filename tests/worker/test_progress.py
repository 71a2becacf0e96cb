"""Progress at a terminal: what a run shows there, and that nothing else changes."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, forks
from tests.worker.running import LONG, wait_for
from tests.worker.terminal import Terminal, seen

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and a Linux terminal")

# A layer for each phase that takes so long that it is shown; what it prints has odd ends.
SLOW = """\
import os
import sys
import time
import torch
from torch import nn


class Wait(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        time.sleep({seconds})
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        time.sleep({seconds})
        return gradient


class Layer(nn.Module):
    def forward(self, x):
        print("from Python")
        os.write(1, b"no end of a line, ")
        time.sleep(0.15)
        os.write(2, b"and its end\\n50%\\r100%\\n")
        x = Wait.apply(x)
        print("\\x1b[32min colour\\x1b[0m", file=sys.stderr)
        return x


class Net(nn.Module):
    example_inputs = (torch.ones(2, 4),)

    def __init__(self):
        super().__init__()
        self.first, self.slow_layer = nn.Linear(4, 3), Layer()

    def forward(self, x):
        return self.slow_layer(self.first(x))
"""


class Shown:
    """A command whose stderr was a terminal, and what came to both of its streams."""

    def __init__(self, folder: Path, *args: str, columns: int = 80, both: bool = False, **env: str):
        terminal = Terminal(columns)
        with (folder / "out").open("w+b") as out:
            streams = (terminal.slave if both else out, terminal.slave)
            self.status = run(folder, streams, args, {"TERM": "xterm", **env})
            out.seek(0)
            self.out = out.read()
        self.data, self.lines, self.rest = terminal.read(), terminal.lines, terminal.rest
        terminal.close()

    def shows(self, *words: str) -> None:
        """Hold that lines begin so, in this order."""
        left = iter(self.lines)
        for word in words:
            assert any(line.startswith(word) for line in left), (word, self.lines)


def run(folder: Path, streams: tuple, args: tuple[str, ...], env: dict[str, str]) -> int:
    """A command in a fork that has torch already, with these as stdout and stderr: its status."""
    off = {"COLUMNS", "CI", "RANK", "GITHUB_ACTIONS", "PYTEST_CURRENT_TEST"}
    clean = {**{k: v for k, v in os.environ.items() if k not in off}, "PYTHONPATH": str(ROOT)}
    with Path(os.devnull).open("rb") as nothing:
        return forks().run_with((nothing, *streams), list(args), folder, {**clean, **env}, 120)


def piped(folder: Path, *args: str) -> tuple[bytes, bytes]:
    """What a command writes to stdout and stderr without a terminal."""
    with (folder / "out").open("w+b") as out, (folder / "err").open("w+b") as err:
        run(folder, (out, err), args, {})
        out.seek(0)
        err.seek(0)
        return out.read(), err.read()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW.format(seconds=0.15))
    return tmp_path


def patiently(test):
    """Repeat a failed test with slower layers: a busy machine draws no line in a short one."""

    @functools.wraps(test)
    def repeated(folder, **more):
        for seconds in (0.15, 1):
            (folder / "slow.py").write_text(SLOW.format(seconds=seconds))
            try:
                return test(folder, **more)
            except AssertionError:
                continue
        (folder / "slow.py").write_text(SLOW.format(seconds=4))
        return test(folder, **more)

    return repeated


@patiently
def test_phases_are_shown_in_order_and_nothing_of_them_is_left(folder):
    args = ("grads", "slow.py", "--steps", "2")
    shown = Shown(folder, *args)
    assert shown.status == 0
    shown.shows(
        "forward, step 1 of 2", "backward, step 1 of 2", "forward, step 2 of 2",
        "backward, step 2 of 2",
    )  # fmt: skip
    assert any(line.endswith(": slow_layer") for line in shown.lines)
    out, err = piped(folder, *args)
    assert b"\r\x1b[K" not in err
    assert (shown.out, shown.rest) == (out, err)
    assert seen(shown.data) == seen(err)


@patiently
def test_the_report_and_errors_stand_where_the_line_was(folder):
    shown = Shown(folder, "inspect", "slow.py", "--color", "never", both=True)
    assert shown.lines
    out, err = piped(folder, "inspect", "slow.py", "--color", "never")
    assert seen(shown.data)[: len(seen(err + b"model"))] == seen(err + out.splitlines()[0])
    assert b"\x1b[K" not in shown.data[shown.data.rindex(b"model  Net") :]


@patiently
def test_an_error_stands_where_the_line_was(folder):
    source = (folder / "slow.py").read_text().replace("return x\n", "raise ValueError('no')\n")
    (folder / "raises.py").write_text(source)
    shown = Shown(folder, "grads", "raises.py", "-i", "2x4", "-o", "report", NO_COLOR="1")
    assert shown.status == 3
    shown.shows("forward")
    assert seen(shown.data)[-4].startswith("error: ValueError in forward, in 'slow_layer'")


@pytest.mark.parametrize(
    ("flags", "env"),
    [
        (["-q"], {}),
        (["-vq"], {}),
        ([], {"TERM": "dumb"}),
        ([], {"CI": "true"}),
        ([], {"RANK": "0"}),
    ],
    ids=str,
)
def test_nothing_is_shown_where_it_is_not_wanted(folder, flags, env):
    (folder / "slow.py").write_text(SLOW.format(seconds=0.4))
    shown = Shown(folder, "inspect", "slow.py", *flags, **env)
    assert shown.status == 0
    assert shown.lines == []
    assert b"\x1b[K" not in shown.data


def test_a_quick_run_shows_nothing(folder):
    (folder / "net.py").write_text("import torch\nmodel = torch.nn.Linear(2, 3)\n")
    shown = Shown(folder, "inspect", "net.py", "--input", "1x2")
    if shown.lines:  # the machine is slow
        assert all("0 s" not in line for line in shown.lines)
    assert shown.rest == b""


@patiently
def test_inference_and_the_real_run_after_a_fake_one(folder):
    source = (folder / "slow.py").read_text()
    by_value = source.replace("return x\n", "return x * float(x.sum())\n")
    (folder / "slow.py").write_text(by_value.replace("example_inputs", "nothing"))
    shown = Shown(folder, "inspect", "slow.py")
    assert shown.status == 0, shown.rest
    shown.shows("inferring the batch, trial ", "forward, real run as the fake run failed")


@patiently
def test_probes_of_rules(folder):
    shown = Shown(folder, "check", "slow.py")
    assert shown.status == 0, shown.rest
    shown.shows("forward", "backward", "probe for ")


@patiently
def test_both_sides_of_a_diff(folder):
    shown = Shown(folder, "diff", "slow.py", "slow.py?dtype=float64")
    shown.shows("A: forward", "B: forward")


@patiently
def test_runs_without_hooks_are_told_from_the_one_with_them(folder):
    shown = Shown(folder, "grads", "slow.py", "--verify-neutral")
    shown.shows("forward", "run 1 of 2 without hooks: forward", "run 2 of 2 without hooks: forward")


@patiently
def test_ranks(folder):
    shown = Shown(folder, "grads", "slow.py", "--nproc", "2")
    assert shown.status == 0, shown.rest
    assert any("2 ranks" in line and ": slow_layer" in line for line in shown.lines), shown.lines
    _, err = piped(folder, "grads", "slow.py", "--nproc", "2")
    assert sorted(shown.rest) == sorted(err)  # ranks print over each other, as ever


@pytest.mark.parametrize("columns", [8, 40])
@patiently
def test_a_narrow_terminal_and_a_hostile_name(folder, columns):
    name = "long\x1b[31m\u202e" + "卷" * 60
    source = (folder / "slow.py").read_text()
    source = source.replace("self.slow_layer(", f"getattr(self, {name!r})(")
    source = source.replace(
        "self.first, self.slow_layer = nn.Linear(4, 3), Layer()",
        f"self.first = nn.Linear(4, 3)\n        self.add_module({name!r}, Layer())",
    )
    (folder / "slow.py").write_text(source)
    shown = Shown(folder, "inspect", "slow.py", columns=columns)
    assert shown.status == 0, shown.rest
    for line in shown.lines:
        assert len(line) + line.count("卷") < columns
        assert "\u202e" not in line
    assert bool(shown.lines) == any("卷卷" in line for line in shown.lines) == (columns > 10)


@pytest.mark.parametrize("end", ["", "and its end"], ids=["in a line", "after a line"])
def test_ctrl_c_leaves_a_clean_line(folder, end):
    source = SLOW.format(seconds=600)
    if not end:
        source = source.replace("time.sleep(0.15)", "time.sleep(600)")
    waits = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n"
    (folder / "slow.py").write_text(waits + source)
    terminal = Terminal()
    code = (
        "import fcntl, termios, runpy\n"
        "fcntl.ioctl(2, termios.TIOCSCTTY, 0)\n"
        "runpy.run_module('hookcli', run_name='__main__', alter_sys=True)"
    )
    off = {"CI", "GITHUB_ACTIONS", "RANK"}
    process = subprocess.Popen(
        [sys.executable, "-c", code, "inspect", "slow.py", "--tensors", "real"],
        cwd=folder,
        env={**{k: v for k, v in os.environ.items() if k not in off}, "PYTHONPATH": str(ROOT)},
        stdin=terminal.slave,
        stdout=terminal.slave,
        stderr=terminal.slave,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert wait_for(lambda: any("importing the model" in at for at in terminal.lines), LONG)
        (folder / "go").touch()
        shown = f"no end of a line, {end}".encode()
        assert wait_for(lambda: shown in terminal.rest, LONG), terminal.data
        process.send_signal(signal.SIGINT)
        assert process.wait(LONG) == 130
    finally:
        process.kill()
        process.wait()
    assert terminal.lines[0].startswith("importing ")
    if not end:
        assert seen(terminal.read())[-3] == "no end of a line,"
    assert seen(terminal.read())[-2:] == ["interrupted, in forward, in slow_layer", ""]
    terminal.close()

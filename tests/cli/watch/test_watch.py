"""`--watch` as a user sees it: what an edit shows, and that no run leaves anything to the next."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, run_cli
from tests.forked.inherited import heed_signals
from tests.worker.terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads a pipe as it is written")

NET = """
import torch
from torch import nn
import blocks

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, {width})
        self.fc2 = blocks.last({width})

    def forward(self, x):
        return self.fc2(self.fc1(x).relu())
"""
BLOCKS = """
from torch import nn

def last(width):
    return nn.Linear(width, 4)
"""
# Changes what the next run would see if it ran in the same process, and shows what it saw.
LEAKY = """
import os, random, sys
import torch
from torch import nn

seen = getattr(torch, "seen", 0)
torch.seen = seen + 1
os.environ["SEEN"] = os.environ.get("SEEN", "") + "x"
before = nn.Linear.forward
nn.Linear.forward = lambda self, x: before(self, x) * 2
torch.set_default_dtype(torch.float64 if seen else torch.float32)
random.random(), torch.rand(3)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        width = 8 + seen + len(os.environ["SEEN"])
        self.layers = nn.ModuleList([nn.Linear(8, width), nn.Linear(width, 4)])
        self.register_buffer("draw", torch.tensor([random.random(), torch.rand(1).item()]))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(NET.format(width=16))
    (tmp_path / "blocks.py").write_text(BLOCKS)
    return tmp_path


@contextlib.contextmanager
def watching(folder: Path, *arguments: str, code: str = "pass", **streams) -> Iterator:
    """The command with --watch, in a process that has run `code` before."""
    start = f"import os, sys; {code}; sys.argv = ['hookcli', *sys.argv[1:]]; "
    command = [sys.executable, "-c", f"{start}from hookcli.__main__ import main; main()"]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **streams}
    process = subprocess.Popen(
        [*command, *arguments, "--watch"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "90"},
        start_new_session=True,
        preexec_fn=heed_signals,  # they are ignored if the suite was started with nohup or `&`
        **options,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def test_a_line_tells_what_each_edit_changed(folder):
    with watching(folder, "inspect", "net.py", "-i", "2x8") as watch:
        assert watch.stdout.readline().endswith("3 layers, 0 findings\n")
        (folder / "net.py").write_text(NET.format(width=32))
        assert watch.stdout.readline()[9:].startswith(
            "net.py changed: layer fc1: output [2, 16] is now [2, 32], parameters 144 is now 288"
        )
        (folder / "blocks.py").write_text(BLOCKS.replace("nn.Linear(width, 4)", "oops"))
        assert "blocks.py changed: error: cannot build Net: NameError" in watch.stdout.readline()
        (folder / "blocks.py").write_text(BLOCKS.replace("Linear(width", "Bilinear(width, 3"))
        assert "blocks.py changed: error: " in watch.stdout.readline()
        (folder / "blocks.py").write_text(BLOCKS)
        assert watch.stdout.readline().endswith("blocks.py changed: no change in the result\n")
    assert watch.returncode == 130


def test_a_missing_module_is_waited_for(folder):
    (folder / "blocks.py").unlink()
    with watching(folder, "check", "net.py", "-i", "2x8") as watch:
        assert "No module named 'blocks'" in watch.stdout.readline()
        (folder / "blocks.py").write_text(BLOCKS)
        assert "3 layers" in watch.stdout.readline()


def test_findings_that_appear_and_go_are_told(folder):
    dead = NET.format(width=16).replace(".relu()", ".relu().detach()")
    (folder / "net.py").write_text(dead)
    with watching(folder, "check", "net.py", "-i", "2x8") as watch:
        assert "0 findings" not in watch.stdout.readline()
        (folder / "net.py").write_text(NET.format(width=16))
        assert " removed" in watch.stdout.readline()


@pytest.mark.parametrize("code", ["pass", "del os.pidfd_open"], ids=["forks", "no forks"])
def test_a_run_is_a_fresh_run(folder, code):
    """The runs after the first give the same bytes as the command without --watch."""
    (folder / "leaky.py").write_text(LEAKY)
    run = ("grads", "leaky.py", "-i", "2x8", "--loss", "sum")
    table, saved = folder / "table.txt", folder / "saved.json"
    with watching(folder, *run, "-f", f"table={table}", "-f", f"json={saved}", code=code) as watch:
        watch.stdout.readline()
        for edit in range(2):
            with (folder / "leaky.py").open("a") as file:
                file.write("#\n")
            assert "no change" in watch.stdout.readline(), edit
    watched = table.read_text(), json.loads(saved.read_text())
    fresh_table = run_cli(*run, cwd=folder, real=True, COLUMNS="90")
    fresh = run_cli(*run, "-f", "json", cwd=folder, real=True).report
    assert watched[0] == fresh_table.out
    for report in (watched[1], fresh):
        del report["environment"]["seconds"]
    assert watched[1] == fresh


def test_two_models_of_a_diff_are_watched(folder):
    (folder / "other.py").write_text(NET.format(width=16))
    with watching(folder, "diff", "net.py", "other.py", "-i", "2x8") as watch:
        assert watch.stdout.readline()[9:].startswith("same")
        edited = NET.format(width=16).replace("relu()", "relu() * 2")
        (folder / "other.py").write_text(edited)
        assert "other.py changed: first difference: " in watch.stdout.readline()


def test_an_edit_during_a_run_begins_it_again(folder):
    slow = NET.format(width=16).replace("import blocks", "import blocks, time; time.sleep({})")
    with watching(folder, "inspect", "net.py", "-i", "2x8") as watch:
        watch.stdout.readline()
        (folder / "net.py").write_text(slow.format(60))
        # the file is read before the sleep: the run of this edit has begun when it is read
        with contextlib.suppress(subprocess.TimeoutExpired):
            watch.wait(1)
        (folder / "net.py").write_text(NET.format(width=24))
        assert "[2, 24]" in watch.stdout.readline()


def test_a_terminal_is_drawn_in_place(folder):
    terminal = Terminal(columns=90)
    end = {"stdout": terminal.slave, "stderr": terminal.slave, "stdin": terminal.slave}
    with watching(folder, "inspect", "net.py", "-i", "2x8", **end, text=None):
        drawn(terminal, b"fc2 (Linear)")
        (folder / "net.py").write_text(NET.format(width=32))
        text = drawn(terminal, b"* layer fc1: output [2, 16] is now [2, 32]")
        assert "◂ changed".encode() in text
        (folder / "net.py").write_text(NET.format(width=32) + "oops\n")
        text = drawn(terminal, b"The last result:")
        assert b"error:" in text
        assert b"\x1b[2m\xe2\x94\x94\xe2\x94\x80 fc2" in text  # dimmed
    terminal.read()
    assert terminal.data.endswith(b"interrupted\n")
    left = terminal.data[terminal.data.rindex(b"\x1b[?1049l") :]
    assert b"fc2" in left
    terminal.close()


def drawn(terminal: Terminal, expected: bytes) -> bytes:
    """What was drawn since the last call, as soon as a whole page has what is expected."""
    import time

    until, begin = time.monotonic() + 60, len(terminal.data)
    while time.monotonic() < until:
        new = terminal.read()[begin:]
        if expected in new and new.endswith(b"\x1b[J"):
            return new
        time.sleep(0.02)
    raise AssertionError(terminal.data[begin:])


def test_a_format_needs_a_file_unless_a_terminal_shows_it(folder):
    result = run_cli("inspect", "net.py", "-i", "2x8", "--watch", "-f", "json", cwd=folder)
    assert result.status == 2
    assert result.error() == (
        "--watch writes a line for each change to stdout, not the format json",
        "--watch -f json",
        "write the format to a file: `-f json=FILE`",
    )


def test_a_debugger_cannot_be_watched(folder):
    (folder / "c.yaml").write_text("hooks:\n- {kind: forward, at: fc1, do: [breakpoint]}\n")
    with watching(folder, "trace", "net.py", "-c", "c.yaml", "-i", "2x8") as watch:
        assert "'breakpoint' cannot be combined with --watch" in watch.stdout.readline()

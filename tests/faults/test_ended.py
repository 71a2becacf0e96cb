"""A signal that ends a process by default, sent to commands that make files in TMPDIR."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import forks
from tests.forked.inherited import heed_signals
from tests.worker.running import wait_for

from .commands import MODEL
from .process_marks import MARK, listing, marked, torchs_own

LONG = 90.0  # seconds after which a command hangs
SLEEPS = MODEL.replace(
    "    def forward(self, x):\n",
    "    def forward(self, x):\n        import os, time\n"
    "        open(os.environ['REACHED'], 'w').close()\n        time.sleep(600)\n",
)
COMMANDS = {
    "diff": ("diff", "other.py", "model.py", "--save", "both", "-f", "json=out.json"),
    "ranks": ("grads", "model.py", "--nproc", "2", "-f", "json=out.json"),
    "tensorboard": ("grads", "model.py", "-f", "tensorboard=board"),
    "save": ("trace", "-c", "save.yaml"),
}
NAMES = ("SIGUSR1", "SIGUSR2", "SIGALRM", "SIGXCPU", "SIGVTALRM", "SIGPROF", "SIGIO", "SIGPWR")


@pytest.fixture
def asleep(place):
    """Return the place with a model whose forward never ends, and the file that it makes first."""
    (place.folder / "model.py").write_text(SLEEPS)
    reached = place.folder.parent / "reached"
    return replace(place, env={**place.env, "REACHED": str(reached)}), reached


def left(place):
    """Return the files that are left in TMPDIR and in the working folder."""
    files = [file.name for file in place.temporary.iterdir() if not torchs_own(file)]
    return files, {name for name in listing(place.folder) if name.startswith(("out", "both/", "."))}


@pytest.mark.parametrize(("number", "name"), list(enumerate(NAMES)), ids=NAMES)
def test_no_file_is_left(number, name, asleep):
    place, reached = asleep
    arguments = [*COMMANDS.values()][number % 4]
    with tempfile.TemporaryFile() as err, Path(os.devnull).open("r+b", 0) as null:
        command = forks().start(
            (null, null, err), [*arguments], place.folder, dict(place.env), session="own"
        )
        assert wait_for(lambda: reached.exists() or command.poll() is not None, LONG)
        command.send_signal(getattr(signal, name))
        status = command.wait(LONG)
        err.seek(0)
        text = err.read().decode()
    assert status == -getattr(signal, name), text
    assert text.splitlines()[-1].startswith(f"ended by {name}")
    assert left(place) == ([], set())
    assert wait_for(lambda: not forks().left_over(), LONG)


def test_a_real_diff_leaves_no_folder(asleep):
    place, reached = asleep
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        [sys.executable, "-m", "hookcli", *COMMANDS["diff"]], cwd=place.folder,
        env={**place.env, MARK: mark}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, preexec_fn=heed_signals,
    )  # fmt: skip
    assert wait_for(lambda: reached.exists() or process.poll() is not None, LONG)
    assert [file for file in left(place)[0] if file.startswith("hookcli-")]
    process.send_signal(signal.SIGUSR1)
    _, err = process.communicate(timeout=LONG)
    assert process.returncode == -signal.SIGUSR1, err
    assert left(place) == ([], set())
    assert wait_for(lambda: not marked(mark), LONG)

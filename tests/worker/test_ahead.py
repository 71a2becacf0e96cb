"""The worker that is started before the flags are read is there for nothing, or for the run."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid

import pytest

from tests.worker.running import GONE, HOOKCLI, LONG, MARK, marked, wait_for


@pytest.fixture
def mark():
    return uuid.uuid4().hex


def start(mark, *arguments, **how):
    environment = {**os.environ, MARK: mark}
    return subprocess.Popen(
        [HOOKCLI, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **how,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "--no-such-flag", "model.py"),
        ("inspect", "no_such_file.py"),
        ("grads", "model.py", "-c", "no_such_file.yaml"),
        ("trace", "model.py", "--phase", "nonsense"),
    ],
)
def test_a_request_that_cannot_be_leaves_no_process(mark, arguments, tmp_path):
    process = start(mark, *arguments, cwd=tmp_path)
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, out) == (2, "")
    assert err.startswith("error: ")
    assert marked(mark) == []


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("after", [0.06, 0.15, 0.4])  # from the start of Python to torch's import
def test_nothing_outlives_a_command_that_is_ended_early(mark, signum, after, tmp_path):
    (tmp_path / "model.py").write_text("import torch\nmodel = torch.nn.Linear(2, 3)\n")
    process = start(mark, "inspect", "model.py", cwd=tmp_path)
    time.sleep(after)
    process.send_signal(signum)
    process.communicate(timeout=LONG)
    assert wait_for(lambda: marked(mark) == [], GONE)


def test_help_starts_no_process(mark):
    process = start(mark, "inspect", "model.py", "--help")
    seen = set()
    while process.poll() is None:
        seen |= set(marked(mark))
        time.sleep(0.002)
    process.communicate()
    assert seen <= {process.pid}

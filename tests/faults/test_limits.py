"""Limits of the system: open files, processes, memory."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import tempfile
from dataclasses import replace

import pytest

from hookcli.training.script.session import ScriptSession

from .commands import COMMANDS, checked

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.mark.parametrize(
    ("name", "most", "status"),
    [("inspect", 8, 2), ("ranks", 8, 2), ("ranks", 24, 2), ("diff", 32, 1)],
)
def test_open_files(name, most, status, place):
    outcome = checked(COMMANDS[name], replace(place, faults={"limits": {"RLIMIT_NOFILE": most}}))
    assert outcome.status == status
    if status == 2:
        message, _, hint = outcome.error()
        refused = "the system refused a request: Too many open files"
        assert re.sub(r"^rank \d: ", "", message) == refused  # of a rank, or of what starts it
        assert hint == "raise the limit of open files, as with `ulimit -n 1024`"


def with_processes(place, most):
    """The place for a user who may have so many processes and threads."""
    for folder in (place.folder, place.temporary):
        folder.chmod(0o777)
    return replace(place, faults={"user": NOBODY, "limits": {"RLIMIT_NPROC": most}})


@as_root
def test_no_second_process(place):
    outcome = checked(COMMANDS["inspect"], with_processes(place, 1))
    assert outcome.status == 2
    assert outcome.error()[0] == "the system refused a request: Resource temporarily unavailable"


def test_a_training_whose_end_needs_a_process_keeps_its_report(monkeypatch, tmp_path, capfd):
    def refuse(*_args, **_more):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert ScriptSession({"finish": ["python"], "end": b""})._deliver('{"steps": 4}') == 0
    (kept,) = tmp_path.iterdir()
    assert kept.read_text() == '{"steps": 4}'
    assert capfd.readouterr().err.splitlines() == [
        "hookcli: cannot show the report: Resource temporarily unavailable",
        f"note: the report is in {kept}: show it with `hookcli render`",
    ]


@pytest.mark.parametrize(("limit", "bytes_"), [("RLIMIT_AS", 500 << 20), ("RLIMIT_AS", 1 << 30)])
def test_little_memory_is_no_bug(limit, bytes_, place):
    outcome = checked(COMMANDS["inspect"], replace(place, faults={"limits": {limit: bytes_}}))
    assert outcome.status in {0, 2, 3}  # as much as the libraries of this machine need

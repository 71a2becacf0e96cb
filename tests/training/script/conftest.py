"""Runs a script with and without hookcli, in the same folder, and returns both results."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from hookcli.cli.training import launch
from tests.cli.conftest import line
from tests.forked.inherited import heed_signals

__all__ = ["line"]
# Another Python can be tried, which needs no torch: HOOKCLI_TEST_PYTHON=/usr/bin/python3.13
PYTHON = os.environ.get("HOOKCLI_TEST_PYTHON", sys.executable)
FAKE = Path(__file__).parent / "fake"  # a package named torch, and a watch of it
# In place of the end: it writes what it was given to a file, and gives a verdict.
END = """
import os, sys
data = sys.stdin.buffer.read()
start = 16 + int.from_bytes(data[:8], "little")  # of the report, the second part
size = int.from_bytes(data[start - 8:start], "little")
open({file!r}, "wb").write(data[start:start + size])
print("END", os.getcwd(), os.environ.get("CHANGED"), flush=True)
__import__("time").sleep({slow})
try:
    os.write(int(sys.argv[1]), {verdict!r})
except BrokenPipeError:  # the script's process was killed
    pass
"""

CLEAN = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "GITHUB_ACTIONS"}}


@dataclass
class Ran:
    """How a script ended, and what it wrote."""

    status: int
    out: str
    err: str
    files: dict[str, bytes]


class LaunchedError(Exception):
    """The command line has been read, and would now become the script's process."""


def commands(monkeypatch, line, *args, flags=()):
    """The command and the environment that `python FLAGS -m hookcli run ARGS` becomes."""
    seen = []

    def replace(request, command, environment):
        seen.append((command, environment))
        return 0

    monkeypatch.setattr(launch, "_replace", replace)
    monkeypatch.setattr(launch, "can_supervise", lambda: False)
    monkeypatch.setattr(launch, "interpreter_flags", lambda: list(flags))
    status, _, err = line("run", "--python", PYTHON, *args)
    assert seen, (status, err)
    return seen[0]


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def run(command, folder, *, env, stdin="", pass_fds=(), timeout=120, act=None):
    """Run a process, in a session of its own; `act` gets it while it runs."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=pass_fds,
        start_new_session=True,
        preexec_fn=heed_signals,
    )
    try:
        if act is not None:
            act(process)
        out, err = process.communicate(stdin, timeout)
    finally:
        process.kill()
    return Ran(process.returncode, out, err, files_of(folder))


@pytest.fixture
def both(tmp_path, monkeypatch, line):
    """Return a function of files, a command line and flags of Python: (plain, hooked) results."""
    folder, original = tmp_path / "work", tmp_path / "original"

    def runs(files, *args, flags=(), ours=("-q",), env=None, before=(), **more):
        first = [PYTHON, "-c", *before] if before else []  # it executes what follows
        shutil.rmtree(folder, ignore_errors=True)
        for name, text in files.items():
            path = original / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(text, Path):
                path.symlink_to(text)
            elif isinstance(text, bytes):
                path.write_bytes(text)
            else:
                path.write_text(text)
        environment = {**CLEAN, **(env or {})}
        shutil.copytree(original, folder, symlinks=True)
        plain = run([*first, PYTHON, *flags, *args], folder, env=environment, **more)
        shutil.rmtree(folder)
        shutil.copytree(original, folder, symlinks=True)
        monkeypatch.chdir(folder)
        command, extra = commands(monkeypatch, line, *ours, *args, flags=flags)
        changed = {k: v for k, v in extra.items() if os.environ.get(k) != v}
        descriptor = int(command[command.index(launch._BOOTSTRAP) + 1])
        try:
            hooked = run(
                [*first, *command],
                folder,
                env={**environment, **changed},
                pass_fds=(descriptor,),
                **more,
            )
        finally:
            os.close(descriptor)
        return plain, hooked

    return runs


@dataclass
class Observed(Ran):
    """`report` is what the end got as JSON, or None if there was no end."""

    report: dict | None


@pytest.fixture
def observed(tmp_path, monkeypatch, line):
    """Return a function of a script's text: how it ends with a fake torch, a fake watch and end."""
    folder = tmp_path / "work"

    def runs(
        text, *args, ours=(), status=0, watch="fake_watch:start", slow=0, verdict=None, **more
    ):
        verdict = b"hookcli:" + bytes([status]) if verdict is None else verdict
        folder.mkdir(exist_ok=True)
        (folder / "s.py").write_text(text)
        monkeypatch.chdir(folder)
        monkeypatch.setattr(launch, "_WATCH", watch)
        file = tmp_path / "end.json"
        file.unlink(missing_ok=True)
        monkeypatch.setattr(
            launch, "_END", END.format(file=str(file), slow=slow, verdict=verdict) + "#{path}"
        )
        command, _ = commands(monkeypatch, line, *ours, "s.py", *args)
        descriptor = int(command[command.index(launch._BOOTSTRAP) + 1])
        env = {**CLEAN, "PYTHONPATH": str(FAKE)}
        try:
            ran = run(command, folder, env=env, pass_fds=(descriptor,), **more)
        finally:
            os.close(descriptor)
        report = json.loads(file.read_text()) if file.exists() else None
        return Observed(ran.status, ran.out, ran.err, ran.files, report)

    return runs

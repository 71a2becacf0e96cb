"""Runs the command on a hostile model, and sees what it leaves behind."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT, forks
from tests.forked.inherited import heed_signals

HOOKCLI = str(Path(sys.executable).with_name("hookcli"))
GONE = 60.0  # seconds after which a process is left over: those of tests sleep 600
LONG = 90.0  # seconds after which a command hangs
MARK = "HOOKCLI_TEST_MARK"  # inherited by every process that a command starts

_MODEL = """\
import os
import sys
import time
import torch
from torch import nn

{top}


class Bad(nn.Module):
    def forward(self, x):
{forward}
        return x * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
{build}
        self.first = nn.Linear(4, 3)
        self.bad = Bad()

    def forward(self, x):
        return self.bad(self.first(x))  # CALL
"""


def model(*, top: str = "", build: str = "pass", forward: str = "pass") -> str:
    """A model of a linear layer and a bad one; `# HERE` marks the line that is to be named."""

    def block(code: str, spaces: int) -> str:
        return textwrap.indent(textwrap.dedent(code).strip("\n"), " " * spaces)

    return _MODEL.format(top=block(top, 0), forward=block(forward, 8), build=block(build, 8))


def line_of(source: str, mark: str = "# HERE") -> int:
    """The only line that ends in `mark`."""
    (line,) = (n for n, text in enumerate(source.splitlines(), 1) if text.endswith(mark))
    return line


def marked(mark: str) -> list[int]:
    """Processes alive that carry the mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if mark.encode() in (entry / "environ").read_bytes():  # a zombie's is empty
                    found.append(int(entry.name))
    return found


def wait_for(condition, seconds: float) -> bool:
    """Whether the condition came true in time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str

    @property
    def report(self) -> dict:
        return json.loads(self.out)

    @property
    def last_three(self) -> tuple[str, str, str]:
        """The error, its place and the hint; hookcli says nothing after them."""
        error, place, hint = self.err.splitlines()[-3:]
        assert error.startswith("error: "), self.err
        assert place.startswith("  --> "), self.err
        assert hint.startswith("hint: "), self.err
        return error[7:], place[6:], hint[6:]


class Forked:
    """A command under way in a fork that has torch already, with pipes and the methods of Popen."""

    def __init__(self, args: list[str], folder: Path, env: dict[str, str]) -> None:
        (given, stdin), (stdout, out), (stderr, err) = (os.pipe() for _ in range(3))
        self._command = forks().start((given, out, err), args, folder, env, session="own")
        for fd in (given, out, err):
            os.close(fd)
        self.stdin = os.fdopen(stdin, "wb", 0)
        self.stdout, self.stderr = os.fdopen(stdout, "rb", 0), os.fdopen(stderr, "rb", 0)
        self.poll, self.wait = self._command.poll, self._command.wait
        self.send_signal, self.kill = self._command.send_signal, self._command.kill

    @property
    def returncode(self) -> int | None:
        return self._command.returncode

    def communicate(self, timeout: float = LONG) -> tuple[bytes, bytes]:
        until = time.monotonic() + timeout
        self.stdin.close()
        said = {self.stdout: b"", self.stderr: b""}
        with selectors.DefaultSelector() as selector:
            for stream in (stream for stream in said if not stream.closed):
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                if time.monotonic() > until:
                    raise subprocess.TimeoutExpired("hookcli", timeout, *said.values())
                for key, _ in selector.select(1):
                    data = os.read(key.fd, 1 << 16)
                    said[key.fileobj] += data
                    if not data:
                        selector.unregister(key.fileobj)
        self.wait(max(until - time.monotonic(), 1))
        return said[self.stdout], said[self.stderr]


class Running:
    """A command under way."""

    def __init__(self, folder: Path, mark: str, process: subprocess.Popen | Forked) -> None:
        self.folder, self._mark, self.process = folder, mark, process

    def left_over(self) -> list[int]:
        """The processes of an ended command that still run."""
        if isinstance(self.process, Forked):
            self.process.wait(LONG)
            return forks().left_over()
        return marked(self._mark)

    def reached(self) -> None:
        """Wait until the model touches `reached`."""
        here = self.folder.parent / "reached"
        assert wait_for(lambda: here.exists() or self.process.poll() is not None, LONG)
        assert here.exists(), self.process.communicate()

    def result(self) -> Result:
        out, err = self.process.communicate(timeout=LONG)
        return Result(self.process.returncode, out.decode(), err.decode())

    def all_gone(self, seconds: float = GONE) -> bool:
        return wait_for(lambda: not self.left_over(), seconds)


class Lab:
    """A folder with the model's files, and the commands started in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self._mark = f"{uuid.uuid4()}"
        self._files: set[str] = set()
        self._started: list[subprocess.Popen | Forked] = []

    def write(self, name: str, text: str) -> None:
        self._files.add(name)
        (self.folder / name).write_text(text, encoding="utf-8")

    def start(
        self,
        source: str,
        *arguments: str,
        name: str = "model.py",
        real: bool = False,
        **options,
    ) -> Running:
        """Start the command in a fork; with `real` or options of Popen, as a user does."""
        self.write(name, source)
        args = ["inspect", name, *(arguments or ("-i", "2x4", "--tensors", "real"))]
        command = options.pop("command", [HOOKCLI])
        real = real or bool(options) or command != [HOOKCLI]
        env = {k: v for k, v in os.environ.items() if k not in {"GITHUB_ACTIONS", "COLUMNS"}}
        env |= {MARK: self._mark, "REACHED": str(self.folder.parent / "reached")}
        env |= options.pop("env", {})
        if not real:
            process = Forked(args, self.folder, {**env, "PYTHONPATH": str(ROOT)})
            self._started.append(process)
            return Running(self.folder, self._mark, process)
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(
            [*command, *args],
            cwd=self.folder,
            env=env,
            start_new_session=True,
            **({"preexec_fn": heed_signals} | streams | options),
        )
        self._started.append(process)
        return Running(self.folder, self._mark, process)

    def run(self, source: str, *arguments: str, **options) -> Result:
        """Start, wait, and hold that nothing is left over: no process, no file."""
        running = self.start(source, *arguments, **options)
        result = running.result()
        assert running.all_gone(), running.left_over()
        assert self.files() == self._files
        return result

    def files(self) -> set[str]:
        return {p.relative_to(self.folder).as_posix() for p in self.folder.rglob("*")}

    def close(self) -> None:
        """Let nothing outlive a test, however it failed."""
        for process in self._started:
            process.kill()
            process.wait()
        forked = any(isinstance(process, Forked) for process in self._started)
        for _ in range(100):
            left = [*marked(self._mark), *(forks().left_over() if forked else ())]
            if not left:
                break
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        for process in self._started:
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()

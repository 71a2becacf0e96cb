"""The commands that the tests of faults run, what they write, and what each outcome must hold."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import yaml

from tests.conftest import ROOT, forks
from tests.faults.process_marks import listing
from tests.forked.client import Server

MODEL = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 64)
        self.second = nn.Linear(64, 2)
        self.unused = nn.Linear(2, 2)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))

def build_model():
    return Net()

def example_inputs():
    return (torch.randn(2, 8),)
"""
SCRIPT = """\
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(4):
    optimizer.zero_grad()
    model(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
"""
CONFIG = """\
model: model.py
hooks:
  - kind: [forward]
    at: "*"
    do:
      - save: saved
"""
OTHER = MODEL.replace("tanh", "relu")
FILES = {"model.py": MODEL, "other.py": OTHER, "train.py": SCRIPT, "save.yaml": CONFIG}


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, the files and the folders that it writes, and its status without a fault.

    What it leaves in TMPDIR begins with `keeps`.
    """

    arguments: tuple[str, ...]
    writes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    status: int = 0
    keeps: str | None = None


COMMANDS = {
    "inspect": Command(
        ("inspect", "model.py", "-f", "json=out.json", "-f", "table"), ("out.json",)
    ),
    "grads": Command(("grads", "model.py", "-f", "html=out.html", "-f", "table"), ("out.html",)),
    "trace": Command(
        ("trace", "model.py", "--stream", "events.jsonl", "-f", "json=out.json"),
        ("out.json", "events.jsonl"),
    ),
    "check": Command(
        ("check", "model.py", "--baseline", "known.json", "--update-baseline", "-f", "table"),
        ("known.json",),
    ),
    "diff": Command(
        ("diff", "model.py", "other.py", "--save", "both", "-f", "json=out.json"),
        ("out.json",),
        ("both",),
        status=1,
    ),
    "render": Command(
        ("render", "report.json", "-f", "html=out.html", "-f", "table"), ("out.html",)
    ),
    "run": Command(
        ("run", "-f", "json=out.json", "--stream", "events.jsonl", "train.py"),
        ("out.json", "events.jsonl"),
    ),
    "snapshot": Command(("snapshot", "model.py", "-o", "out.yaml", "--force"), ("out.yaml",)),
    "ranks": Command(
        ("grads", "model.py", "--nproc", "2", "-f", "json=out.json"),
        ("out.json", "out.rank1.json"),
    ),
    "tensorboard": Command(
        ("grads", "model.py", "-f", "tensorboard=board", "-f", "table"), (), ("board",)
    ),
    "save": Command(("trace", "-c", "save.yaml"), (), ("saved",)),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command runs, and what is wrong there.

    `folder` is the working folder, `temporary` is $TMPDIR. `streams` are files or devices in place
    of captured streams, by their number. `faults` are those of the forked runner.
    """

    folder: Path
    temporary: Path
    env: Mapping[str, str]
    streams: Mapping[int, int] = field(default_factory=dict)
    faults: Mapping[str, Any] = field(default_factory=dict)
    server: Server | None = None

    def with_env(self, **names: str | None) -> Place:
        """Return the place with other variables; None removes one."""
        env = {**self.env, **{k: v for k, v in names.items() if v is not None}}
        return replace(self, env={k: v for k, v in env.items() if names.get(k, "") is not None})


@dataclass(slots=True)
class Outcome:
    """How a command ended."""

    status: int
    out: str
    err: str

    def error(self) -> tuple[str, str, str]:
        """Return the three lines, which must be the last of stderr."""
        lines = self.err.splitlines()[-3:]
        assert len(lines) == 3, self.err
        for line, start in zip(lines, ("error: ", "  --> ", "hint: "), strict=True):
            assert line.startswith(start), self.err
        return lines[0][7:], lines[1][6:], lines[2][6:]


def laid_out(where: Path) -> Place:
    """Make the folders and the files of the commands."""
    folder, temporary, home = (where / name for name in ("work", "tmp", "home"))
    for path in (folder, temporary, home):
        path.mkdir(parents=True)
    write_files(folder)
    env = {k: v for k, v in os.environ.items() if k not in _UNSET}
    env |= {"TMPDIR": str(temporary), "HOME": str(home), "PYTHONPATH": str(ROOT)}
    return Place(folder, temporary, env)


_UNSET = {"COLUMNS", "GITHUB_ACTIONS", "NO_COLOR", "FORCE_COLOR", "TMPDIR"}


def write_files(folder: Path) -> None:
    """Write the files that the commands read."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "report.json").write_text(report())


def report() -> str:
    """Return a report of `hookcli grads`, made once."""
    global _report
    if _report is None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "model.py").write_text(MODEL)
            env = {**os.environ, "PYTHONPATH": str(ROOT)}
            args = ["grads", "model.py", "-f", "json"]
            status, out, err = forks(late_imports=True).run(args, Path(folder), env, None, 120)
            assert status == 0, err
            _report = out
    return _report


_report: str | None = None


def run(command: Command, place: Place) -> Outcome:
    """Run a command in a fork that has torch already."""
    with contextlib.ExitStack() as stack:
        captured = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        streams = [place.streams.get(i, file.fileno()) for i, file in enumerate(captured)]
        server = place.server or forks(late_imports=True)
        started = server.start(
            streams,
            list(command.arguments),
            place.folder,
            dict(place.env),
            faults=dict(place.faults),
        )
        try:
            status = started.wait(120)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait(10)
            raise
        out, err = (_text(file) for file in captured[1:])
    return Outcome(status, out, err)


def run_real(command: Command, place: Place, **more: Any) -> Outcome:
    """Run a command as a user starts it."""
    done = subprocess.run(
        [sys.executable, "-m", "hookcli", *command.arguments],
        cwd=place.folder, env=dict(place.env), capture_output=True, timeout=120,
        stdin=subprocess.DEVNULL, **more,
    )  # fmt: skip
    out, err = (data.decode("utf-8", "replace") for data in (done.stdout, done.stderr))
    return Outcome(done.returncode, out, err)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def problems(
    command: Command, place: Place, before: Mapping[str, str], outcome: Outcome
) -> Iterator[str]:
    """Yield what is wrong after a command, whether it worked or was refused."""
    worked = outcome.status in {command.status, 0}
    if outcome.status not in {0, 1, 2, 3, 141}:
        yield f"status {outcome.status}"
    for word in ("Traceback", "BrokenPipeError", "Exception ignored", "UnicodeEncodeError"):
        if word in outcome.err:
            yield f"{word} on stderr"
    if outcome.status in {2, 3} and not ({1, 2} & set(place.faults.get("closed", ()))):
        if outcome.err or 2 not in place.streams:
            try:
                outcome.error()
            except AssertionError:
                yield "no three lines"
        if outcome.status == 2 and outcome.out and 1 not in place.streams:
            yield "a report on stdout with status 2"
    yield from _changes(command, place, before, worked=worked)
    keeps = command.keeps or "torchinductor_"  # torch makes that folder when it is imported
    left = sorted(f.name for f in _files(place.temporary) if not f.name.startswith(keeps))
    if left:
        yield f"left in TMPDIR: {left}"


def _files(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _changes(
    command: Command, place: Place, before: Mapping[str, str], *, worked: bool
) -> Iterator[str]:
    after = listing(place.folder) if place.folder.is_dir() else {}
    allowed = set(command.writes)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name):
            continue
        inside = any(name.startswith(f"{folder}/") for folder in command.folders)
        if name not in allowed and not inside:
            yield f"{name} was changed, made or removed"
        elif name not in after:
            yield f"{name} was removed"
        elif not is_whole(place.folder / name):
            yield f"{name} is not whole"
    if worked:
        yield from (f"{name} is missing" for name in command.writes if name not in after)


def is_whole(file: Path) -> bool:
    """Return whether a file is complete, as its suffix says."""
    try:
        if file.suffix == ".jsonl":  # perhaps without a line
            return all(json.loads(line) for line in file.read_text().splitlines())
        if file.name.startswith(".") or not file.stat().st_size:
            return False
        if file.suffix == ".json":
            return bool(json.loads(file.read_text()))
        if file.suffix == ".yaml":
            return "checks" in yaml.safe_load(file.read_text())
    except ValueError:
        return False
    return file.suffix != ".html" or file.read_text().endswith("</html>\n")


def checked(command: Command, place: Place) -> Outcome:
    """Run a command, and check what it leaves behind."""
    before = listing(place.folder) if place.folder.is_dir() else {}
    outcome = run(command, place)
    wrong = [*problems(command, place, before, outcome)]
    left = (place.server or forks(late_imports=True)).left_over()
    if left:
        wrong.append(f"processes are left: {left}")
    assert not wrong, (wrong, outcome)
    return outcome


def old_outputs(command: Command, folder: Path) -> Sequence[str]:
    """Write earlier outputs of a command, which must stay if it cannot write new ones."""
    text = {".json": '{"old": 1}', ".jsonl": '{"old": 1}\n', ".yaml": "checks: []\n"}
    for name in command.writes:
        (folder / name).write_text(text.get(Path(name).suffix, "old</html>\n"))
    return command.writes

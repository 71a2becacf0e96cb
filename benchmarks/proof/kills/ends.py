"""How trainings are ended: by themselves, by signals from outside, and by limits of the system."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.proof.kills.scripts import HEAD, TRAININGS

ROOT = Path(__file__).resolve().parents[3]
HOOKCLI = ("-m", "hookcli")
RUN = (*HOOKCLI, "run", "-o", "run.json")
MARK = "HOOKCLI_KILLS_MARK"
SIGNALS = {
    "SIGKILL": [signal.SIGKILL],
    "SIGTERM": [signal.SIGTERM],
    "SIGINT": [signal.SIGINT],
    "SIGHUP": [signal.SIGHUP],
    "SIGTERM, SIGKILL": [signal.SIGTERM, signal.SIGKILL],
    "SIGINT, SIGKILL": [signal.SIGINT, signal.SIGKILL],
}
DISK_FULL = ("disk full", "disk full, SIGKILL", "disk full, temporary files too")
OWN = (
    "os._exit", "sys.exit", "exception", "segmentation fault", "abort", "traceback and exit",
    "alarm", "no processor time left", "no memory left",
)  # fmt: skip
ENDS = (*SIGNALS, "SIGKILL", "os._exit", "no memory left", *OWN, "SIGTERM", "SIGKILL", *DISK_FULL)
_TMPFS = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=777", "tmpfs"]
TARGETS = ("command", "script", "group")
PATIENCE = 120.0
EARLY = 0.12  # of the signals come at any time since the start, before the first step or not


@dataclass(frozen=True)
class Kill:
    """One end of one training. `after` and `apart` are seconds, `at` is a step."""

    training: str
    end: str
    target: str
    after: float
    at: int
    apart: float
    is_early: bool

    @classmethod
    def of(cls, seed: int, number: int) -> Kill:
        """Return a kill, which depends on both numbers only."""
        chance = Random(f"{seed} {number}")
        end = ENDS[number % len(ENDS)]
        is_outside = end in SIGNALS
        return cls(
            training=chance.choice([*TRAININGS]),
            end=end,
            target=chance.choice(TARGETS) if is_outside else "",
            after=round(chance.uniform(0, 2.5), 3),
            at=chance.randrange(0, 60) if chance.random() < 0.6 else chance.randrange(60, 600),
            apart=round(chance.uniform(0, 0.6), 3),
            is_early=chance.random() < EARLY and is_outside,
        )


@dataclass(frozen=True)
class Place:
    """The folders of a run: its working directory, its output, and its temporary files."""

    work: Path
    output: Path
    temporary: Path

    @classmethod
    @contextlib.contextmanager
    def make(cls, folder: Path, kill: Kill) -> Iterator[Place]:
        """Make the folders. For a full disk, the working directory is a small one."""
        place = cls(folder / "work", folder / "output", folder / "temporary")
        for path in (place.work, place.output, place.temporary):
            path.mkdir(parents=True)
        is_small = kill.end in DISK_FULL
        if is_small:
            subprocess.run([*_TMPFS, str(place.work)], check=True)
        try:
            if kill.end.endswith("too"):
                place.temporary.rmdir()
                place = cls(place.work, place.output, place.work / "temporary")
                place.temporary.mkdir()
            (place.work / "train.py").write_text(HEAD + TRAININGS[kill.training])
            yield place
        finally:
            if is_small:
                subprocess.run(["umount", "-l", str(folder / "work")], check=True)

    @property
    def out(self) -> Path:
        """What the script has printed."""
        return self.output / "out"

    @property
    def err(self) -> Path:
        """What the script and hookcli have written to stderr."""
        return self.output / "err"


def can_mount() -> bool:
    """Return whether a small disk can be mounted, which takes the rights of root."""
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "--mount", *_TMPFS, "/mnt"]
    return subprocess.run(command, capture_output=True).returncode == 0


def environment(place: Place, mark: str) -> dict[str, str]:
    own = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "TMPDIR": str(place.temporary)}
    return {**os.environ, **own, MARK: mark}


def end_training(before: tuple[str, ...], kill: Kill, place: Place, mark: str) -> int:
    """Run a training until it has ended, and return its status as of `subprocess`."""
    steps, after = str(kill.at), str(kill.after)
    command = [sys.executable, *before, "train.py", kill.end, steps, after]
    with place.out.open("w") as out, place.err.open("w") as err:
        process = subprocess.Popen(
            command, cwd=place.work, env=environment(place, mark), stdout=out, stderr=err,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    try:
        if kill.end in SIGNALS:
            _send(process, kill, place)
        return process.wait(PATIENCE)
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _send(process: subprocess.Popen[bytes], kill: Kill, place: Place) -> None:
    """Send the signals of a kill: so many seconds after the first step, or after the start."""
    until = time.monotonic() + PATIENCE
    while not kill.is_early and place.out.read_bytes().count(b"\n") < 2:
        if time.monotonic() > until or process.poll() is not None:
            return
        time.sleep(0.005)
    time.sleep(kill.after)
    for number, which in enumerate(SIGNALS[kill.end]):
        if number:
            time.sleep(kill.apart)
        with contextlib.suppress(ProcessLookupError):
            _kill(process, kill.target, which, place)


def _kill(process: subprocess.Popen[bytes], target: str, which: int, place: Place) -> None:
    first = place.out.read_text().partition("\n")[0].split()
    if process.poll() is not None:
        return  # its number may be that of another process
    if target == "group":
        os.killpg(process.pid, which)
    elif target == "script" and first[:1] == ["pid"]:
        os.kill(int(first[1]), which)
    else:
        process.send_signal(which)


def left_over(mark: str, seconds: float = 30.0) -> list[str]:
    """Return the command lines of processes that have inherited a mark and do not end."""
    until = time.monotonic() + seconds
    while (found := _marked(mark)) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def _marked(mark: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if f"{MARK}={mark}\0".encode() not in (entry / "environ").read_bytes():
                continue
            if (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append((entry / "cmdline").read_text().replace("\0", " ")[:200])
        except OSError:
            continue
    return found

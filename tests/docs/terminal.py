"""A terminal in which the commands of a page run, one after another."""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import SAMPLES, run_cli, run_python

WIDTH = 100
_COMMENT = re.compile(r"^(?P<command>.*?)(?:(?:^|\s+)#(?: (?P<comment>.*))?)?$")
# A line of torch's own log begins with a time: `[rank0]:[W1122 14:43:07.297530416 reducer.cpp`.
_TORCH_LOG = re.compile(r"^(\[rank\d+\]:)?\[[WEI]\d{4} \d\d:\d\d:\d\d")
_STATUS = re.compile(r"\bstatus (\d+)\b")


@dataclass(frozen=True)
class Command:
    """A line that is typed, as the words of a shell."""

    words: list[str]
    status: int  # what its comment says, else 0
    to: str | None  # the file after `>`

    @classmethod
    def read(cls, line: str) -> Command | None:
        """The command of a line; None where it is only a comment."""
        parts = _COMMENT.match(line)
        assert parts is not None
        words = shlex.split(parts["command"])
        if not words:
            return None
        status = _STATUS.search(parts["comment"] or "")
        to = None
        if words[-2:-1] == [">"]:
            *words, _, to = words
        return cls(words, int(status[1]) if status else 0, to)


class Terminal:
    """A working folder with the sample models, and the status of the last command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.status = 0
        hidden = shutil.ignore_patterns("__pycache__", "features")
        shutil.copytree(SAMPLES, folder / "sample_models", ignore=hidden)

    def write(self, name: str, text: str) -> None:
        """A file of the page."""
        path = (self.folder / name).resolve()
        assert path.is_relative_to(self.folder.resolve()), f"{name} is outside the page's folder"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, command: Command) -> list[str]:
        """What a command prints, stdout before stderr, as lines without blanks at their ends."""
        words, err_shown = command.words, True
        if words[-1:] == ["2>/dev/null"]:
            words, err_shown = words[:-1], False
        out, err = self._run(words)
        err = err if err_shown else ""
        if command.to is not None:
            self.write(command.to, out)
            out = ""
        lines = [line.rstrip() for line in (out + err).split("\n") if not _TORCH_LOG.match(line)]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def _run(self, words: list[str]) -> tuple[str, str]:
        name, *arguments = words
        if name == "cat":
            self.status = 0
            return "".join((self.folder / file).read_text() for file in arguments), ""
        if words == ["echo", "$?"]:
            status, self.status = self.status, 0
            return f"{status}\n", ""
        runners = {"hookcli": run_cli, "python": run_python}
        assert name in runners, f"cannot run `{name}`: mark the block `<!-- not run: reason -->`"
        done = runners[name](*arguments, cwd=self.folder, COLUMNS=str(WIDTH))
        self.status = done.status
        return done.out, done.err

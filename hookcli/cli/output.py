"""Formats and files: what goes to stdout, what to disk, whole or not at all."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hookcli.cli.ci import write_summary
from hookcli.cli.errors import exit_status
from hookcli.console import Console
from hookcli.errors import RequestError
from hookcli.formats.registry import FORMATS
from hookcli.rules.verdict import verdict_of
from hookcli.text import nearest, try_instead

if TYPE_CHECKING:
    from hookcli.cli.flags.options import OutputFlags
    from hookcli.formats.view import View
    from hookcli.report.report import Report


@dataclass(frozen=True, slots=True)
class Target:
    """A format and the file it goes to; None is stdout."""

    format: str
    file: Path | None


def has_stdout(targets: Sequence[Target]) -> bool:
    """Whether one of the targets is stdout."""
    return any(target.file is None for target in targets)


def parse_targets(flags: OutputFlags, *, read: Sequence[str]) -> tuple[Target, ...]:
    """What `-f` and `-o` ask for, checked so that a run is not for nothing.

    `read` are the files that the command reads: none of them is written. "-" is stdout.

    Raises
    ------
    RequestError : an unknown format, two for stdout, a file that cannot or must not be written.

    """
    formats, output = flags.formats, flags.output
    targets = [_target(text) for text in formats or ["table"]]
    if output is not None:
        if len(targets) > 1 or targets[0].file is not None:
            raise RequestError(
                "-o names the file of a single format",
                place=f"-o {output}",
                hint="name each format's file with it: -f json=report.json -f table",
            )
        targets = [Target(targets[0].format, _file(output))]
    if sum(target.file is None for target in targets) > 1:
        raise RequestError(
            "two formats cannot share stdout",
            place=" ".join(f"-f {text}" for text in formats),
            hint="give all but one a file: -f json=report.json",
        )
    files = [os.path.realpath(target.file) for target in targets if target.file is not None]
    if len(set(files)) < len(files):
        raise RequestError(
            "two formats cannot share a file",
            place=" ".join(f"-f {text}" for text in formats),
            hint="give each a file of its own",
        )
    for target in targets:
        if target.file is not None:
            check_writable(target.file)
            _check_not_read(target.file, read)
    return tuple(targets)


def _target(text: str) -> Target:
    name, given, file = text.partition("=")
    if name not in FORMATS:
        guess = nearest(name, FORMATS)
        raise RequestError(
            f"there is no format '{name}'",
            place=f"-f {text}",
            hint=try_instead(guess, f"formats are {', '.join(FORMATS)}"),
        )
    if given and not file:
        raise RequestError(
            "the file's name is missing", place=f"-f {text}", hint=f"write -f {name}=FILE"
        )
    return Target(name, _file(file) if file else None)


def _file(text: str) -> Path | None:
    return None if text == "-" else Path(text)


def _unwritable(file: Path, why: str) -> RequestError:
    return RequestError(
        f"{file} cannot be written: {why}", place=str(file), hint="name a file in a folder of yours"
    )


def check_writable(file: Path) -> None:
    """Check that a file can be made, or written over.

    Raises
    ------
    RequestError : it cannot.

    """
    folder = file.parent
    try:
        if not folder.is_dir():
            raise _unwritable(file, f"there is no folder {folder}")
        mode = file.stat().st_mode
    except FileNotFoundError:
        mode = None
    except OSError as error:  # a name that is too long, a loop of links
        raise _unwritable(file, error.strerror or str(error)) from None
    if mode is not None and stat.S_ISDIR(mode):
        raise _unwritable(file, "it is a directory")
    if mode is not None and not stat.S_ISREG(mode):
        return  # a device or a pipe, such as /dev/null: written in place
    if not os.access(folder, os.W_OK) or (mode is not None and not os.access(file, os.W_OK)):
        raise _unwritable(file, "permission denied")


def check_stream(name: str | None, targets: Sequence[Target], read: Sequence[str]) -> None:
    """Check the file that events are written to as they happen.

    Raises
    ------
    RequestError : it cannot be written, the command reads it, or a format goes there too.

    """
    if name is None:
        return
    if name == "-":
        raise RequestError(
            "events cannot go to stdout, where the report goes",
            place="--stream -",
            hint="name a file, or leave --stream out and take -f json",
        )
    file = Path(name)
    check_writable(file)
    _check_not_read(file, read)
    files = [target.file for target in targets if target.file is not None]
    if any(os.path.realpath(other_file) == os.path.realpath(file) for other_file in files):
        raise _unwritable(file, "a format goes there too")


def _check_not_read(file: Path, read: Sequence[str]) -> None:
    for name in read:
        same = False
        with contextlib.suppress(OSError):  # one of the two is not there
            same = file.samefile(name)
        if same:
            raise _unwritable(file, f"the command reads {name}, which is the same file")


def write_file(file: Path, text: str) -> None:
    """Write a file whole: beside it first, then in its place. What stood there stays on failure.

    Raises
    ------
    RequestError : it cannot be written.

    """
    data = text.encode("utf-8", "backslashreplace")
    try:
        if file.exists() and not file.is_file():
            file.write_bytes(data)
            return
        target = Path(os.path.realpath(file))  # a link keeps its place; what it names changes
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    except OSError as error:
        raise _unwritable(file, error.strerror or str(error)) from None
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        if isinstance(error, OSError):
            raise _unwritable(file, error.strerror or str(error)) from None
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def deliver(report: Report, targets: tuple[Target, ...], view: View, console: Console) -> None:
    """Render each format and put it where it goes: files first, stdout last.

    What has a summary for a CI step too adds it where the CI runner wants it.
    """
    status = exit_status(verdict_of(report, view.fail_on))
    view = dataclasses.replace(view, exit_status=int(status))
    rendered = [(target, FORMATS[target.format](report, view)) for target in targets]
    write_files(rendered)
    if any(FORMATS[target.format].has_step_summary for target in targets):
        write_summary(report, view, console)
    print_texts(rendered, console)


def write_files(rendered: Sequence[tuple[Target, str]]) -> None:
    """Write the texts whose targets are files.

    Raises
    ------
    RequestError : a file cannot be written.

    """
    for target, text in rendered:
        if target.file is not None:
            write_file(target.file, text)


def print_texts(rendered: Sequence[tuple[Target, str]], console: Console) -> None:
    """Write the text whose target is stdout there."""
    for target, text in rendered:
        if target.file is None:
            console.out(text)

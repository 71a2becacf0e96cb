"""Formats and output files. A file is written completely or not at all."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hookcli.cli.ci import write_summary
from hookcli.cli.errors import exit_status
from hookcli.cli.targets.folders import add_files, check_folder_format
from hookcli.cli.targets.result_listener import tell
from hookcli.console import Console, stdout_is_terminal
from hookcli.errors import RequestError, Status
from hookcli.formats.check.merged import merged
from hookcli.formats.registry import FORMATS, SUFFIXES, formats_of
from hookcli.formats.results import Kind, Result, kind_of
from hookcli.outputs.special_files import KEEP_READING, NO_READER, hold, is_in_place
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.report.weights.weights_report import WeightsReport
from hookcli.rules.verdict import verdict_of
from hookcli.sentences import cannot_write, unknown
from hookcli.text import nearest, try_instead
from hookcli.whole_files import replacing, write_whole

if TYPE_CHECKING:
    from hookcli.cli.flags.options import OutputFlags
    from hookcli.formats.view import View
    from hookcli.rules.verdict import FailOn


@dataclass(frozen=True, slots=True)
class Target:
    """A format and its file; None is stdout."""

    format: str
    file: Path | None


def has_stdout(targets: Sequence[Target]) -> bool:
    """Return whether one of the targets is stdout."""
    return any(target.file is None for target in targets)


def parse_targets(
    flags: OutputFlags,
    *,
    read: Sequence[str],
    console: Console,
    kinds: Sequence[Kind] = ("report",),
    default: str = "table",
    by_this_process: bool = True,
) -> tuple[Target, ...]:
    """Return the targets of `-f` and `-o`, checked before the run.

    `read` are the files that the command reads; none of them may be written. "-" is stdout. The
    command shows a result of one of the `kinds`, in the `default` format if none is given. See
    `check_writable` about `by_this_process`.

    Raises
    ------
    RequestError : a format is unknown or does not fit, two formats have the same target, or a file
        cannot or must not be written.

    """
    targets = _named(flags, kinds, default, console)
    given = " ".join(f"-f {text}" for text in flags.formats)
    if sum(target.file is None for target in targets) > 1:
        raise RequestError(
            "two formats cannot share stdout",
            place=given,
            hint="give all formats but one a file: `-f json=report.json`",
        )
    files = [os.path.realpath(target.file) for target in targets if target.file is not None]
    if len(set(files)) < len(files):
        raise RequestError(
            "two formats cannot share a file",
            place=given if flags.output is None else f"{given} -o {flags.output}",
            hint="give each format a separate file",
        )
    for target in targets:
        _check_target(target, read, kinds, by_this_process=by_this_process)
    return tuple(targets)


def _named(
    flags: OutputFlags, kinds: Sequence[Kind], default: str, console: Console
) -> list[Target]:
    """Return the targets that the flags name; `-o` is the file of the format that has none."""
    targets, output = [_target(text) for text in flags.formats], flags.output
    if output is None:
        return targets or [Target(default, None)]
    without = [i for i, text in enumerate(flags.formats) if "=" not in text]
    if len(without) > 1:
        raise RequestError(
            "-o cannot be combined with several formats without a file",
            place=f"-o {output}",
            hint="write the file after its format: `-f json=report.json -f table`",
        )
    if not without:
        return [*targets, _target_of_suffix(output, kinds, default, console)]
    name = targets[without[0]].format
    file = _file(output, writes_folder=FORMATS[name].writes_folder)
    targets[without[0]] = Target(name, file)
    _tell_other_suffix(output, name, kinds, console)
    return targets


def _tell_other_suffix(output: str, name: str, kinds: Sequence[Kind], console: Console) -> None:
    """Tell that a format for people goes to a file whose suffix is that of another format."""
    row = SUFFIXES.get(Path(output).suffix.lower())
    if not FORMATS[name].printer or row is None or row.name == name:
        return
    if set(row.kinds) & set(kinds):
        console.note(
            f"{output} gets the format {name}, because of `-f {name}`: "
            f"pass `-f {name} -f {row.name}={shlex.quote(output)}` for both"
        )


def _target_of_suffix(output: str, kinds: Sequence[Kind], default: str, console: Console) -> Target:
    """Return the target of `-o` without a format: that of the suffix, if a format has it."""
    file = _file(output, writes_folder=False)
    row = None if file is None else SUFFIXES.get(file.suffix.lower())
    if row is None or row.name == default:
        return Target(default, file)
    if not set(row.kinds) & set(kinds):
        console.note(f"{output} gets the format {default}: {_unsupported(row.name, kinds[0])}")
        return Target(default, file)
    console.note(
        f"{output} gets the format {row.name}, because of its suffix: "
        f"pass `-f {default}` for the format {default}"
    )
    return Target(row.name, file)


def _check_target(
    target: Target, read: Sequence[str], kinds: Sequence[Kind], *, by_this_process: bool
) -> None:
    row = FORMATS[target.format]
    if not set(row.kinds) & set(kinds):
        raise unsupported(row.name, kinds[0])
    if row.writes_folder:
        check_folder_format(row, target.file)
    elif target.file is not None:
        check_writable(target.file, by_this_process=by_this_process)
        _check_not_read(target.file, read)
    elif row.opened_by and stdout_is_terminal():
        raise RequestError(
            f"the format {row.name} is for {row.opened_by}, and stdout is a terminal",
            place=f"-f {row.name}",
            hint=f"write it to a file: `-f {row.name}=report.{row.name}`",
        )


_NOUNS: dict[Kind, str] = {
    "report": "the report of a run",
    "run": "the report of a training script",
    "diff": "diff",
    "rundiff": "diff",
    "weights": "the report of weights",
    "weights_diff": "the comparison of weights",
}


def _unsupported(name: str, kind: Kind) -> str:
    return f"{_NOUNS[kind]} does not support format '{name}'"


def unsupported(name: str, kind: Kind) -> RequestError:
    """Return the error for a format that does not support results of a kind."""
    return RequestError(
        _unsupported(name, kind),
        place=f"-f {name}",
        hint=f"choose from {', '.join(formats_of(kind))}",
    )


def _target(text: str) -> Target:
    name, given, file = text.partition("=")
    if name not in FORMATS:
        meant = SUFFIXES.get(f".{name.lower()}")  # of `-f md`, as of `-o report.md`
        guess = nearest(name, FORMATS) if meant is None else meant.name
        raise RequestError(
            unknown("format", name),
            place=f"-f {text}",
            hint=try_instead(guess, f"choose from {', '.join(FORMATS)}"),
        )
    if given and not file:
        what, value = ("folder", "DIR") if FORMATS[name].writes_folder else ("file", "FILE")
        raise RequestError(
            f"the name of the {what} is missing",
            place=f"-f {text}",
            hint=f"write `-f {name}={value}`",
        )
    writes_folder = FORMATS[name].writes_folder
    return Target(name, _file(file, writes_folder=writes_folder) if file else None)


def _file(text: str, *, writes_folder: bool) -> Path | None:
    if text == "-":
        return None
    return Path(text) if writes_folder else file_of(text)


def file_of(text: str) -> Path:
    """Return the file that the user named.

    Raises
    ------
    RequestError : the name ends with a slash, as that of a folder, which a path would lose.

    """
    if text.endswith((os.sep, os.altsep or os.sep)):
        raise RequestError(
            cannot_write(text, "a name with a slash at its end is that of a folder"),
            place=text,
            hint="add the name of a file, or remove the slash",
        )
    return Path(text)


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def _unwritable(file: Path, why: str, number: int | None = None) -> RequestError:
    hint = "choose a file in a folder that you can write to"
    if number in _FULL:
        hint = "free disk space, or choose a file on another disk"
    elif why == NO_READER:
        hint = f"start the reader first, such as `cat {shlex.quote(str(file))}`, or choose a file"
    elif number in {errno.EPIPE, errno.ETIMEDOUT}:
        hint = KEEP_READING
    return RequestError(cannot_write(file, why), place=str(file), hint=hint)


def check_writable(file: Path, *, by_this_process: bool = True) -> None:
    """Check that a file can be created or overwritten.

    A named pipe must have a reader, who is waited for. It is kept open, unless another process
    writes it later: its reader would see the end of the pipe when this process ends.

    Raises
    ------
    RequestError : it cannot.

    """
    folder = file.parent
    try:
        if not folder.is_dir():
            raise _unwritable(file, _no_folder(folder))
        if not file.is_dir() and is_in_place(file):
            hold(file, by_this_process=by_this_process)
            return
        exists = _exists(file)
        if file.is_symlink():  # else a folder above may not be searchable
            folder = Path(os.path.realpath(file)).parent
            if not folder.is_dir():
                raise _unwritable(file, _no_folder(folder))
    except OSError as error:  # a name that is too long, a loop of links
        raise _unwritable(file, error.strerror or str(error), error.errno) from None
    if file.is_dir():
        raise _unwritable(file, "is a directory")
    # A file may be writable in a folder that is not: it is then written in place.
    if not os.access(file if exists else folder, os.W_OK):
        raise _unwritable(file, "permission denied")


def _no_folder(path: Path) -> str:
    return f"{path} is not a folder" if path.exists() else f"folder not found: {path}"


def _exists(file: Path) -> bool:
    """Return whether a file exists.

    Raises
    ------
    OSError : its name is too long, or a loop of links.
    """
    try:
        file.stat()
    except FileNotFoundError:
        return False
    return True


def check_new(file: Path, hint: str) -> None:
    """Check that a file can be created and does not exist.

    Raises
    ------
    RequestError : it cannot be created, or exists; then `hint` is the error's.

    """
    check_writable(file)
    if file.is_file() or file.is_symlink():
        raise RequestError(f"{file} already exists", place=f"-o {file}", hint=hint)


def check_stream(
    name: str | None,
    targets: Sequence[Target],
    read: Sequence[str],
    *,
    by_this_process: bool = True,
) -> None:
    """Check the file of --stream.

    Raises
    ------
    RequestError : it cannot be written, the command reads it, or it is also a format's file.

    """
    if name is None:
        return
    if name == "-":
        raise RequestError(
            "--stream cannot write to stdout, which gets the report",
            place="--stream -",
            hint="give a file, or use `-f json` instead",
        )
    check_separate(name, targets, read, by_this_process=by_this_process)


def check_separate(
    name: str,
    targets: Sequence[Target],
    read: Sequence[str],
    *,
    by_this_process: bool = True,
) -> None:
    """Check a file that the command writes in addition to those of formats.

    Raises
    ------
    RequestError : it cannot be written, the command reads it, or it is also a format's file.

    """
    file = file_of(name)
    check_writable(file, by_this_process=by_this_process)
    _check_not_read(file, read)
    files = [target.file for target in targets if target.file is not None]
    if any(os.path.realpath(other_file) == os.path.realpath(file) for other_file in files):
        raise _unwritable(file, "a format has the same file")


def _check_not_read(file: Path, read: Sequence[str]) -> None:
    for name in read:
        same = False
        with contextlib.suppress(OSError):  # one of the two does not exist
            same = file.samefile(name)
        if same:
            raise _unwritable(file, f"it is the same file as {name}, which the command reads")


def write_file(file: Path, content: str | bytes) -> None:
    """Write a file completely: a temporary file in the same folder replaces it at the end.

    If that fails, an existing file is unchanged.

    Raises
    ------
    RequestError : the file cannot be written.

    """
    with _refusing(file):
        write_whole(file, _encoded(content))


def _encoded(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")


def deliver(
    result: Result,
    targets: Sequence[Target],
    view: View,
    console: Console,
    beside: Sequence[tuple[Path, str]] = (),
) -> None:
    """Render each format and write it: files first, stdout last.

    Files `beside` the formats, such as a baseline, are written if all others can be.
    A format with a summary for a CI step also appends that to the file that the CI runner names.

    Raises
    ------
    RequestError : a file cannot be written, or the result does not support a format.
    """
    tell(result)
    view = dataclasses.replace(view, exit_status=status_of(result, view.fail_on))
    contents: list[tuple[Path, str | bytes]] = []
    folders: list[tuple[Path, Mapping[str, bytes]]] = []
    printed: list[str | bytes] = []
    for target in targets:
        row, shown = FORMATS[target.format], view_for(target, view, console)
        if (kind := kind_of(result)) not in row.kinds:
            raise unsupported(row.name, kind)
        if row.writes_folder and target.file is not None:
            folders.append((target.file, row.files(result, shown)))
        elif target.file is not None:
            contents.append((target.file, row.render(result, shown)))
        else:
            printed.append(row.render(result, shown))
    write_files([*contents, *beside], folders)
    summarized = any(FORMATS[target.format].has_step_summary for target in targets)
    if summarized and isinstance(result, Report | TrainingReport):
        write_summary(result, view, console)
    for content in printed:
        console.out(content)


def status_of(result: Result, fail_on: FailOn) -> int:
    """Return the exit status of a result: that of a training is the script's, unless it is 0."""
    if isinstance(result, TrainingReport):
        verdict = verdict_of(merged(result), fail_on)
        return result.script.status or int(exit_status(verdict))
    if isinstance(result, Report):
        return int(exit_status(verdict_of(result, fail_on)))
    if isinstance(result, WeightsReport):
        return int(Status.FINE)
    fine = result.verdict == "same" or fail_on == "never"
    return int(Status.FINE if fine else Status.FINDINGS)


def view_for(target: Target, view: View, console: Console) -> View:
    """The view as a target gets it: a file has colour only where that was asked for."""
    if target.file is None or console.color == "always":
        return view
    return dataclasses.replace(view, color=False)


def write_files(
    contents: Sequence[tuple[Path, str | bytes]],
    folders: Sequence[tuple[Path, Mapping[str, bytes]]] = (),
) -> None:
    """Write each file, and add files to folders. If one cannot be written, none is replaced.

    Raises
    ------
    RequestError : a file or a folder cannot be written.

    """
    with contextlib.ExitStack() as stack:
        for file, content in contents:
            with _refusing(file):  # the working folder may be gone
                in_place = is_in_place(file)
            if in_place:
                write_file(file, content)
                continue
            stack.enter_context(_refusing(file))
            stack.enter_context(replacing(file)).write_bytes(_encoded(content))
        for folder, files in folders:
            add_files(folder, files)


@contextlib.contextmanager
def _refusing(file: Path) -> Iterator[None]:
    """Turn an OSError into a RequestError about this file."""
    try:
        yield
    except OSError as error:
        raise _unwritable(file, error.strerror or str(error), error.errno) from None

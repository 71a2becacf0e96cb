"""The journal of a run: created beside its output before the script runs, removed after it."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from hookcli._version import __version__
from hookcli.cli.flags.script_options import TrainingPreset
from hookcli.config.presets import preset_hooks
from hookcli.errors import RequestError
from hookcli.outputs.special_files import is_in_place
from hookcli.report.journal.journal_entries import asks_of, header_line, journal_of
from hookcli.report.journal.journal_file import JournalFile, JournalInUseError
from hookcli.sentences import cannot_write
from hookcli.spec.hooks import HookSpec
from hookcli.spec.ranks import with_rank
from hookcli.spec.training import JournalPlace
from hookcli.system.unnamed_file import UnnamedFile
from hookcli.whole_files import remove_folder

if TYPE_CHECKING:
    from hookcli.cli.training.script_request import EndRequest, TrainingRequest


def with_journal(request: TrainingRequest, *, always: bool = False) -> TrainingRequest:
    """Return the request with a journal beside the first output that is a file.

    Without one, the run has no journal; if it has one `always`, that is a file without a name.
    Where no file can be created beside the output, the run has none.

    Raises
    ------
    RequestError : another run, which has not ended, has the same output.
    """
    output = _output(request.end)
    if os.name == "nt" or (output is None and not always):  # where the script is another process
        return request
    if output is None:
        return _with_unnamed_journal(request)
    path = journal_of(output)
    header = _header(request, output)
    file = None
    try:
        file = JournalFile.create(path)
        file.append(header)
    except JournalInUseError:
        raise RequestError(
            f"{output} is the output of a run that has not ended",
            place=path,
            hint="choose another file with `-o`, or end the other run first",
        ) from None
    except OSError as error:
        if file is not None:  # a full disk: it is empty
            file.close()
            remove_journal(path)
        why = cannot_write(path, error.strerror)
        request.end.console.note(f"the report is written at the end only: {why}")
        return request
    os.set_inheritable(file.handle, True)
    place = JournalPlace(path, file.handle, header, presets=_presets())
    job = replace(request.job, journal=place)
    return replace(request, job=job, end=replace(request.end, journal=path))


def _presets() -> dict[str, tuple[HookSpec, ...]]:
    """Return the hooks of the presets that `hookcli ask` may name while the script runs."""
    return {name: preset_hooks(name) for name in get_args(TrainingPreset)}


def _header(request: TrainingRequest, output: str | None) -> bytes:
    return header_line(
        {
            "hookcli": __version__,
            "at": time.time(),
            "pid": os.getpid(),
            "host": platform.node(),
            "output": output,
            "script": request.job.script.name,
            "arguments": list(request.job.script.arguments),
            "suppressions": [
                [s.rule, s.at, s.reason, s.place] for s in request.end.spec.suppressions
            ],
        }
    )


def _with_unnamed_journal(request: TrainingRequest) -> TrainingRequest:
    """Return the request with a journal that only this process reads, if the script is killed."""
    try:
        place = UnnamedFile.create()
        header = _header(request, None)
        JournalFile(place.path, place.handle).append(header)
    except OSError:  # a full disk: there is a report at the end only
        return request
    # The script's process opens it by its path: the descriptor is one of this process.
    job = replace(request.job, journal=JournalPlace(place.path, -1, header))
    return replace(request, job=job)


def _output(end: EndRequest) -> str | None:
    """Return the first output that is a regular file, of this rank."""
    for target in end.targets:
        file = target.file
        if file is not None and not is_in_place(file) and not file.is_dir():
            return with_rank(os.path.realpath(file), end.rank)
    return None


def remove_journal(path: str) -> None:
    """Remove a journal, whose training has a report now."""
    with contextlib.suppress(OSError):
        Path(path).unlink()
    remove_folder(asks_of(path))

"""Starts the Python that runs the script, and waits for it.

Where a process cannot be waited for as on Linux, Python replaces this process.
"""

from __future__ import annotations

import dataclasses
import json
import marshal
import os
import pickle
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import hookcli
from hookcli.cli.training.journal_start import remove_journal, with_journal
from hookcli.cli.training.script_request import TrainingRequest
from hookcli.cli.training.waiting import kept, settle
from hookcli.interpreters.start import become_python, python_command, start_apart
from hookcli.system.supervised_process import ProcessEnd, can_supervise, supervise
from hookcli.system.unnamed_file import UnnamedFile
from hookcli.worker.interpreter.start_failure import cannot_start

_PACKAGE = Path(hookcli.__file__).parent
_BOOTSTRAP = str(_PACKAGE / "training" / "script" / "importlib_bootstrap.py")
_WATCH = "hookcli.training.watch:start"
# The end runs in hookcli's own interpreter, with the packages that this process has found.
_END = """\
sys.path[:] = {path!r}
from hookcli.cli.training.end_of_run import main
main()
"""
_WATCH_FINDINGS = """\
sys.path[:] = {path!r}
from hookcli.cli.following.finding_watch import main
main()
"""


def launch(request: TrainingRequest) -> int:
    """Run the script, and return its exit status, which findings with --fail-on may change.

    Raises
    ------
    RequestError : the interpreter cannot be started, or another run has the same output.
    """
    script = request.job.script
    before = ["-m"] if script.is_module else ["--"] if script.name.startswith("-") else []
    command = [*before, script.name, *script.arguments]
    python = [request.python.path, *interpreter_flags()]
    environment = dict(os.environ)
    if request.job.training.eager:
        environment["TORCHDYNAMO_DISABLE"] = "1"
    if request.python.path != sys.executable:
        environment.pop("__PYVENV_LAUNCHER__", None)  # macOS: hookcli's own interpreter
    if environment.get("HOOKCLI_RUN") == "0":
        return _replace(request, [*python, *command], environment)
    if request.verify_neutral:
        from hookcli.cli.training.neutral_steps import plain_steps

        request = replace(request, end=replace(request.end, plain=plain_steps(request)))
    waits = can_supervise()
    request = with_journal(request, always=waits)
    try:
        if request.watch is not None:
            _watch_findings(request)
        end = _ended(request, python, command, environment) if waits else None
        if end is None:
            file = _write(_task(request, python, command))
            return _replace(request, [*python, _BOOTSTRAP, file, *command], environment)
    except BaseException:  # the script was not started
        if request.end.journal is not None:
            remove_journal(request.end.journal)
        raise
    return settle(request, *end)


def _ended(
    request: TrainingRequest, python: list[str], command: list[str], environment: dict[str, str]
) -> tuple[ProcessEnd, UnnamedFile] | None:
    """Wait for the script, and return its end and what it left; None if it was not started."""
    try:
        handover = UnnamedFile.create()
        file = _write(_task(request, python, command, handover))
        whole = [*python, _BOOTSTRAP, file, *command]
        keep = kept(request, handover)
        return supervise(lambda: become_python(whole, environment), keep), handover
    except OSError:  # the system refuses a process or a file
        return None


def _task(
    request: TrainingRequest,
    python: list[str],
    command: list[str],
    handover: UnnamedFile | None = None,
) -> dict[str, Any]:
    """Return the task of the script's process, as plain data."""
    script = request.job.script
    return {
        "python": python[0],
        "flags": python[1:],
        "command": command,
        "name": script.name,
        "arguments": list(script.arguments),
        "is_module": script.is_module,
        "source": script.source,
        "job": pickle.dumps(request.job, protocol=4),
        "watch": _WATCH,
        "end": pickle.dumps(request.end, protocol=4),
        "finish": python_command(sys.executable, _END.format(path=_path())),
        "quiet": request.end.console.quiet,
        "rank": request.end.rank,
        "journal": request.end.journal,
        "handover": None if handover is None else handover.path,
    }


def _watch_findings(request: TrainingRequest) -> None:
    """Start the process that tells findings while the script runs."""
    if request.watch is None or request.end.journal is None:
        return
    watch = dataclasses.asdict(dataclasses.replace(request.watch, journal=request.end.journal))
    code = _WATCH_FINDINGS.format(path=_path())
    start_apart(python_command(sys.executable, code, json.dumps(watch)), stderr=True)


def _path() -> list[str]:
    """Return sys.path of the process that ends the run: the script may change the folder."""
    return list(dict.fromkeys([*map(os.path.abspath, sys.path), str(_PACKAGE.parent)]))


def interpreter_flags() -> list[str]:
    """Return the flags with which `python FLAGS -m hookcli` was called, such as -W error and -u.

    Those of the command `hookcli` are not the user's, but of the first line of its file.
    """
    own = len(sys.orig_argv) - len(sys.argv) + 1
    head = sys.orig_argv[1:own]
    if head[-1:] == ["hookcli"] and len(head) > 1 and head[-2].endswith("m"):
        return [*head[:-2], *([head[-2][:-1]] if head[-2] != "-m" else [])]
    return []


def _write(boot: dict[str, Any]) -> str:
    """Return the descriptor or the path of a file with the task, which has no name if possible."""
    if os.name == "nt":
        handle, name = tempfile.mkstemp(prefix="hookcli-")
        with os.fdopen(handle, "wb") as named:
            named.write(marshal.dumps(boot, 2))
        return name
    with tempfile.TemporaryFile(prefix="hookcli-") as stream:
        stream.write(marshal.dumps(boot, 2))
        stream.flush()
        descriptor = os.dup(stream.fileno())
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.set_inheritable(descriptor, True)
    return str(descriptor)


def _replace(request: TrainingRequest, command: list[str], environment: dict[str, str]) -> int:
    try:
        return become_python(command, environment)
    except OSError as error:
        raise cannot_start(request.python, error) from None

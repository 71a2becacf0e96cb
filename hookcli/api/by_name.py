"""Checking a model that is given by name: runs `hookcli check` in a child process."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookcli.errors import BugError, HookcliError, ModelError, RequestError, Status
from hookcli.interpreters.start import hookcli_command, run_python
from hookcli.system.told_status import told_status
from hookcli.whole_files import private_folder

if TYPE_CHECKING:
    from hookcli.report.report import Report
    from hookcli.rules.verdict import FailOn


def check_named(
    source: str,
    config: Any,
    inputs: Any,
    flags: Mapping[str, Any],
    fail_on: FailOn | None,
) -> tuple[Report, FailOn]:
    """Return the checked report of MODEL, and which findings make it fail.

    Paths are relative to the working directory of this process.

    Raises
    ------
    RequestError, ModelError : `hookcli check` wrote no report.
    """
    with _file(config) as file:
        command = hookcli_command("check", "-f", "json", "-q", function="main_telling")
        command += [] if file is None else ["-c", file]
        for name, value in flags.items():
            values = value if isinstance(value, list | tuple) else [value]
            if value is not None and (name, value) != ("loss", "probe"):
                command += [f"--{name}={_text(name, item)}" for item in values]
        command += [f"--input={text}" for text in _inputs(inputs)]
        command += ["--", source]
        done = run_python(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        level = fail_on or _level(file)
    if not done.stdout.strip():
        raise _error(*told_status(done.stderr))
    from hookcli.report.schema import from_json

    return from_json(done.stdout), level


@contextlib.contextmanager
def _file(config: Any) -> Iterator[str | None]:
    """Yield the path of the configuration, as a file; None if there is no configuration."""
    from hookcli.config.from_python import as_document

    document = None if config is None else as_document(config)
    if document is None:
        yield None if config is None else str(config)
        return
    from hookcli.spec.yaml import flow

    for check in document.get("checks") or ():
        if isinstance(check, dict) and isinstance(check.get("report"), str):
            check["report"] = str(Path(check["report"]).absolute())
    document = _with_paths(document)
    with private_folder() as folder:
        path = Path(folder, "checks.yaml")
        path.write_text(flow(document), encoding="utf-8")
        yield str(path)


def _with_paths(value: Any) -> Any:
    """Return a part of a configuration with absolute paths of files that the working folder has.

    The file is in another folder, to which relative paths in it would be relative.
    """
    if isinstance(value, dict):
        return {key: _with_paths(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_paths(item) for item in value]
    if not isinstance(value, str) or "\0" in value:
        return value
    before, colon, name = value.rpartition(":")  # file.py:function
    path, end = (before, colon + name) if before.endswith(".py") else (value, "")
    is_file = os.path.splitext(path)[1] and os.path.isfile(path)  # noqa: PTH113, PTH122  # never raises
    return f"{Path(path).absolute()}{end}" if is_file else value


def _level(file: str | None) -> FailOn:
    from hookcli.config.load import read_config

    return (None if file is None else read_config(file).fail_on) or "error"


def _text(name: str, value: Any) -> str:
    if isinstance(value, str | int):
        return str(value)
    raise RequestError(
        f"{name} must be a string for a model that is given by name, got {type(value).__name__}",
        place=name,
        hint="pass the function's name, `file.py:function`, or pass the live module",
    )


def _inputs(inputs: Any) -> Sequence[str]:
    if inputs is None:
        return ()
    texts = (inputs,) if isinstance(inputs, str) else inputs
    if isinstance(texts, list | tuple) and all(isinstance(item, str) for item in texts):
        return texts
    raise RequestError(
        "inputs must be strings for a model that is given by name",
        place="inputs",
        hint='write `inputs="2x3x224x224"`, as for --input, or pass the live module',
    )


_KINDS: dict[int, type[HookcliError]] = {Status.REQUEST: RequestError, Status.MODEL: ModelError}


def _error(status: int | None, stderr: str) -> HookcliError:
    """Return the error that the three lines on the command's stderr describe."""
    parts = {"error: ": "", "  --> ": "", "hint: ": ""}
    for line in stderr.splitlines():
        for start in parts:
            if line.startswith(start):
                parts[start] = line.removeprefix(start)
    message, place, hint = parts.values()
    kind = BugError if status is None else _KINDS.get(status, BugError)
    ended = "ended early" if status is None else f"exited with status {status}"
    message = message or f"hookcli check {ended}"
    return kind(message, place=place, hint=hint, details=stderr)

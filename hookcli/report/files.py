"""Read saved reports, also for checks that compare with one."""

from __future__ import annotations

import codecs
import dataclasses
import os
import re
import shlex
import sys
from typing import TYPE_CHECKING

from hookcli.errors import RequestError
from hookcli.plain_files import near_file, read_bytes
from hookcli.report.journal.journal_entries import journal_of
from hookcli.report.journal.journal_reader import is_journal, read_journal
from hookcli.report.weights.weights_report import WEIGHTS_SCHEMA
from hookcli.sentences import cannot_read
from hookcli.text import try_instead

if TYPE_CHECKING:
    from hookcli.report.report import Report
    from hookcli.report.training import TrainingReport
    from hookcli.report.weights.weights_report import WeightsReport
    from hookcli.spec.checks import CheckSpec

_HINT = "run `hookcli inspect MODEL -f json=report.json` to write a report"
_OF_SCRIPT = (
    "run `hookcli run -o run.json {path}` if it trains, or `hookcli inspect {path} -o report.json`"
)
_WEIGHTS = re.compile(rb'"schema"\s*:\s*"hookcli\.weights(_diff)?/')
_TRAINING = re.compile(rb'"schema"\s*:\s*"hookcli\.run/')  # a quote in a string is escaped


def read_report(path: str) -> Report:
    """Read a report from a file; `-` is stdin.

    Raises
    ------
    RequestError : the file cannot be read, or is not a report.

    """
    text = _read_text(path)
    if _WEIGHTS.search(text):
        from hookcli.report.weights.checked_weights import as_report

        return as_report(_weights_report(path, text))
    if is_training(text):
        raise RequestError(
            f"{path} is the report of a training script",
            place=path,
            hint="run `hookcli render` or `hookcli diff` with it",
        )
    return _report(path, text)


def read_any_report(path: str) -> Report | TrainingReport:
    """Read a report, or the report of a training script, from a file.

    Raises
    ------
    RequestError : the file cannot be read, or is neither.
    """
    report = read_saved(path)
    if report.schema == WEIGHTS_SCHEMA:
        raise RequestError(
            f"{path} is the report of a file of weights, which has no values",
            place=path,
            hint="pass the files of weights themselves, or run `hookcli render` with it",
        )
    return report


def read_saved(path: str) -> Report | TrainingReport | WeightsReport:
    """Read a report, that of a training script, or that of weights; raises as above.

    The journal of a training that has no report yet is read too; its report is not judged.
    """
    path = journal_instead(path)
    text = _read_text(path)
    if is_journal(text):
        return read_journal(path, text, living=path != "-")
    if _WEIGHTS.search(text):
        return _weights_report(path, text)
    return _training_report(path, text) if is_training(text) else _report(path, text)


def journal_instead(path: str) -> str:
    """Return the journal of the run that writes this file, if it has one; else the file.

    A run removes its journal after it has written its report, so that the journal is newer.
    """
    if path in {"", "-"} or "\0" in path:
        return path
    journal = journal_of(os.path.realpath(path))  # a link is kept, and its target replaced
    return journal if os.path.isfile(journal) else path  # noqa: PTH113  # never raises


def is_training(text: bytes) -> bool:
    """Return whether a document is the report of a training script."""
    return _TRAINING.search(text) is not None


def _read_text(path: str) -> bytes:
    place = path or "''"
    try:
        text = sys.stdin.buffer.read() if path == "-" else read_bytes(path)
    except OSError as error:
        hint = _HINT if path == "-" else try_instead(near_file(path), _HINT)
        raise RequestError(cannot_read(place, error.strerror), place=place, hint=hint) from None
    text = text.removeprefix(codecs.BOM_UTF8)  # editors and PowerShell write it
    if not text:
        raise _not_report(path, ValueError("it is empty"))
    return text


def _report(path: str, text: bytes) -> Report:
    from hookcli.report.reading.validity import check_valid
    from hookcli.report.schema import from_json

    try:
        report = from_json(text, strict=True)
        check_valid(report, text)
        return report
    except ValueError as error:
        raise _not_report(path, error) from None


def _training_report(path: str, text: bytes) -> TrainingReport:
    from hookcli.report.reading.validity import check_valid_training
    from hookcli.report.schema import training_from_json

    try:
        report = training_from_json(text)
        check_valid_training(report, text)
        return report
    except ValueError as error:
        raise _not_report(path, error) from None


def _weights_report(path: str, text: bytes) -> WeightsReport:
    from hookcli.report.reading.validity import check_valid_weights
    from hookcli.report.schema import weights_from_json

    try:
        report = weights_from_json(text)
        check_valid_weights(report, text)
        return report
    except ValueError as error:
        raise _not_report(path, error) from None


def _not_report(path: str, error: ValueError) -> RequestError:
    hint = _HINT if not path.endswith(".py") else _OF_SCRIPT.format(path=shlex.quote(path))
    return RequestError(f"{path} is not a hookcli report: {error}", place=path, hint=hint)


def with_saved(check: CheckSpec) -> CheckSpec:
    """Return a check with the report that it compares with, read from its file.

    Raises
    ------
    RequestError : the file cannot be read, or is not a report.

    """
    if check.rule != "same_as" or "saved" in check.options:
        return check
    saved = read_report(check.options["report"])
    return dataclasses.replace(check, options={**check.options, "saved": saved})

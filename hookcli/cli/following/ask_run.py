"""Asks a run that goes on for steps in detail, waits for them, and shows them."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hookcli.cli.ci import source_root
from hookcli.cli.output import deliver, parse_targets
from hookcli.cli.training.saved_journal import Journaled, suppressions_of
from hookcli.config.kinds_flag import observers
from hookcli.console import Console
from hookcli.diagnosis.early import judged_so_far
from hookcli.errors import RequestError, Status
from hookcli.formats.view import View
from hookcli.plain_files import read_bytes
from hookcli.report.files import read_any_report
from hookcli.report.journal.ask_files import MOST_STEPS, ask_file, leave_ask, parse_range
from hookcli.report.journal.journal_reader import JournalReader, damaged_journal
from hookcli.report.report import Report
from hookcli.report.steps import TrainingInfo
from hookcli.report.training import TrainingReport
from hookcli.sentences import cannot_write

if TYPE_CHECKING:
    from hookcli.cli.flags.options import OutputFlags

_TICK = 0.2  # seconds between two looks at the journal
_FREE = 10.0  # seconds for which an earlier question is waited for


@dataclass(frozen=True, slots=True)
class Question:
    """Steps, as `--steps` names them, with the preset or the kinds of further hooks."""

    steps: str
    preset: str | None = None
    kinds: str | None = None


def ask_run(
    name: str,
    question: Question,
    output: OutputFlags,
    console: Console,
    *,
    timeout: float,
) -> int:
    """Ask a run, wait for the steps, and show them.

    Raises
    ------
    RequestError : the run does not exist or has ended, the steps are wrong, have passed or do not
        end in time, --kinds is empty or names unknown kinds, or a file cannot be written.
    """
    identity, steps = uuid.uuid4().hex, question.steps
    if question.kinds is not None:
        if question.preset is not None:
            raise RequestError(
                "--kinds cannot be combined with --preset",
                place=f"--kinds {question.kinds}",
                hint="remove `--preset`: the named kinds are attached instead of its hooks",
            )
        observers(question.kinds)
    if parse_range(identity, steps) is None:
        raise RequestError(
            f"--steps must be a number or a range of at most {MOST_STEPS:,} steps, got '{steps}'",
            place=f"--steps {steps}",
            hint="use `--steps 3` for the next 3 steps, or a range such as `--steps 5000-5010`",
        )
    files = Journaled.of(name)
    files.check()
    targets = parse_targets(
        output, read=[files.output, files.journal], console=console, kinds=("run",)
    )
    reader = _running(files)
    until = time.monotonic() + timeout
    _leave(files, identity, question)
    try:
        answer = _answer(files, reader, identity, console, until)
    except BaseException:
        _take_back(files, identity)
        raise
    first, last = _span(answer)
    whole = _report(files, reader) if "answer" not in answer else _own_report(files, answer)
    report = only_steps(whole, first, last)
    root, start = source_root()
    view = View(
        width=console.width(),
        unicode=console.unicode(),
        color=console.colored(),
        root=root,
        start=start,
    )
    deliver(report, targets, view, console)
    return Status.FINE


def _running(files: Journaled) -> JournalReader:
    """Return the reader of a run that goes on; raises RequestError if it does not."""
    if not files.has_journal():
        raise _ended(files)
    reader = JournalReader(files.journal)
    reader.update()
    if not reader.header:
        raise damaged_journal(files.journal, ValueError("it has no whole first entry"))
    is_here = reader.header.get("host") == platform.node()
    if reader.is_final or (is_here and not reader.is_running()):
        raise _ended(files)
    if hasattr(os, "geteuid") and os.stat(files.journal).st_uid != os.geteuid():  # noqa: PTH116
        raise RequestError(
            f"{files.journal} belongs to another user",
            place=files.journal,
            hint="run `hookcli ask` as the user who started the training",
        )
    return reader


def _ended(files: Journaled) -> RequestError:
    return RequestError(
        f"the run of {files.output} does not run any more",
        place=files.output,
        hint=f"run `hookcli render {files.output}` to see its steps",
    )


def _leave(files: Journaled, identity: str, question: Question) -> None:
    until = time.monotonic() + _FREE
    try:
        while not leave_ask(
            files.journal,
            identity,
            question.steps,
            preset=question.preset,
            kinds=question.kinds,
        ):
            if time.monotonic() > until:
                raise RequestError(
                    "an earlier question has not been read by the run",
                    place=ask_file(files.journal),
                    hint="wait for the end of the step that runs now, and ask again",
                )
            time.sleep(_TICK)
    except OSError as error:
        file = ask_file(files.journal)
        raise RequestError(
            cannot_write(file, error.strerror),
            place=file,
            hint="run `hookcli ask` as the user who started the training, on a disk with space",
        ) from None


def _take_back(files: Journaled, identity: str) -> None:
    """Remove the question, if the run has not read it."""
    file = ask_file(files.journal)
    with contextlib.suppress(OSError):
        if identity.encode() in read_bytes(file):
            os.unlink(file)  # noqa: PTH108  # as a string


def _answer(
    files: Journaled, reader: JournalReader, identity: str, console: Console, until: float
) -> dict[str, Any]:
    """Wait for the answer, and return its entry of the journal."""
    told = False
    while True:
        goes_on = files.has_journal()
        if goes_on:
            reader.update()
        notes = [note for note in reader.asked if note.get("asked") == identity]
        last = notes[-1] if notes else {}
        if last.get("state") == "refused":
            raise RequestError(
                f"the run does not observe these steps: {last.get('why')}",
                place=files.output,
                hint=last.get("hint")
                or f"run `hookcli ask {files.output} --steps 3` for the next 3 steps",
            )
        if last.get("state") == "answered" or (notes and (reader.is_final or not goes_on)):
            return last
        if not goes_on or reader.is_final:
            raise _ended(files)
        if notes and not told:
            told = True
            first, end = _span(last)
            steps = f"step {first:,}" if first == end else f"steps {first:,} to {end:,}"
            console.note(f"waiting for {steps}")
        if time.monotonic() > until:
            raise RequestError(
                "the steps have not ended in time",
                place=files.output,
                hint="pass a longer `--timeout`; steps that the run has noted are in its report",
            )
        time.sleep(_TICK)


def _span(note: dict[str, Any]) -> tuple[int, int]:
    first, last = note["span"]
    return int(first), int(last)


def _own_report(files: Journaled, answer: Mapping[str, Any]) -> TrainingReport:
    """Return the report of the hooks that were asked for."""
    from hookcli.report.schema import training_from_json

    try:
        return training_from_json(json.dumps(answer["answer"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged_journal(files.journal, error) from None


def _report(files: Journaled, reader: JournalReader) -> TrainingReport:
    if files.has_journal():
        return judged_so_far(reader.report("running"), suppressions_of(reader.header))
    report_or_other = read_any_report(files.output)
    if isinstance(report_or_other, Report):
        raise _ended(files)
    return report_or_other


def only_steps(report: TrainingReport, first: int, last: int) -> TrainingReport:
    """Return the report with the rows of these steps only."""
    records = tuple(_only(record, first, last) for record in report.records)
    return replace(report, records=records)


def _only(record: Report, first: int, last: int) -> Report:
    info = record.training
    if info is None:
        return record
    kept = [i for i, step in enumerate(info.sampled) if first <= step <= last]
    parameters = tuple(
        replace(row, steps=tuple(s for s in row.numbered_steps() if first <= s["step"] <= last))
        for row in record.parameters
    )
    return replace(record, parameters=parameters, training=_info(info, kept, first, last))


def _info(info: TrainingInfo, kept: list[int], first: int, last: int) -> TrainingInfo:
    return replace(
        info,
        sampled=tuple(info.sampled[i] for i in kept),
        steps=tuple(row for row in info.steps if first <= row.step <= last),
        updates=tuple(
            replace(
                row, ratios=tuple(row.ratios[i] for i in kept if i < len(row.ratios)), local=None
            )
            for row in info.updates
        ),
    )

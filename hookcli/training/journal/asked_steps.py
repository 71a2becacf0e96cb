"""Steps that somebody asks a running training for, which are then observed in detail.

They are observed by the hooks of the run, and by those of the preset or the kinds of the question.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hookcli.config.kinds_flag import observers
from hookcli.errors import RequestError
from hookcli.report.journal.ask_files import AskedRange, ask_file, take_ask
from hookcli.sentences import unknown
from hookcli.spec.request import Spec
from hookcli.spec.training import JournalPlace
from hookcli.training.record.records import Record

_MOST = 16  # questions that wait for their steps
_access = os.access  # the script may replace it


@dataclass(slots=True)
class _Question:
    """A question that waits, with the first and the last of its steps in each record."""

    identity: str
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)  # by the id of a record
    spec: Spec | None = None  # its own hooks


class AskedSteps:
    """The questions of a training. `tell` writes an entry of the journal about one.

    An answered one comes after a report of the training so far.
    """

    def __init__(
        self,
        journal: JournalPlace,
        spec: Spec,
        records: Callable[[], Sequence[Record]],
        tell: Callable[..., None],
    ) -> None:
        self._journal, self._presets = journal.path, journal.presets
        self._spec = spec
        self._file = os.fsencode(ask_file(journal.path))
        self._records, self._tell = records, tell
        self._waiting: list[_Question] = []

    def look(self) -> None:
        """Read a question if there is one. This is called at the end of each step."""
        if not _access(self._file, os.F_OK):
            return
        try:
            asked = take_ask(self._journal)
        except OSError:  # it cannot be removed: it would be read again in each step
            self._file = b""
            return
        if asked is not None:
            self._note(asked)

    def _note(self, asked: AskedRange) -> None:
        """Select the steps of a question in each record, or refuse it."""
        going_on = (record for record in self._records() if not record.is_closed)
        records = [record for record in going_on if record.optimizer_type is not None]
        question = _Question(asked.identity)
        for record in records:
            start = record.steps.total + (record.sampling.decided[0] >= record.steps.total)
            first, last = max(start, asked.first), asked.last
            if asked.next is not None:
                first, last = start, start + asked.next - 1
            if first <= last:
                question.spans[id(record)] = first, last
        if len(self._waiting) >= _MOST:
            self._refuse(asked, f"{_MOST} questions wait for their steps")
        elif not records:
            self._refuse(asked, "the script has made no step of an optimizer")
        elif not question.spans:
            now = max(record.steps.total for record in records)
            self._refuse(asked, f"these steps have passed: the next one is {now:,}")
        elif error := self._attach(asked, question, records):
            self._refuse(asked, error.message, hint=error.hint)
        else:
            self._waiting.append(question)
            for record in records:
                if id(record) in question.spans:
                    record.sampling.asked.append(question.spans[id(record)])
            self._tell_of(question, "accepted")

    def _attach(
        self, asked: AskedRange, question: _Question, records: Sequence[Record]
    ) -> RequestError | None:
        """Add the hooks of a question to the roots; return why that is not possible."""
        if not asked.has_hooks:
            return None
        spans: dict[int, tuple[int, int]] = {}
        roots = {id(r.root): r.root for r in records if id(r) in question.spans}
        for record in records:
            if id(record) in question.spans:
                first, last = question.spans[id(record)]
                known = spans.get(id(record.root), (first, last))
                spans[id(record.root)] = min(first, known[0]), max(last, known[1])
        refusals: list[RequestError] = []
        try:
            question.spec = self._spec_of(asked)
        except RequestError as error:
            return error
        for key, root in roots.items():
            try:
                root.ask(asked.identity, question.spec, spans[key])
            except RequestError as error:
                refusals.append(error)
        return refusals[0] if len(refusals) == len(roots) else None

    def _spec_of(self, asked: AskedRange) -> Spec:
        """Return the request with the hooks that a question names.

        Raises
        ------
        RequestError : it names a preset or a kind that does not exist.
        """
        preset: Any = asked.preset or "trace"
        if asked.kinds is not None:
            hooks = observers(asked.kinds)
        elif preset in self._presets:
            hooks = self._presets[preset]
        else:
            hint = f"use one of {', '.join(self._presets)}"
            raise RequestError(unknown("preset", preset), place=f"--preset {preset}", hint=hint)
        return replace(self._spec, command=preset, hooks=hooks, stream=None)

    def _refuse(self, asked: AskedRange, why: str, *, hint: str | None = None) -> None:
        note = {"asked": asked.identity, "state": "refused", "why": why}
        self._tell(note if hint is None else {**note, "hint": hint}, answered=False)

    def _tell_of(self, question: _Question, state: str) -> None:
        first = min(first for first, _ in question.spans.values())
        last = max(last for _, last in question.spans.values())
        entry: dict[str, Any] = {"asked": question.identity, "state": state, "span": [first, last]}
        self._tell(entry, answered=state == "answered", spec=question.spec)
        if state == "answered":
            for record in self._records():
                record.root.forget_asked(question.identity)

    def step_ended(self) -> None:
        """Answer the questions whose steps have all ended."""
        if not self._waiting:
            return
        totals = {  # a record whose model was dropped makes no more steps
            id(record): math.inf if record.is_closed else record.steps.total
            for record in self._records()
        }
        for question in list(self._waiting):
            if all(totals.get(key, 0) > last for key, (_, last) in question.spans.items()):
                self._waiting.remove(question)
                self._tell_of(question, "answered")

"""Several workers that run one model together, on this machine or under torchrun."""

from __future__ import annotations

import contextlib
import selectors
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from hookcli.errors import (
    HookcliError,
    InterruptedRun,
    NoBatchError,
    Status,
    raise_if_signalled,
)
from hookcli.report.ranks.first_failure import Failed, culprit, describe_failure, is_lost_connection
from hookcli.report.ranks.merge import merge_reports
from hookcli.report.report import ErrorInfo, Report
from hookcli.report.schema import from_json, prepare
from hookcli.spec.ranks import is_together, of_torchrun
from hookcli.spec.request import Attempt, DistributedSpec, Rank, Spec
from hookcli.whole_files import private_folder
from hookcli.worker import processes
from hookcli.worker.crash import crash_report
from hookcli.worker.interpreter.choice import choose
from hookcli.worker.process import start_ahead
from hookcli.worker.protocol import Answer, Crash, FailureMessage, Job, ReportMessage
from hookcli.worker.worker import TICK, Limits, Worker

_AFTER = 10.0  # seconds for the other ranks after one failed: they usually notice at once


@dataclass(frozen=True, slots=True)
class RankedOutcome:
    """The merged report, those of the other ranks, and the trials that inferred the batch.

    `number` is this process's rank: if it is not 0, `report` is its own.
    """

    report: Report
    others: dict[int, Report]
    trials: tuple[str, ...] = ()
    number: int = 0


def runs_together(spec: Spec) -> bool:
    """Whether a request needs several ranks."""
    together = spec.command in {"grads", "trace", "check"} and spec.side is None
    return together and is_together(spec.run.distributed)


class _Watching(contextlib.ExitStack):
    """A worker that wakes a selector until it has answered."""

    def __init__(self, worker: Worker, selector: selectors.BaseSelector) -> None:
        super().__init__()
        self._worker = worker
        self.enter_context(worker.watched(selector))

    def look(self, ready: set[int]) -> Answer | None:
        """Return the answer, or None if there is none yet."""
        answer = self._worker.look(ready)
        if answer is not None:
            self.close()
        return answer


class Ranks:
    """Run a request in several ranks. `check` is called at every tick, and may raise."""

    def __init__(self, spec: Spec, limits: Limits, check: Callable[[], None]) -> None:
        self._spec, self._limits, self._check = spec, limits, check
        self._started = time.monotonic()
        timeout = max(limits.deadline - self._started, 1.0)
        ranks = (spec.run.distributed or DistributedSpec()).nproc
        joined = of_torchrun(timeout)
        self._joined = joined
        self._ranks = (
            [Rank(i, ranks, i, ranks, "", timeout) for i in range(ranks)]
            if joined is None
            else [joined]
        )

    def run(self, attempt: Attempt, meanwhile: Callable[[], None] = lambda: None) -> RankedOutcome:
        """Carry out one attempt.

        Raises
        ------
        HookcliError : nothing could be run; the first error of all ranks is raised.
        """
        with private_folder() as folder, self._workers(attempt, folder) as workers:
            prepare()  # while the children import torch
            meanwhile()
            answers = self._answers(workers)
            steps = [worker.last().step for worker in workers]
            ended = {
                i: workers[i].stopped("died", "hookcli ended it because another rank failed")
                for i in range(len(workers))
                if i not in answers
            }
        return self._settle(attempt, answers, ended, steps)

    @contextlib.contextmanager
    def _workers(self, attempt: Attempt, folder: str) -> Iterator[list[Worker]]:
        """Start all processes before any gets its job, so that none counts as an orphan."""
        python = self._spec.run.python or choose(None)
        with contextlib.suppress(OSError):  # reported when the run itself cannot start
            for _ in self._ranks[1:]:
                start_ahead(python.path)
        store = None if self._joined is not None else str(Path(folder) / "store")
        limits = replace(self._limits, memory=None)
        with contextlib.ExitStack() as stack:
            yield [
                stack.enter_context(
                    Worker(
                        Job(self._spec, replace(attempt, rank=replace(rank, store=store))), limits
                    )
                )
                for rank in self._ranks
            ]

    def _answers(self, workers: list[Worker]) -> dict[int, Answer]:
        """Return the answer of each worker, in the order of arrival."""
        processes.adopt_orphans()
        answers: dict[int, Answer] = {}
        until = float("inf")
        with selectors.DefaultSelector() as selector, contextlib.ExitStack() as stack:
            watching = [stack.enter_context(_Watching(worker, selector)) for worker in workers]
            while len(answers) < len(workers) and time.monotonic() < until:
                ready = {key.fd for key, _ in selector.select(TICK)}
                for i, watch in enumerate(watching):
                    answer = None if i in answers else watch.look(ready)
                    if answer is not None:
                        answers[i] = answer
                if until == float("inf") and any(map(_failed, answers.values())):
                    until = time.monotonic() + _AFTER
                self._tick(workers, answers)
        for i, worker in enumerate(workers):
            if i in answers:
                worker.linger(answers[i])
        return answers

    def _tick(self, workers: list[Worker], answers: dict[int, Answer]) -> None:
        """Check the memory of all workers together, and let the caller stop the run."""
        try:
            raise_if_signalled()
            self._check()
        except InterruptedRun as interruption:
            waiting = [w for i, w in enumerate(workers) if i not in answers]
            interruption.where = (waiting or workers)[0].last().sentence()
            raise
        most = self._limits.memory
        if most is None:
            return
        used = [worker.resident for worker in workers]
        if sum(used) > most:
            i = used.index(max(used))
            usage = f"{sum(used) / 1e9:.2f} GB used by all ranks"
            limit = f"over --max-memory {most / 1e9:g} GB"
            answers[i] = workers[i].stopped("memory", f"{usage}, {limit}")

    def _settle(
        self,
        attempt: Attempt,
        answers: dict[int, Answer],
        ended: dict[int, Crash],
        steps: list[int],
    ) -> RankedOutcome:
        seconds = round(time.monotonic() - self._started, 3)
        _raise_if_none_ran(self._ranks, answers)
        reports: list[Report] = []
        failed: list[Failed] = []
        arrival = {i: place for place, i in enumerate(answers)}
        for i, rank in enumerate(self._ranks):
            report = self._report(attempt, answers[i] if i in answers else ended[i], seconds)
            reports.append(report)
            if i in answers and report.error is not None:
                failed.append(Failed(rank.number, report.error, steps[i], arrival[i]))
        if self._joined is not None:
            return self._as_one_rank(self._joined, reports[0], failed, answers[0])
        first = culprit(failed) if failed else None
        error = (
            None
            if first is None
            else describe_failure(first, failed, self._spec.run.steps, len(self._ranks))
        )
        whole = merge_reports(reports, error)
        environment = replace(whole.environment, seconds=seconds)
        others = {i: other for i, other in enumerate(reports) if i}
        return RankedOutcome(replace(whole, environment=environment), others, _trials(answers))

    def _as_one_rank(
        self, rank: Rank, own: Report, failed: list[Failed], answer: Answer
    ) -> RankedOutcome:
        """Under torchrun, rank 0 merges the reports of all ranks; other ranks keep their own."""
        if rank.number:
            return RankedOutcome(own, {}, number=rank.number)
        sent = answer.others if isinstance(answer, ReportMessage) else ()
        others = [None if text is None else from_json(text) for text in sent]
        missing = [None] * (rank.world - 1 - len(others))
        for i, report in enumerate(others, 1):
            if report is None and own.error is not None:
                lost = replace(own.error, layer=None, type="died", message="it sent no report")
                failed.append(Failed(i, lost, None, 1))
            elif report is not None and report.error is not None:
                failed.append(Failed(i, report.error, None, 1))
        error = (
            describe_failure(culprit(failed), failed, self._spec.run.steps, rank.world)
            if failed
            else None
        )
        whole = merge_reports([own, *others, *missing], error)
        return RankedOutcome(whole, {}, _trials({0: answer}))

    def _report(self, attempt: Attempt, answer: Answer, seconds: float) -> Report:
        if isinstance(answer, Crash):
            return crash_report(self._spec, attempt, answer, seconds)
        if isinstance(answer, FailureMessage):
            return _of_failure(self._spec, attempt, answer, seconds)
        return from_json(answer.json)


def _failed(answer: Answer) -> bool:
    if isinstance(answer, ReportMessage):
        return answer.failed
    return True


def _trials(answers: dict[int, Answer]) -> tuple[str, ...]:
    first = answers.get(0)
    return first.trials if isinstance(first, ReportMessage) else ()


def _raise_if_none_ran(ranks: list[Rank], answers: dict[int, Answer]) -> None:
    """Raise the error that prevented the run, with its rank if the ranks differ."""
    errors = {i: item.error for i, item in answers.items() if isinstance(item, FailureMessage)}
    first = next((e for e in errors.values() if isinstance(e, NoBatchError)), None)
    if first is not None:
        raise first
    # In the order of arrival: other ranks only lost the connection to the first one.
    for i, error in sorted(errors.items(), key=lambda item: is_lost_connection(item[1].message)):
        if error.status == Status.MODEL and len(errors) < len(ranks):
            continue
        same = len({item.message for item in errors.values()}) == 1 and len(errors) == len(ranks)
        if not same:
            error.message = f"rank {ranks[i].number}: {error.message}"
        raise error


def _of_failure(spec: Spec, attempt: Attempt, answer: FailureMessage, seconds: float) -> Report:
    """Return the report of a rank that could not run while others did."""
    error: HookcliError = answer.error
    crash = Crash("died", error.message, answer.phase, None, None, error.place)
    report = crash_report(spec, attempt, crash, seconds)
    info = ErrorInfo(answer.phase, None, None, (), "ModelError", error.message, error.place)
    return replace(report, error=info)

"""Carry out a request: with fake tensors first, then with real ones in a new process."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from hookcli.catalogue.actions import CATALOGUE
from hookcli.catalogue.kind import PHASES
from hookcli.errors import (
    ModelError,
    NoBatchError,
    NoFakeBatchError,
    NoFakeError,
    RequestError,
    interruption_behind,
)
from hookcli.known_failures import is_network_failure
from hookcli.memory import available, too_large
from hookcli.report.report import ErrorInfo, Report
from hookcli.spec.inferred import Hypothesis
from hookcli.spec.plan import why_values
from hookcli.spec.request import Attempt, Spec
from hookcli.text import first_line
from hookcli.worker.crash import crash_error, crash_report
from hookcli.worker.protocol import Crash, FailureMessage, Job, ReportMessage
from hookcli.worker.ranks import Ranks, runs_together
from hookcli.worker.verify_neutral import verified
from hookcli.worker.watched.opened_files import recorded_in
from hookcli.worker.worker import Limits, Worker


@dataclass(frozen=True, slots=True)
class _Done:
    report: Report
    message: ReportMessage


@dataclass(frozen=True, slots=True)
class WorkerResult:
    """The report, and a line for each trial that was needed to infer the batch.

    With several ranks, it is the report of rank 0, with those of the `others`. If torchrun started
    this process as another rank, `rank` is that rank, and the report is its own.
    """

    report: Report
    trials: tuple[str, ...]
    others: Mapping[int, Report] = field(default_factory=dict)
    rank: int = 0


_Outcome: TypeAlias = _Done | FailureMessage | Crash


def run(
    spec: Spec, check: Callable[[], None], meanwhile: Callable[[], None] = lambda: None
) -> WorkerResult:
    """Carry out the request.

    `check` is called often while a worker runs, and may raise `InterruptedRun`. `meanwhile` is
    called once, for work that can be done at the same time.

    Raises
    ------
    HookcliError : nothing could be run.

    """
    started = time.monotonic()
    limits = Limits(started + spec.run.timeout, spec.run.timeout, spec.run.max_memory)
    ran = run_within(spec, limits, check, meanwhile)
    if not spec.run.verify_neutral or ran.report.error is not None:
        return ran

    def again(unhooked: Spec) -> Report:
        return run_within(unhooked, limits, check).report

    return dataclasses.replace(ran, report=verified(spec, ran.report, again))


def run_within(
    spec: Spec,
    limits: Limits,
    check: Callable[[], None],
    meanwhile: Callable[[], None] = lambda: None,
) -> WorkerResult:
    """Carry out one run in as many attempts as needed, within the limits of the whole command.

    Raises
    ------
    HookcliError : nothing could be run.

    """
    together = runs_together(spec)
    run_all = _ranks if together else _attempts
    actions = (action for hook in spec.hooks for action in hook.actions)
    interactive = next((action for action in actions if CATALOGUE[action.name].asks), None)
    if interactive is None:
        return run_all(spec, limits, check, meanwhile)
    if recorded_in() is not None:
        raise RequestError(
            f"action '{interactive.name}' cannot be combined with --watch",
            place="--watch",
            hint="remove the action, or run without `--watch`",
        )
    from hookcli.worker.terminal import user_terminal  # only for a debugger

    with user_terminal(interactive, several_ranks=together) as terminal:
        return run_all(dataclasses.replace(spec, terminal=terminal), limits, check, meanwhile)


def _attempts(
    spec: Spec, limits: Limits, check: Callable[[], None], meanwhile: Callable[[], None]
) -> WorkerResult:
    """Run in one process, in as many attempts as needed."""
    started = time.monotonic()
    real = spec.run.tensors == "real" or why_values(spec) is not None
    first = Attempt("real" if real else "fake")
    attempt, outcome = first, _attempt(spec, first, limits, check, meanwhile)
    if isinstance(outcome, Crash) and outcome.reason != "timeout" and spec.run.what_if:
        without = dataclasses.replace(spec.run, memory=True, what_if=())
        ended = f"{_ALONE}: {outcome.message}"
        again = _attempt(dataclasses.replace(spec, run=without), first, limits, check)
        if isinstance(again, _Done) and again.report.error is None:
            outcome = _with_warning(again, ended)
    trials = _trials(outcome)
    following = _next(spec, first, outcome)
    while following is not None:
        attempt, outcome = following, _attempt(spec, following, limits, check)
        trials = trials or _trials(outcome)
        following = _next(spec, following, outcome)
    return WorkerResult(_settle(spec, attempt, outcome, time.monotonic() - started), trials)


_MIXED = "the model mixes them with real ones, as of lazy layers or layers in a plain list"
_ALONE = "a training step of --what-if ended the process, so none was measured"


def _with_warning(done: _Done, text: str) -> _Done:
    report = dataclasses.replace(done.report, warnings=(*done.report.warnings, text))
    return dataclasses.replace(done, report=report)


def _ranks(
    spec: Spec, limits: Limits, check: Callable[[], None], meanwhile: Callable[[], None]
) -> WorkerResult:
    """Run in several ranks; one process infers the batch if the ranks cannot."""
    ranks = Ranks(spec, limits, check)
    try:
        result = ranks.run(Attempt("real"), meanwhile)
        return WorkerResult(result.report, result.trials, result.others, result.number)
    except NoBatchError:
        outcome = _attempt(spec, Attempt("fake", for_batch=True), limits, check)
        if not isinstance(outcome, _Done) or outcome.message.inferred is None:
            raise
        again = ranks.run(Attempt("real", inferred=outcome.message.inferred))
        return WorkerResult(again.report, outcome.message.trials, again.others, again.number)


def _trials(outcome: _Outcome) -> tuple[str, ...]:
    return outcome.message.trials if isinstance(outcome, _Done) else ()


def _attempt(
    spec: Spec,
    attempt: Attempt,
    limits: Limits,
    check: Callable[[], None],
    meanwhile: Callable[[], None] = lambda: None,
) -> _Outcome:
    with Worker(Job(spec, attempt), limits) as worker:
        try:
            from hookcli.report.schema import from_json, prepare

            prepare()  # while the child imports torch
            meanwhile()
            answer = worker.wait(check)
            if isinstance(answer, ReportMessage):
                return _Done(from_json(answer.json), answer)
        except BaseException as error:
            interruption = interruption_behind(error)
            if interruption is None:
                raise
            interruption.where = worker.last().sentence()
            raise interruption from None
    return answer


def _next(spec: Spec, attempt: Attempt, outcome: _Outcome) -> Attempt | None:
    """Return the attempt that must follow this outcome, or None if the outcome is final.

    Raises
    ------
    ModelError : a real run must follow, and memory is too small for it.

    """
    if attempt.tensors == "real":
        smaller = _with_smaller_ids(spec, outcome)
        if smaller is not None:
            return Attempt("real", fallback=attempt.fallback, inferred=smaller)
        lost = isinstance(outcome, FailureMessage) and isinstance(outcome.error, NoBatchError)
        settled = attempt.inferred is not None or attempt.fallback is not None
        return Attempt("fake", for_batch=True) if lost and not settled else None
    if attempt.for_batch:
        done = outcome.message if isinstance(outcome, _Done) else None
        return Attempt("real", inferred=done.inferred) if done and done.inferred else None
    inferred = None
    if isinstance(outcome, Crash):
        if outcome.reason == "memory" and outcome.phase == "import" and not attempt.meta_import:
            return Attempt("fake", meta_import=True)  # a big model, built during import
        confirm = outcome.reason == "died" and outcome.phase not in {"start", "import"}
        reason = outcome.message
        declaration = None
    elif isinstance(outcome, FailureMessage):
        confirm = isinstance(outcome.error, NoFakeBatchError) or (
            isinstance(outcome.error, ModelError)
            and (
                outcome.phase == "build"
                or attempt.meta_import
                or isinstance(outcome.error, NoFakeError)
            )
            and not is_network_failure(outcome.error.message)
        )
        mixed = isinstance(outcome.error, NoFakeBatchError)
        reason = _MIXED if mixed else outcome.error.message
        declaration = None
    else:
        error = outcome.report.error
        if error is None:
            return None
        confirm = not is_network_failure(f"{error.type}: {error.message}")
        declaration = outcome.message.declaration
        inferred = outcome.message.inferred
        reason = _brief(error) + (f" at {error.place}" if error.place else "")
    if not confirm or spec.run.tensors == "fake":
        return None
    _check_memory(spec, outcome)
    return Attempt("real", fallback=reason, declaration=declaration, inferred=inferred)


def _with_smaller_ids(spec: Spec, outcome: _Outcome) -> Hypothesis | None:
    """Return the inferred batch with smaller ids, if its ids were beyond a table of the model.

    Fake tensors have no values, so the ids that a model computes from a batch cannot be checked.
    """
    if not isinstance(outcome, _Done) or outcome.message.inferred is None or spec.inputs:
        return None
    error = outcome.report.error
    beyond = error is not None and (error.phase, error.type) == ("forward", IndexError.__name__)
    smaller = outcome.message.inferred.with_smallest_ids()
    return smaller if beyond and smaller != outcome.message.inferred else None


def _check_memory(spec: Spec, outcome: _Outcome) -> None:
    """Refuse a real run that is too large for memory, if the fake run gave the size."""
    if not isinstance(outcome, _Done) or outcome.report.model.parameter_bytes is None:
        return
    model, error = outcome.report.model, outcome.report.error
    need = outcome.report.model.parameter_bytes + (model.buffer_bytes or 0)
    free = available()
    most = min((m for m in (free, spec.run.max_memory) if m is not None), default=None)
    if most is not None and need > most:
        why = "" if error is None else f" (the run with fake tensors failed: {_brief(error)})"
        place = (error.place if error else None) or spec.model.source
        raise too_large(need, most, place, why)


def _brief(error: ErrorInfo) -> str:
    message = first_line(error.message)
    doubt = error.type == "FakeDoubtError"  # hookcli's own: its message says it all
    return message if doubt else f"{error.type}: {message}"


def _settle(spec: Spec, attempt: Attempt, outcome: _Outcome, seconds: float) -> Report:
    if isinstance(outcome, FailureMessage):
        raise outcome.error
    if isinstance(outcome, Crash):
        if outcome.phase not in {*PHASES, "report"} - {"build"}:
            raise crash_error(spec, outcome)
        return crash_report(spec, attempt, outcome, round(seconds, 3))
    report = outcome.report
    environment = dataclasses.replace(report.environment, seconds=round(seconds, 3))
    return dataclasses.replace(report, environment=environment)

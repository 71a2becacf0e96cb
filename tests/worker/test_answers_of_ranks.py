"""What becomes of the answers of several ranks: reports, crashes, and errors before the run."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from hookcli.errors import InterruptedRun, ModelError, NoBatchError, RequestError, Status
from hookcli.report.encode import to_json
from hookcli.report.report import ErrorInfo
from hookcli.spec.request import Attempt, DistributedSpec, ModelSpec, Rank, RunSpec, Spec
from hookcli.worker import ranks as ranks_file
from hookcli.worker.last_event import LastEvent
from hookcli.worker.protocol import Crash, FailureMessage, ReportMessage
from hookcli.worker.ranks import Ranks, _raise_if_none_ran, runs_together
from hookcli.worker.worker import Limits
from tests.distributed.rows import of_rank

SPEC = Spec("grads", ModelSpec("net.py"), run=RunSpec(distributed=DistributedSpec(nproc=2)))
ATTEMPT = Attempt("real")
TWO = [Rank(0, 2, 0, 2, "", 9.0), Rank(1, 2, 1, 2, "", 9.0)]


def ranks(*, memory=None, check=lambda: None, joined=None):
    limits = Limits(time.monotonic() + 9, 9.0, memory)
    made = Ranks(SPEC, limits, check)
    if joined is not None:
        made._joined, made._ranks = joined, [joined]
    return made


def reported(number=0, error=None, **more):
    report = of_rank(number) if error is None else replace(of_rank(number), error=error)
    return ReportMessage(to_json(report), None, failed=error is not None, **more)


def raised(message="no", kind="ValueError", phase="forward"):
    return ErrorInfo(phase, "fc", 0, (), kind, message, "net.py:9")


def failure(message, error=ModelError, phase="build"):
    return FailureMessage(phase, error(message, place="net.py", hint="mend it"))


CRASH = Crash("died", "the process was killed", "forward", "fc", 0, "net.py:4", "3.12.1")


def test_reports_of_all_ranks_become_one():
    answers = {1: reported(1, trials=("late",)), 0: reported(trials=("a trial",))}
    outcome = ranks()._settle(ATTEMPT, answers, {}, [0, 0])
    assert outcome.report.error is None
    assert outcome.report.environment.seconds is not None
    assert [list(outcome.others), outcome.trials, outcome.number] == [[1], ("a trial",), 0]


def test_the_first_rank_that_failed_is_named_and_those_that_were_ended_are_not():
    ended = {0: Crash("died", "hookcli ended it", "forward", None, None, None)}
    outcome = ranks()._settle(ATTEMPT, {1: reported(1, raised("rank 1 raises"))}, ended, [0, 0])
    assert outcome.report.error.message == "rank 1: rank 1 raises"
    assert outcome.trials == ()


@pytest.mark.parametrize("answer", [CRASH, failure("cannot build")], ids=["crash", "not built"])
def test_a_rank_that_died_or_could_not_run_is_named(answer):
    outcome = ranks()._settle(ATTEMPT, {0: reported(), 1: answer}, {}, [0, 0])
    error = outcome.report.error
    message = answer.message if isinstance(answer, Crash) else answer.error.message
    assert error.message == f"rank 1: {message}"
    assert outcome.others[1].status == "partial"


def test_an_error_of_all_ranks_is_raised_once():
    both = {0: failure("no such file"), 1: failure("no such file")}
    with pytest.raises(ModelError) as caught:
        _raise_if_none_ran(TWO, both)
    assert caught.value.message == "no such file"


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (
            {1: failure("Connection closed by peer"), 0: failure("cannot build")},
            "rank 0: cannot build",
        ),
        ({0: reported(), 1: failure("no key", RequestError)}, "rank 1: no key"),
        ({0: reported(), 1: failure("no batch", NoBatchError)}, "no batch"),
    ],
    ids=["a lost connection", "a request", "no batch"],
)
def test_errors_that_differ_are_raised_with_their_rank(answers, message):
    with pytest.raises((ModelError, RequestError, NoBatchError)) as caught:
        _raise_if_none_ran(TWO, answers)
    assert caught.value.message == message


def test_a_model_error_of_one_rank_is_no_reason_not_to_report_the_other():
    _raise_if_none_ran(TWO, {0: reported(), 1: failure("cannot build")})


def test_rank_0_of_torchrun_merges_what_the_others_sent():
    joined = Rank(0, 4, 0, 4, None, 9.0)
    sent = (to_json(of_rank(1)), None)
    answer = reported(others=sent)
    outcome = ranks(joined=joined)._settle(ATTEMPT, {0: answer}, {}, [0])
    assert outcome.report.error is None
    status = {row.rank: row.status for row in outcome.report.distributed.ranks}
    assert status == {1: "complete", 2: "dead", 3: "dead"}


def test_rank_0_of_torchrun_blames_the_rank_that_sent_nothing():
    joined = Rank(0, 2, 0, 2, None, 9.0)
    own = reported(0, raised("Connection closed by peer", "RuntimeError"), others=(None,))
    outcome = ranks(joined=joined)._settle(ATTEMPT, {0: own}, {}, [0])
    assert outcome.report.error.message == "rank 1: it sent no report"
    failed = replace(of_rank(1), error=raised("it raises"))
    own = reported(0, others=(to_json(failed),))
    outcome = ranks(joined=joined)._settle(ATTEMPT, {0: own}, {}, [0])
    assert outcome.report.error.message == "rank 1: it raises"


def test_other_ranks_of_torchrun_keep_their_own_report():
    joined = Rank(1, 2, 1, 2, None, 9.0)
    outcome = ranks(joined=joined)._settle(ATTEMPT, {0: reported(1)}, {}, [0])
    assert (outcome.number, outcome.others) == (1, {})


def test_a_crash_of_rank_0_of_torchrun_is_its_own():
    joined = Rank(0, 2, 0, 2, None, 9.0)
    outcome = ranks(joined=joined)._settle(ATTEMPT, {0: CRASH}, {}, [0])
    assert "the process was killed" in outcome.report.error.message


class Busy:
    """A worker that uses this much memory."""

    def __init__(self, resident, layer):
        self.resident, self._layer = resident, layer

    def last(self):
        return LastEvent("forward", self._layer, 0, None)

    def stopped(self, reason, message):
        return (reason, message, self._layer)


def test_the_memory_of_all_ranks_counts_together():
    workers, answers = [Busy(1e9, "a"), Busy(3e9, "b")], {}
    ranks(memory=5 * 10**9)._tick(workers, answers)
    assert answers == {}
    ranks()._tick(workers, answers)
    assert answers == {}
    ranks(memory=3 * 10**9)._tick(workers, answers)
    message = "4.00 GB used by all ranks, over --max-memory 3 GB"
    assert answers == {1: ("memory", message, "b")}


def test_an_interruption_tells_where_a_rank_is_that_has_not_answered():
    def stop():
        raise InterruptedRun(Status.INTERRUPTED)

    workers = [Busy(0, "a"), Busy(0, "b")]
    for answers, where in (({0: 1}, "in forward, in b"), ({0: 1, 1: 1}, "in forward, in a")):
        with pytest.raises(InterruptedRun) as caught:
            ranks(check=stop)._tick(workers, answers)
        assert caught.value.where == where


def test_a_request_of_one_rank_or_without_a_backward_runs_alone(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    assert runs_together(SPEC)
    assert not runs_together(replace(SPEC, command="inspect"))
    assert not runs_together(replace(SPEC, run=RunSpec()))


def test_ranks_start_even_if_none_can_start_ahead(monkeypatch):
    made = []

    class Worker:
        def __init__(self, job, limits):
            made.append((job.attempt.rank.number, job.attempt.rank.store, limits.memory))

        def __enter__(self):
            return self

        def __exit__(self, *error):
            made.append("ended")

    def start_ahead(path):
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(ranks_file, "Worker", Worker)
    monkeypatch.setattr(ranks_file, "start_ahead", start_ahead)
    with ranks(memory=10**9)._workers(ATTEMPT, "/folder") as workers:
        assert len(workers) == 2
    assert made == [(0, "/folder/store", None), (1, "/folder/store", None), "ended", "ended"]


def test_rank_numbers_are_those_of_the_environment(monkeypatch):
    values = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "MASTER_ADDR": "localhost",
              "MASTER_PORT": "29500"}  # fmt: skip
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    made = Ranks(SPEC, SimpleNamespace(deadline=time.monotonic() + 5), lambda: None)
    assert [rank.number for rank in made._ranks] == [1]

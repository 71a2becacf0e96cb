"""Carries out the job of a process that compares a plan: of a rank, or of the judge."""

from __future__ import annotations

from time import perf_counter

from hookcli.engine.batch.outcome import Result
from hookcli.engine.observe.recorder import Progress
from hookcli.engine.parallel.judge import Judge
from hookcli.engine.parallel.reports import report_of
from hookcli.engine.parallel.session import RankSession
from hookcli.report.findings import Measurement
from hookcli.spec.compared.parallel import COMPARED, ParallelRun
from hookcli.spec.request import Attempt, Spec


def run_parallel(spec: Spec, attempt: Attempt, run: ParallelRun, progress: Progress) -> Result:
    """Return the result of a rank, or that of the judge, which has the measurement `COMPARED`.

    Raises
    ------
    RequestError, ModelError : the rank cannot run.
    """
    if run.role == "rank":
        return RankSession(spec, attempt, run, progress).run()
    started = perf_counter()
    progress("report", None)
    value = Judge(run).compare()
    measured = Measurement(COMPARED, "", None, value, None)
    return Result(report_of(spec, started, None, (measured,)), None, None, ())

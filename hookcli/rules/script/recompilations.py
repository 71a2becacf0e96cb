"""`recompilations`: a training does not compile its model again and again."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.measured.compiler import CompilerAccount, Recompilation
from hookcli.report.training import TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.script.facts import judge_nothing
from hookcli.text import counted

_LEAST = 5  # steps before which the compiler ran
_SHARE = 0.5  # of all steps
_ADVICE = (
    "mark what changes with `torch._dynamo.mark_dynamic` or pass `dynamic=True` if it is a size, "
    "and make it a tensor if it is a number"
)


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each function that reached the limit, or for the most frequent guard."""
    account = report.compiler
    if account is None:
        yield skipped("nothing was compiled")
        return
    if account.limit_hit:
        yield from (_at_limit(name, account) for name in account.limit_hit)
    elif account.compiling_steps >= max(_LEAST, _SHARE * account.steps):
        yield _at_each_step(account)
    else:
        again = sum(row.count for row in account.recompilations)
        yield passed(
            f"{counted(account.graphs, 'graph')}, {counted(again, 'recompilation')} in "
            f"{counted(account.steps, 'step')}"
        )


def _at_limit(name: str, account: CompilerAccount) -> RuleFinding:
    function = name.partition(" (")[0]
    rows = [row for row in account.recompilations if row.function == function]
    worst = max(rows, key=_order, default=None)
    count = sum(row.count for row in rows)
    message = (
        f"{name} was compiled {counted(count + 1, 'time')}, the limit of recompilations, and runs "
        f"eagerly since{_why(worst)}"
    )
    place = None if worst is None else worst.place
    return RuleFinding("fail", "", "limit", message, count, 0, place, advice=_ADVICE)


def _at_each_step(account: CompilerAccount) -> RuleFinding:
    worst = max(account.recompilations, key=_order, default=None)
    message = (
        f"the compiler ran before {account.compiling_steps:,} of "
        f"{counted(account.steps, 'step')}{_why(worst)}"
    )
    place = None if worst is None else worst.place
    return RuleFinding(
        "fail", "", "each step", message, account.compiling_steps, _LEAST, place, advice=_ADVICE
    )


def _order(row: Recompilation) -> tuple[int, int]:
    return row.count, row.steps


def _why(row: Recompilation | None) -> str:
    return "" if row is None else f": a guard failed, {row.guard}"


RULE = Rule(
    name="recompilations",
    severity="warning",
    of_training=True,
    every_step=True,
    looks_at="recompilations",
    says="a compiled model is not compiled again and again",
    computes="Reads from torch how often each function was compiled, and which guard did not hold. "
    "Fails if a function reached torch._dynamo.config.recompile_limit (8), from which on it runs "
    "eagerly without an error, or if the compiler ran before at least half of the steps, and 5. "
    "Graph breaks are listed in the report and are no finding.",
    formula="limit reached; steps with a compilation >= max(5, steps / 2)",
    source="torch.compile: recompilation, torch._dynamo.config.recompile_limit",
    fails="a step number or a string that changes and is an attribute of the model; batches of "
    "another length each with dynamic=False",
    mend="pass what changes as a tensor, or let its size be dynamic",
    example="{rule: recompilations, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)

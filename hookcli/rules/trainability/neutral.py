"""`neutral`: hooks that only observe change nothing. `--verify-neutral` makes the finding."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import NEUTRAL, Options, Rule, RuleFinding, skipped
from hookcli.spec.checks import request_probe


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield what the comparison with the runs without hooks found."""
    rows = [row for row in report.checks if row.rule == "neutral"]
    for row in rows:
        yield RuleFinding(
            row.status, row.target, "", row.message, row.value, row.limit, row.place,
            row.severity, row.fingerprint,
        )  # fmt: skip
    if not rows:
        yield skipped("the run was not compared with runs without hooks")


RULE = Rule(
    name="neutral",
    severity="error",
    looks_at="hooks",
    says="hooks that only observe change no output, gradient, parameter or buffer",
    computes="Runs the model two more times without the hooks of the configuration, each in a "
    "process of its own, and compares outputs, gradients, parameters and buffers bit by bit. What "
    "differs between the runs without hooks is not judged. Hooks that change values on purpose "
    "are skipped. The flag --verify-neutral does the same for every command.",
    formula="bits(run with hooks) = bits(run without hooks)",
    source="hookcli's own",
    fails="a hook that calls torch.rand, and so changes the dropout of later layers; a hook that "
    "returns a copy of the output in another dtype",
    mend="return None from a hook that observes; draw random numbers from a generator of your own",
    example="{rule: neutral}",
    needs=lambda options: (request_probe(NEUTRAL),),
    judge=judge,
)

"""What a rule is: what it needs of a run, how it judges the report, and what to say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hookcli.report.report import Report
from hookcli.text import join_names

Severity: TypeAlias = Literal["error", "warning"]
Status: TypeAlias = Literal["pass", "fail", "skip", "error"]
Options: TypeAlias = Mapping[str, Any]

UNFINISHED = "the run did not finish"
NPROC = "pass `--nproc 2` to run two ranks"

# What a run can be asked to look at beside its rows. The value is what it costs.
PROBES: dict[str, str] = {
    "values": "a check of every value and gradient during the run",
    "backward": "a backward pass",
    "flops": "a count of the operators",
    "repeat_eval": "two additional forwards in eval mode",
    "repeat_train": "two additional forwards and backwards in train mode",
    "samples": "two to six additional forwards in eval mode, with copies of one sample",
    "step": "one additional forward, backward and optimizer step",
    "grown": "one additional forward in eval mode with one more sample (for snapshots)",
}

Shape: TypeAlias = Literal[
    "glob", "globs", "path", "kind", "order", "shape", "dtype", "number", "count", "flag", "file",
    "modes", "match", "part", "dimension",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RuleOption:
    """One option of a rule, as it stands in YAML. `shape` says what may stand there."""

    name: str
    shape: Shape
    does: str
    default: Any = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """What a rule says of one target. `kind` names the problem, whatever its values are.

    With `severity` it is another than the rule's own; with `fingerprint` it has one already.
    """

    status: Status
    target: str
    kind: str
    message: str
    value: Any = None
    limit: Any = None
    place: str | None = None
    severity: Severity | None = None
    fingerprint: str | None = None


def passed(message: str, *, value: Any = None, limit: Any = None) -> RuleFinding:
    """Nothing is wrong."""
    return RuleFinding("pass", "", "", message, value, limit)


def skipped(message: str) -> RuleFinding:
    """Return the finding of a rule that has nothing to judge; the message is the reason."""
    return RuleFinding("skip", "", "", message)


def no_match(what: str, globs: str | Sequence[str]) -> RuleFinding:
    """Return the finding of a check whose glob, or all of whose globs, match nothing."""
    target = globs if isinstance(globs, str) else ""
    names = [globs] if isinstance(globs, str) else globs
    quoted = join_names([f"'{name}'" for name in names])
    return RuleFinding("error", target, "no match", f"no {what} matches {quoted}")


def run_again_failed(mode: str, error: str) -> str:
    """Return the message about a probe in which the model raised."""
    return f"the model could not be run again in {mode} mode: {error}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `needs` gives names of probes, `judge` findings: one that passed where all is well.

    `explain` pages say what it `computes`, by which `formula`, after which `source`, with an
    example that `fails` and how to `mend` it. A rule of the `safe` set is always judged,
    one for `ranks` where several ran.
    """

    name: str
    severity: Severity
    says: str
    computes: str
    formula: str
    source: str
    fails: str
    mend: str
    example: str
    needs: Callable[[Options], tuple[str, ...]]
    judge: Callable[[Report, Options], Iterable[RuleFinding]]
    safe: bool = False
    ranks: bool = False
    options: tuple[RuleOption, ...] = field(default=())

    def filled(self, given: Options) -> dict[str, Any]:
        """The options given over the defaults."""
        return {**{option.name: option.default for option in self.options}, **given}

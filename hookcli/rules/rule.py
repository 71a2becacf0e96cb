"""What a rule is: what it needs of a run, how it judges the report, and what to say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hookcli.report.report import Report

Severity: TypeAlias = Literal["error", "warning"]
Status: TypeAlias = Literal["pass", "fail", "skip", "error"]
Options: TypeAlias = Mapping[str, Any]

# What a run can be asked to look at beside its rows. The value is what it costs.
PROBES: dict[str, str] = {
    "values": "a look at every value and gradient, as the run makes them",
    "backward": "a backward pass",
    "flops": "a count of the operators",
    "repeat_eval": "two more forwards in eval mode",
    "repeat_train": "two more forwards and backwards in train mode",
    "samples": "two to six more forwards in eval mode, with copies of one sample",
    "step": "one more forward and backward, with an optimizer's step",
    "grown": "one more forward in eval mode, with one sample more: for snapshots",
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
    """The rule has nothing to judge here, and says why."""
    return RuleFinding("skip", "", "", message)


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

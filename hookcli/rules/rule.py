"""The data types of rules: a rule, its options and its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hookcli.report.findings import Severity
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.spec.checks import ProbeRequest
from hookcli.text import join_names

Status: TypeAlias = Literal["pass", "fail", "skip", "error"]
Options: TypeAlias = Mapping[str, Any]

UNFINISHED = "the run did not finish"
NO_BACKWARD = "no backward pass ran"
FAKE = "fake tensors have no values"
NPROC = "pass `--nproc 2` to run two ranks"

UNSEEN = "unseen"  # the kind of a finding of a rule that could not look
NEUTRAL = "neutral"  # the probe that runs the model without hooks
# What a run with `--compiled` provides: the gradients, values, and comparisons in other processes.
COMPILED_PROBES = frozenset(
    {"backward", "values", "first_non_finite", "compile_equal", "parallel_equal"}
)

Shape: TypeAlias = Literal[
    "glob", "globs", "path", "kind", "order", "shape", "dtype", "number", "count", "flag", "file",
    "modes", "match", "part", "dimension", "word", "settings", "function", "mesh",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RuleOption:
    """One option of a rule, as written in YAML. `shape` is the type of its value."""

    name: str
    shape: Shape
    does: str
    default: Any = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """The verdict of a rule on one target. `kind` names the problem independently of its values.

    A rule knows neither the configuration nor the report: `judge` makes the `CheckRow` of it, with
    the severity and the fingerprint that count.

    `severity` overrides the severity of the rule; `fingerprint` overrides the computed one.
    `cause` is the id of what caused the problem, if several rules can find it; "" is the name of
    the rule. `advice` tells what to try, as a sentence that begins with an imperative verb. `step`
    is the first step of a training that has the problem.
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
    cause: str = ""
    advice: str | None = None
    step: int | None = None


def never_ran(module: str) -> str:
    """Return the message for a module, named by its type, that no call ran."""
    return f"{module} never ran"


def passed(message: str, *, value: Any = None, limit: Any = None) -> RuleFinding:
    """Return the finding of a rule that passed."""
    return RuleFinding("pass", "", "", message, value, limit)


def skipped(message: str) -> RuleFinding:
    """Return the finding of a rule that has nothing to judge; the message is the reason."""
    return RuleFinding("skip", "", "", message)


def unseen(message: str) -> RuleFinding:
    """Return the finding of a rule that could not look: the run did not see what it judges."""
    return RuleFinding("skip", "", UNSEEN, message)


def not_a_training() -> RuleFinding:
    """Return the finding of a rule over steps for a report that is not a record of a training."""
    return skipped("only `hookcli run` observes the steps of a training")


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
    """One rule.

    `needs` returns the names of the required probes. `judge` returns the findings; if nothing is
    wrong, it returns one that passed. `explain` shows what the rule `computes`, its `formula` and
    `source`, an example that `fails`, and how to `mend` it. A rule of the `safe` set is always
    judged by `check`; a rule for `ranks` is always judged if several ranks ran.

    A rule that `diagnoses` is judged for the verdict of every `grads`, `trace` and `check`; of its
    findings only those that fail count. `looks_at` names in a list what it judges, such as
    "gradients". `watches` returns the probes that it needs during the run; they need no further
    forward.

    A rule `of_training` is always judged for a training of `hookcli run`: by `judge` for each
    record, and by `judge_run`, if there is one, for the training as a whole. It looks at the steps
    that were observed in detail, or at `every_step`. What an `early` rule finds stays true in all
    later steps, so that it is told while the script runs.
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
    judge: Callable[[Report, Options], Iterable[RuleFinding]]
    safe: bool = False
    ranks: bool = False
    diagnoses: bool = False
    of_training: bool = False
    every_step: bool = False
    early: bool = False
    looks_at: str = ""
    needs: Callable[[Options], tuple[ProbeRequest, ...]] = lambda _options: ()
    watches: Callable[[Options], tuple[ProbeRequest, ...]] = lambda _options: ()
    judge_run: Callable[[TrainingReport, Options], Iterable[RuleFinding]] | None = None
    options: tuple[RuleOption, ...] = field(default=())

    def filled(self, given: Options) -> dict[str, Any]:
        """Return the given options, with defaults for the others."""
        return {**{option.name: option.default for option in self.options}, **given}

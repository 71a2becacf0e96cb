"""Findings of rules and measurements, in addition to the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from hookcli.report.values import Index, absent

Severity: TypeAlias = Literal["error", "warning", "note"]  # the worst first
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
PASSES = "passes"  # the probe with the forwards and backwards, and the rules they were for
DROPPED = "dropped"  # a probe, the target, that ended with an error of hookcli's own


@dataclass(frozen=True, slots=True)
class PassedOver:
    """Why a finding does not count: a suppression with its reason, or the baseline."""

    by: Literal["suppression", "baseline"]
    reason: str | None = None
    place: str | None = None


@dataclass(frozen=True, slots=True)
class CheckRow:
    """The result of one rule for one target. `fingerprint` identifies a finding across runs.

    `passed_over` is present if a finding does not count: `status` is then "skip". `cause` is the
    kind of the problem's cause, if it is not that of the rule; `advice` tells what to try. A note
    is no problem: it tells what looks like one. `step` is the first step of a training that has the
    problem. In a training with several records, the target begins with the record's name. `unseen`:
    the rule was skipped because the run did not see what it judges; other rules are skipped because
    there is nothing to judge.
    """

    rule: str
    target: str
    status: Literal["pass", "fail", "skip", "error"]
    severity: Severity
    value: Any
    limit: Any
    message: str
    place: str | None
    fingerprint: str
    passed_over: PassedOver | None = absent()  # noqa: RUF009  # it is a field()
    cause: str | None = absent()  # it is a field()
    advice: str | None = absent()  # it is a field()
    step: Index | None = absent()  # noqa: RUF009  # it is a field()
    unseen: bool | None = absent()  # it is a field()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is wrong with a model, in one sentence. `severity` is that of the worst finding.

    `cause` identifies the kind of the problem: the name of a rule, or of a cause that several rules
    find. `sentence` has the cause, the evidence and the layer or parameter, which `target` names;
    `place` is its line in the user's source. `advice` says what to try. `rules` and `fingerprints`
    are those of the findings that this cause explains. In a training, `record` is the name of the
    record, and `step` the first step that has the problem.
    """

    cause: str
    severity: Severity
    sentence: str
    advice: str | None
    target: str
    place: str | None
    rules: tuple[str, ...]
    fingerprints: tuple[str, ...]
    record: str | None = absent()  # it is a field()
    step: Index | None = absent()  # noqa: RUF009  # it is a field()


@dataclass(frozen=True, slots=True)
class Unexamined:
    """A rule that looked for no problem, and why: nothing to judge, or nobody asked for it.

    `unseen`: there may be something to judge, and the run did not see it.
    """

    rule: str
    reason: str
    unseen: bool


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measured figure in addition to the rows.

    Where gradients end has three probes. `cuts`: an operator at which the path of a gradient to the
    loss ends, with its `kind`, `operator`, `layer`, `module`, `place`, and the parts of the model
    `behind` it; the first row has their `count`. `connected`: whether the gradient of the loss
    reaches an output of the module `target`. `unreached`: `why` parameters got no gradient or only
    zeros ("cut", "swallowed" by a custom Function, "left" for Python, "rounding", "cut_output",
    "other_output", "unused_output", "unused"), with the number of `parameters`, and the parts
    `cut_off` that contain them; the first row has a `count`.
    """

    probe: str
    target: str
    call: Index | None
    value: Any
    limit_unit: str | None


@dataclass(frozen=True, slots=True)
class HookFault:
    """What a hook did before the run failed, if the error follows from it.

    `place` is the hook's line in the configuration, `function` the line at which its function is
    defined. `problem` continues the sentence "the hook …". `advice` says what to do. `raised`: the
    error was raised in the hook itself.
    """

    place: str
    kind: str
    target: str
    problem: str
    advice: str
    function: str | None
    raised: bool = False

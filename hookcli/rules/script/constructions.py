"""`optimizer_construction`: an optimizer is constructed once, with each parameter once."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, findings_of, judge_nothing, without_findings
from hookcli.rules.training.flat_loss_reasons import DECAY
from hookcli.rules.training.series import real, script_line
from hookcli.text import counted, join_names

_DECAY = 0.05  # a usual weight decay is smaller
_LEFT = 0.3  # of the norm of all parameters
_KINDS = ("dropped_state", "duplicate_parameters", "optimizer_again", "resting_group",
          "large_eps", "empty_group", "endless_momentum", "swapped_betas",
          "misplaced_setting", "small_rate", "partial_batches", "random_closure",
          "unknown_key")  # fmt: skip


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each optimizer that is not constructed as it was meant."""
    found = facts_of(report, *_KINDS)
    yield from findings_of(found, _SENTENCES, _is_note)
    shrunk = [row for record in report.records for row in _shrunk(record)]
    yield from shrunk
    if not found and not shrunk:
        yield without_findings(
            report,
            ("duplicate_parameters", "optimizer_again"),
            "optimizers are constructed once",
            "no optimizer made a step",
        )


def _shrunk(record: Report) -> Iterator[RuleFinding]:
    """Yield a finding if weight decay makes nearly nothing of the weights."""
    training = record.training
    optimizer = None if training is None else training.optimizer
    if training is None or optimizer is None:
        return
    decay = real(optimizer.largest_weight_decay or optimizer.options.get("weight_decay"))
    norms = [norm for step in training.steps if (norm := real(step.weight_norm))]
    if not decay or decay < _DECAY or len(norms) < 2 or norms[-1] > _LEFT * norms[0]:
        return
    message = (
        f"a weight_decay of {decay:g} shrinks the parameters of {optimizer.type}: their norm falls "
        f"from {norms[0]:.3g} to {norms[-1]:.3g}"
    )
    place = script_line(record, "optimizer")
    yield RuleFinding(
        "fail", training.record, "weight_decay", message, decay, _DECAY, place,
        advice="lower `weight_decay`: from 0 to 0.1 is usual", cause=DECAY,
    )  # fmt: skip


def _is_note(fact: ScriptFact) -> bool:
    """Return whether a fact may be meant: an empty group, a large eps, an optimizer of a task."""
    values = fact.values
    return (
        fact.kind in {"empty_group", "swapped_betas", "small_rate", "partial_batches"}
        or (fact.kind == "large_eps" and not values["given"])
        or (fact.kind == "optimizer_again" and values["steps"] > values["made"])
    )


def _duplicate(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    whose = f" of '{values['of']}'" if values["of"] else ""
    return (
        f"{fact.target} gets {counted(values['twice'], 'parameter')}{whose} twice: other "
        "parameters may have been meant",
        "check the lists of parameters that are joined for the optimizer",
    )


def _again(fact: ScriptFact) -> tuple[str, str]:
    made, steps = fact.values["made"], fact.values["steps"]
    about = "" if steps % made == 0 else "about "
    if steps > made:
        return (
            f"{fact.target} is constructed again {made:,} times for the same parameters, each time "
            f"for {about}{steps / made:.2g} steps: its moments begin with 0 each time",
            "construct the optimizer once, in front of the loop over epochs",
        )
    return (
        f"{fact.target} is constructed again for each step, {fact.values['made']:,} times: its "
        "moments begin with 0 each time",
        "construct the optimizer once, in front of the loop",
    )


def _resting(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    names = values["names"]
    them = join_names([f"'{name}'" for name in names], 2) if names else "its parameters"
    return (
        f"the learning rate of group {values['group']} of {fact.target} is 0 in all steps, so that "
        f"{them} {'does' if len(names) == 1 else 'do'} not change",
        "set a learning rate above 0 for the group, or freeze it with `requires_grad_(False)`",
    )


def _empty(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    own = ", ".join(f"{name}={value:g}" for name, value in values["own"].items())
    message = f"group {values['group']} of {fact.target} has no parameters"
    return (
        f"{message}, so its {own} applies to no parameter" if own else message,
        "check the condition that puts parameters into groups",
    )


def _large_eps(fact: ScriptFact) -> tuple[str, str]:
    eps, given = fact.values["eps"], fact.values["given"]
    message = f"{fact.target} has eps={eps:g} and weight_decay=0: its fourth argument is eps"
    if given:
        message += f", and gets `{given}`"
    return message, "pass `weight_decay` by its name; 1e-8 is a usual eps"


def _dropped(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"the state that {fact.target} loaded at {fact.values['at']} is not used: another "
        "optimizer of the same parameters steps instead, and begins without it",
        "construct the optimizer once, before its state is loaded",
    )


def _endless(fact: ScriptFact) -> tuple[str, str]:
    momentum = fact.values["momentum"]
    return (
        f"{fact.target} has momentum={momentum:g}: no gradient of an earlier step ever fades, so "
        "that steps become longer and longer",
        "use a momentum below 1, such as 0.9",
    )


def _swapped(fact: ScriptFact) -> tuple[str, str]:
    first, second = fact.values["first"], fact.values["second"]
    return (
        f"{fact.target} has betas=({first:g}, {second:g}): the average of squared gradients is "
        "over fewer steps than that of gradients, as if they were swapped",
        "pass the larger one second, as in the default betas=(0.9, 0.999)",
    )


def _misplaced(fact: ScriptFact) -> tuple[str, str]:
    given, taken = fact.values["given"], fact.values["taken"]
    return (
        f"{fact.target} gets `{given}` as its {taken}, by the position of the argument",
        f"pass it by its name, as in `{given}={given}`",
    )


def _small_rate(fact: ScriptFact) -> tuple[str, str]:
    rate = fact.values["rate"]
    return (
        f"the learning rate of {fact.target} is {rate:g}, which makes its updates {1 / rate:,.0f} "
        "times smaller than it computes them: its default is 1",
        "remove `lr`, or use Adam",
    )


def _partial_batches(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"{fact.target} compares the signs of gradients from step to step, and gets another batch "
        f"of {fact.values['rows']:,} samples each time, whose signs differ by chance",
        "pass all samples in each step, or use RMSprop or Adam",
    )


def _random_closure(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"{fact.target} compares the gradients of several calls of its closure, and "
        f"{counted(fact.values['dropouts'], 'module')} with dropout draws another mask in each",
        "remove the dropout, or use Adam",
    )


def _unknown_key(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    value = "" if values["value"] is None else f", which is {values['value']:g}"
    return (
        f"group {values['group']} of {fact.target} has `{values['key']}`, which no step reads: it "
        f"uses `{values['meant']}`{value}",
        f"rename the key to `{values['meant']}`",
    )


_SENTENCES = {
    "unknown_key": _unknown_key,
    "small_rate": _small_rate,
    "partial_batches": _partial_batches,
    "random_closure": _random_closure,
    "misplaced_setting": _misplaced,
    "endless_momentum": _endless,
    "swapped_betas": _swapped,
    "dropped_state": _dropped,
    "empty_group": _empty,
    "large_eps": _large_eps,
    "duplicate_parameters": _duplicate,
    "optimizer_again": _again,
    "resting_group": _resting,
}

RULE = Rule(
    name="optimizer_construction",
    severity="warning",
    of_training=True,
    every_step=True,
    looks_at="optimizers",
    says="an optimizer is constructed once, with each parameter once",
    computes="Looks at the parameters of each optimizer at its first step, and at the learning "
    "rates of its groups at some steps. Fails if it has a parameter twice; if a line constructs at "
    "least five optimizers with moments for the same parameters, each of which makes one step; "
    "if the learning rate of one of several groups is 0 at each look; if the norm of all "
    "parameters falls to 30 %, with a weight_decay of at least 0.05; or if another optimizer of "
    "the same parameters steps in place of one whose state was loaded. A group without parameters "
    "is a note, as is an eps of Adam of at least 0.01 without weight_decay: the fourth argument is "
    "eps; so is a second beta below the first, a learning rate of Adadelta of at most 0.02, and "
    "Rprop whose first three batches differ. A momentum of 1 or more fails, as "
    "does LBFGS with active dropout, and a key of a group, such as learning_rate, that no step "
    "reads.",
    formula="parameters of an optimizer are distinct; one optimizer per training",
    source="torch.optim.Optimizer: it keeps its moments; a duplicate parameter is a warning of it",
    fails="Adam(list(a.parameters()) + list(a.parameters())); optimizer = Adam(...) in the loop",
    mend="construct the optimizer once, in front of the loop, with the parameters of all parts",
    example="{rule: optimizer_construction, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)

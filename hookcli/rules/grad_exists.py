"""`grad_exists`: every trainable parameter gets a gradient that is not all zeros."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from hookcli.report.findings import Measurement, Severity
from hookcli.report.recording import NO_GRAD, NO_GRAD_INPUT, NO_OUTPUT
from hookcli.report.report import ParameterRow, Report
from hookcli.rules.gradients.cut_advice import OF_CHECKPOINT
from hookcli.rules.gradients.grad_path import CUT_OFF, advice_of, cause_of, reasons
from hookcli.rules.gradients.zero_reasons import ZERO_REASONS, reason_of
from hookcli.rules.gradients.zero_weights import (
    LATER,
    ZERO_INITIALIZATION,
    is_zero_weight,
    later_gradients,
    named_with_verb,
)
from hookcli.rules.last_blocks import LastBlocks
from hookcli.rules.rule import (
    NO_BACKWARD,
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    no_match,
    passed,
    skipped,
)
from hookcli.rules.select import (
    modules_above,
    owner,
    parameters_at,
    places,
    runs_in_another,
)
from hookcli.rules.training.series import calls_without_graph_only, trained_between, without_sum
from hookcli.rules.uncalled_modules import ROUTES, chosen_by_run
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import counted, join_names

IS_ZERO = "got a gradient that is exactly zero"  # snapshots tell findings apart by it
_REACHED = {"ok", "zero", "non_finite"}
_REASONS = {
    "none": "got no gradient: the loss does not reach {them}",
    "zero": IS_ZERO,
}
_NO_GRAPH = {
    NO_GRAD: (
        "under torch.no_grad",
        "call it outside of `torch.no_grad()`, or freeze it: `requires_grad_(False)`",
    ),
    NO_GRAD_INPUT: ("in a reentrant checkpoint, and no input of it requires grad", OF_CHECKPOINT),
}
_ZERO_ADVICE = (
    "look for an input of zeros, a product with zero, a clipped or rounded result, and a sum in "
    "which the gradients cancel, such as a difference of two calls"
)


def _groups(report: Report, rows: list[ParameterRow]) -> dict[tuple[str, str], list[ParameterRow]]:
    """Group bad rows by the outermost module whose trainable parameters all have that status."""
    # An empty gradient is not a zero gradient.
    bad = [(row, row.status) for row in rows if row.status in _REASONS and row.numel != 0]
    if not bad:
        return {}
    trainable: Counter[str] = Counter()
    for row in report.parameters:
        if row.status != "frozen" and row.numel != 0:
            trainable.update(modules_above(row.name))
    same = Counter((name, status) for row, status in bad for name in modules_above(row.name))
    groups: dict[tuple[str, str], list[ParameterRow]] = {}
    for row, status in bad:
        top = owner(row.name)
        while top and same[owner(top), status] == trainable[owner(top)]:
            top = owner(top)
        groups.setdefault((top, str(status)), []).append(row)
    return groups


def _who(module: str, rows: list[ParameterRow]) -> str:
    holders = dict.fromkeys(owner(row.name) for row in rows)
    if len(holders) > 1:
        return f"{len(rows):,} parameters in {counted(len(holders), 'module')}"
    return join_names([row.name.removeprefix(f"{module}.") for row in rows])


def _sentence(module: str, status: str, rows: list[ParameterRow]) -> str:
    them, their = ("it", "its") if len(rows) == 1 else ("them", "their")
    return f"{_who(module, rows)} {_REASONS[status].format(them=them, their=their)}"


def _without_graph(report: Report, module: str, rows: list[ParameterRow]) -> str | None:
    """Return why all calls of the module, or of those with the parameters, had no graph."""
    if module == "" and calls_without_graph_only(report.training):
        return NO_GRAD
    names = {module, *(owner(row.name) for row in rows)}
    calls = [row for row in report.layers if row.name in names and row.name]
    for note in (NO_GRAD, NO_GRAD_INPUT) if module and calls else ():
        if all(note in row.notes for row in calls):
            return note
    return None


def _detached(report: Report) -> str | None:
    """Return the line of the script that detaches the output of the whole model."""
    lines = None if report.training is None else report.training.lines
    return None if lines is None else lines.detached


def _first_reasons(report: Report) -> dict[str, int]:
    """Return the position of the first reason for each part of the model that is cut off."""
    first: dict[str, int] = {}
    for i, row in enumerate(reasons(report)):
        for part in row.value["cut_off"]:
            first.setdefault(part, i)
    return first


def _explained(
    rows: list[Measurement], first: Mapping[str, int], group: list[ParameterRow]
) -> tuple[str, str | None]:
    """Return the cause and the advice, if a further forward found why gradients are missing."""
    names = {part for row in group for part in (row.name, *modules_above(row.name))}
    known = [first[name] for name in names if name in first]
    return (cause_of(rows[min(known)]), advice_of(rows[min(known)])) if known else ("", None)


def _left_out(report: Report) -> set[str]:
    """Return the parameters of modules that never ran, if no optimizer of the training has them.

    As of an EMA copy, which the script writes: it is no part of the model that is trained.
    """
    if report.training is None:
        return set()
    idle = {row.name for row in report.uncalled}
    return {name for name in report.training.unheld if idle.intersection(modules_above(name))}


def _not_chosen(report: Report, rows: list[ParameterRow]) -> set[str]:
    """Return the parameters of modules that run with other random numbers or inputs."""
    chosen = chosen_by_run(report)
    return {row.name for row in rows if chosen.intersection(modules_above(row.name))}


def _in_uncalled(report: Report, rows: list[ParameterRow]) -> set[str]:
    """Return the parameters of modules that the method in place of forward does not call."""
    idle = {row.name for row in report.uncalled if row.name}
    return {row.name for row in rows if idle.intersection(modules_above(row.name))}


def _later(report: Report, rows: list[ParameterRow]) -> list[ParameterRow]:
    """Return the parameters whose gradient is zero in the first step only, as was measured."""
    measured = later_gradients(report)
    return [row for row in rows if row.name in measured[1]] if measured else []


def _first_step_only(report: Report, rows: list[ParameterRow]) -> RuleFinding:
    """Return the note about parameters that get a gradient after some steps."""
    steps, _ = later_gradients(report) or (0, None)
    if steps == 0:  # the steps are without the hooks of the configuration
        message = (
            f"{counted(len(rows), 'parameter')} got zero gradients, but not in a second run "
            "without the hooks of the configuration"
        )
        where, target = places(report), owner(rows[0].name)
        return RuleFinding(
            "fail", target, "hooks", message, len(rows), 0, where.get(target), severity="note",
            advice="remove the hooks that change values; without any, check what is random here",
        )  # fmt: skip
    whose = "its gradient is" if len(rows) == 1 else "their gradients are"
    after = f"after {counted(steps, 'step')} {whose} not zero"
    names = {row.name for row in rows}
    weights = [
        row.name
        for row in report.parameters
        if is_zero_weight(row) and (row.status == "ok" or row.name in names)
    ]
    who = counted(len(rows), "parameter")
    why = f" because {named_with_verb(weights)} zero: a zero initialization" if weights else ""
    message = f"{who} got zero gradients{why}; {after}"
    target = owner(weights[0]) if weights else owner(rows[0].name)
    where = places(report)
    return RuleFinding(
        "fail", target, "zero at first", message, len(rows), 0,
        where.get(target or owner(rows[0].name)),
        severity="note", cause=ZERO_INITIALIZATION,
        advice=f"run `--steps {steps + 1}` to see these gradients",
    )  # fmt: skip


def _without_output(report: Report) -> RuleFinding | None:
    """Return a finding if the model returned None: there is nothing to compute a loss of."""
    root = next((row for row in report.layers if row.name == "" and NO_OUTPUT in row.notes), None)
    if root is None or not any(row.requires_grad for row in report.parameters):
        return None
    message = f"the forward of {root.type} returned None: no loss can be computed of it"
    return RuleFinding(
        "fail", "", "no output", message, 0, 1, root.place,
        advice="add `return` to the end of forward",
    )  # fmt: skip


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each module whose trainable parameters got no gradient, or only zeros."""
    rows = list(parameters_at(report, options["at"]))
    if all(row.status is None for row in report.parameters):
        yield _without_output(report) or skipped(NO_BACKWARD)
        return
    if not rows:
        yield no_match("parameter", options["at"])
        return
    cancelled = without_sum(report)
    later = [row for row in _later(report, rows) if row.name not in cancelled]
    left_out = _left_out(report) | cancelled | trained_between(report)
    left_out |= {row.name for row in later} | _not_chosen(report, rows)
    if report.run.method:
        left_out |= _in_uncalled(report, rows)
    if later:
        yield _first_step_only(report, later)
    groups = _groups(report, [row for row in rows if row.name not in left_out])
    where = places(report) if groups else {}
    used = {
        name
        for row in report.parameters
        if row.status in _REACHED
        for own in (row.name, *row.shared_with)
        for name in modules_above(own)
    }
    # With a gradient, the weights of a module were used although it was not called.
    idle = {row.name for row in report.uncalled} - used
    why_missing, first = reasons(report), _first_reasons(report)
    last = LastBlocks(report)
    for (module, status), group in groups.items():
        why = " (the module never ran)" if status == "none" and module in idle else ""
        message = _sentence(module, status, group) + why
        place = where.get(module) or where.get(owner(group[0].name))  # a ModuleList has no place
        cause, advice = _explained(why_missing, first, group)
        off = _without_graph(report, module, group) if status == "none" and not cause else None
        if off is not None:
            runs = f"'{module}' runs" if module else "the model runs"
            under, advice = _NO_GRAPH[off]
            message = f"{_who(module, group)} got no gradient: {runs} {under}"
        if status == "none" and not cause and module == "" and (line := _detached(report)):
            place, _, code = line.partition(": ")
            message = f"{_who(module, group)} got no gradient: the script detaches the output"
            message += f" of the model, in `{code}`"
            advice = "compute the loss of the output itself, or freeze the model"
        known = reason_of(report, group) if status == "zero" and not cause else None
        if known is not None:
            cause, reason, advice, at = known
            message, place = f"{message}: {reason}", at or place
        elif advice is None and status == "zero":
            advice = _ZERO_ADVICE
        severity: Severity | None = None
        block = last.before(row.name for row in group) if status == "none" else None
        if why and runs_in_another(report, module) is not None:
            severity = "note"
        if block is not None and cause != CUT_OFF:
            message, severity = f"{message}; those of '{block}' got one", "note"
        yield RuleFinding(
            "fail", module, status, message, len(group), 0, place, cause=cause, advice=advice,
            severity=severity,
        )  # fmt: skip
    if not groups:
        frozen = sum(row.status == "frozen" for row in rows)
        aside = f" ({frozen:,} frozen)" if frozen else ""
        reached = counted(len(rows) - frozen, "parameter")
        yield passed(f"{reached} got a gradient{aside}", value=0, limit=0)


_PROBES = (request_probe(LATER), request_probe(ROUTES), request_probe(ZERO_REASONS))

RULE = Rule(
    name="grad_exists",
    severity="warning",
    safe=True,
    diagnoses=True,
    looks_at="gradients",
    of_training=True,
    says="every trainable parameter gets a gradient that is not all zeros",
    computes="Each parameter is in one of four states after a backward pass: reached, unreachable "
    "(its .grad is None), zero (every element of its gradient is exactly zero), or frozen "
    "(requires_grad is False). Unreachable and zero are findings. If a gradient is zero, the model "
    "is trained for up to four steps: what has a gradient then is a note, as behind a layer that "
    "is initialised with zeros. In a training, a "
    "parameter that changes between the sampled steps is not reported: it may belong to an expert "
    "that is seldom used. Neither is a bias with a zero gradient if the weight of its layer has a "
    "gradient: the gradients of the outputs cancel.",
    formula="requires_grad implies grad is not None and max |grad| > 0",
    source="pytorch#57776: torch does not report a parameter that no gradient reaches",
    fails="self.head = nn.Linear(8, 2) that forward never uses; x.detach() after the encoder",
    mend="use the module, freeze it with requires_grad_(False), or remove it",
    example='{rule: grad_exists, at: "encoder.*", severity: error}',
    options=(RuleOption("at", "globs", "globs of parameter names", ("*",)),),
    needs=lambda options: (BACKWARD, *_PROBES),
    watches=lambda options: _PROBES,
    judge=judge,
)

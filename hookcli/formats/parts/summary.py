"""The lines around the tables: model, batch and run above; totals and notes below."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from hookcli.console import escape
from hookcli.formats.names import TRAINING
from hookcli.formats.parts import compiler
from hookcli.formats.parts.text import figure, number, place, shape, size
from hookcli.report.report import Environment, ErrorInfo, Inputs, Report, RunInfo
from hookcli.report.training import TrainingReport
from hookcli.report.values import Tree
from hookcli.text import counted, join_names, pluralize

_FUNCTIONAL = "NonDynamicallyQuantizableLinear"  # attention uses its weights without a call
_TARGET_ORIGINS = {
    "given": "given",
    "batch": "of the batch",
    "made": "made up to fit the output",
    None: "of unknown origin",
}
_MOST = 8  # names listed before "and N more"


def tree(node: Tree) -> str:
    """Return the structure of a value on one line."""
    if "shape" in node:
        return f"{escape(node['dtype'])} {shape(node['shape'])}"
    if "tuple" in node:
        return "(" + ", ".join(tree(n) for n in node["tuple"]) + ")"
    if "list" in node:
        return "[" + ", ".join(tree(n) for n in node["list"]) + "]"
    if "dict" in node:
        return "{" + ", ".join(f"{escape(k)}: {tree(n)}" for k, n in node["dict"].items()) + "}"
    if "object" in node:
        inside = ", ".join(f"{escape(k)}={tree(n)}" for k, n in node["object"].items())
        return f"{escape(node['type'])}({inside})"
    return escape(node["value"])


def batch(inputs: Inputs) -> str:
    """Return the batch on one line, with its origin."""
    given = [tree(a) for a in inputs.args]
    given += [f"{escape(k)}={tree(v)}" for k, v in inputs.kwargs.items()]
    return f"{', '.join(given) or 'none'}  ({inputs.origin})"


def target(inputs: Inputs) -> list[tuple[str, str]]:
    """Return the (label, text) line of the loss's target, if there is one."""
    if inputs.target is None:
        return []
    return [("target", f"{tree(inputs.target)}  ({_TARGET_ORIGINS[inputs.target_origin]})")]


def head(report: Report) -> list[tuple[str, str]]:
    """Return (label, text) lines about the model, the input, the run and the loss."""
    model, run = report.model, report.run
    if report.command == TRAINING:
        return [("script", place(model.source))]
    if model.format == "weights":
        return [("weights", place(model.source))]
    name = escape(model.type or model.source)
    lines = [("model", f"{name}  {place(model.place or model.source)}")]
    if report.inputs is not None:
        lines.append(("input", batch(report.inputs)))
        lines += target(report.inputs)
    if (python := interpreter(report.environment)) is not None:
        lines.append(("python", python))
    device = escape(run.device)
    lines.append(("run", f"{run.tensors} tensors, {run.mode} mode, {device}, seed {run.seed}"))
    if run.compiler is not None:
        lines.append(("graphs", compiler.graphs(run.compiler)))
    if run.loss is not None:
        losses = f" {', '.join(figure(loss) for loss in run.losses[-_MOST:])}" if run.losses else ""
        lines.append(("loss", f"{escape(run.loss)}{losses}{_extent(run)}"))
    return lines


def interpreter(environment: Environment, *, path: bool = True) -> str | None:
    """Return the Python that ran the model, with its `path`; None if it is hookcli's own.

    Reports of older versions do not tell which Python it was.
    """
    source = environment.python_source
    if source is None or source == "own":
        return None
    torch = "" if environment.torch is None else f", torch {escape(environment.torch)}"
    executable = environment.python_executable if path else None
    where = "" if executable is None else f" {escape(executable)}"
    return f"{escape(environment.python)}{torch}{where} ({escape(source)})"


def _extent(run: RunInfo) -> str:
    """Return the numbers of steps and ranks, if more than one."""
    counts = ((run.steps, "steps"), (run.world_size, "ranks"))
    return "".join(f", {count} {what}" for count, what in counts if count > 1)


def _uncounted(report: Report) -> tuple[int, int, int] | None:
    """Return three numbers of elements of parameters, or None if a count is not known.

    They are those in modules that never ran, those used without a call, and those that rows show
    more than once.
    """
    seen = {row.name: row for row in report.layers if row.registered and row.call == 0}
    homes = {name for row in seen.values() for name in (row.name, *row.aliases)}
    idle = used = shown = 0
    for row in seen.values():
        if row.own_parameters is None:
            return None
        shown += row.own_parameters
    for parameter in report.parameters:
        if parameter.numel is None:
            return None
        owners = {n.rpartition(".")[0] for n in (parameter.name, *parameter.shared_with)}
        if owners & homes:
            continue
        above = {owner.rpartition(".")[0] for owner in owners}
        if parameter.module_type == _FUNCTIONAL and above & homes:
            used += parameter.numel
        else:
            idle += parameter.numel
    total = report.totals.parameters
    return None if total is None else (idle, used, shown + idle + used - total)


def totals(report: Report) -> list[tuple[str, str]]:
    """Return (label, text) lines with the totals of the rows."""
    model = report.model
    lines: list[tuple[str, str]] = []
    if model.parameters is not None:
        lines.append(("Total params", number(model.parameters)))
        idle, used, again = _uncounted(report) or (0, 0, 0)
        if idle and report.error is None:
            lines.append(("  in modules never called", number(idle)))
        if used and report.error is None:
            lines.append(("  used without a call", number(used)))
        if again:
            lines.append(("  shared, counted once", number(again)))
        trainable = model.trainable_parameters
        if trainable is not None:
            lines.append(("Trainable params", number(trainable)))
            lines.append(("Non-trainable params", number(model.parameters - trainable)))
    lines += flops(report)
    if model.parameter_bytes is not None:
        lines.append(("Params size", size(model.parameter_bytes)))
        lines.append(("Buffers size", size(model.buffer_bytes)))
    if report.totals.activation_bytes is not None:
        lines.append(("Activations size", size(report.totals.activation_bytes)))
    lines += _measured(report, {("saved_for_backward", ""): "Saved for backward"})
    if report.memory is not None:
        lines.append(("Peak in forward", size(report.memory.forward_peak_bytes)))
        lines.append(("Peak in backward", size(report.memory.backward_peak_bytes)))
    return lines


def flops(report: Report) -> list[tuple[str, str]]:
    """Return lines with the operations that were counted: of forward, and of backward if it ran."""
    lines = []
    if report.totals.macs is not None:
        lines.append(("Total mult-adds", number(report.totals.macs)))
    if report.totals.flops is not None:
        lines.append(("Total FLOPs", number(report.totals.flops)))
    return lines + _measured(report, {("backward_flops_total", ""): "Backward FLOPs"})


def _measured(report: Report, labels: Mapping[tuple[str, str], str]) -> list[tuple[str, str]]:
    """Return a line for each measurement, by probe and target, that has a label."""
    lines = []
    for measurement in report.measurements:
        label = labels.get((measurement.probe, measurement.target))
        if label is not None:
            write = size if measurement.limit_unit == "bytes" else number
            lines.append((label, write(measurement.value)))
    return lines


def failure(error: ErrorInfo) -> str:
    """Return the error that ended the run, in one line."""
    layer = "" if error.layer is None else f" in '{escape(error.layer)}'" if error.layer else ""
    where = f", at {place(error.place)}" if error.place else ""
    message = escape(" ".join(error.message.split()))
    return f"{escape(error.type)} in {escape(error.phase)}{layer}{where}: {message}"


_NUMBER = re.compile(r"(?<=\.)\d+(?=[. ])|^\d+(?=[. ])")


def join_alike(names: list[str]) -> str:
    """Join names; names that differ only in an index become one, `h.*.attn.drop (Dropout) ×12`."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_NUMBER.sub("*", name), []).append(name)
    shown = [
        escape(group[0]) if len(group) == 1 else f"{escape(pattern)} ×{len(group)}"
        for pattern, group in groups.items()
    ]
    return join_names(shown, _MOST)


def failed(report: Report) -> list[tuple[str, str]]:
    """Return (label, text) of each check that failed or could not be judged, errors first."""
    failures = []
    for check in report.checks:
        if check.status not in {"fail", "error"}:
            continue
        label = check.severity if check.status == "fail" else "not judged"
        target = escape(check.target) or "the model"
        where = f" ({place(check.place)})" if check.place else ""
        text = f"{escape(check.rule)}, {target}: {escape(' '.join(check.message.split()))}{where}"
        failures.append((label, text))
    return sorted(
        failures, key=lambda failure: ("error", "not judged", "warning", "note").index(failure[0])
    )


def notes(report: Report, only: str | None = None) -> list[str]:
    """Return the notes below the rows of calls. `only` is the glob of the view."""
    lines = [escape(w) for w in report.warnings] + _breaks(report)
    if only is not None and not any(fnmatchcase(row.name or "", only) for row in report.layers):
        lines.append(no_match("name", "--only", only))
    lines += _fallback(report)
    if any(row.shared_with and row.call == 0 for row in report.layers):
        lines.append("* shared with another module, counted once in the total")
    return [*lines, *neutral(report), *_facts(report)]


def _breaks(report: Report) -> list[str]:
    return [] if report.run.compiler is None else compiler.break_lines(report.run.compiler)


def neutral(report: Report | TrainingReport) -> list[str]:
    """Return the result of `--verify-neutral`, unless it is a finding."""
    return [
        f"neutral: {escape(row.message)}"
        for row in report.checks
        if row.rule == "neutral" and row.status != "fail"
    ]


def run_notes(report: Report, more: Sequence[str] = ()) -> list[str]:
    """Return the notes about the run; `more` are additional notes of the view."""
    warnings = [escape(warning) for warning in report.warnings] + _breaks(report)
    return [*warnings, *_fallback(report), *more, *_facts(report)]


def unfit(columns: Sequence[str], *, chosen: bool = True) -> list[str]:
    """Return a note about the columns that were dropped; `chosen`: --columns can choose them."""
    if not columns:
        return []
    names = list(dict.fromkeys(columns))
    verb = pluralize(len(names), "does", "do")
    way = "use a wider terminal or `--columns`" if chosen else "use a wider terminal"
    return [f"{counted(len(names), 'column')} {verb} not fit: {', '.join(names)} ({way})"]


def hidden_rows(shown: int, total: int, noun: str) -> list[str]:
    """Return a note if a view does not show all rows."""
    if shown >= total:
        return []
    return [f"{shown:,} of {counted(total, noun)} {pluralize(shown, 'is', 'are')} shown"]


def not_measured(names: Sequence[str], where: str) -> list[str]:
    """Return a note about statistics that no hook recorded; `where` is the hook that records it."""
    if not names:
        return []
    verb = pluralize(len(names), "was", "were")
    return [f"{', '.join(names)} {verb} not measured: add `do: stats` to {where}"]


def no_match(what: str, flag: str, value: str) -> str:
    """Return the note that a view matches nothing."""
    return f"no {what} matches {flag} {escape(value)}"


def _fallback(report: Report) -> list[str]:
    why = report.run.fallback
    return (
        [f"real tensors were used, because the run with fake tensors failed: {escape(why)}"]
        if why
        else []
    )


def _facts(report: Report) -> list[str]:
    """Return notes about uncalled and unregistered modules, changed buffers, and the error."""
    facts = []
    # The root is never called where another of its methods runs, which the head of the report says.
    names = [f"{row.name} ({row.type})" for row in report.uncalled if row.name]
    if names:
        facts.append(f"never called: {join_alike(names)}")
    unregistered = sorted({row.type for row in report.layers if not row.registered})
    if unregistered:
        facts.append(f"called, but not registered: {', '.join(map(escape, unregistered))}")
    changed = [buffer.name for buffer in report.buffers if buffer.changed]
    if changed:
        facts.append(f"buffers changed by the forward: {join_alike(changed)}")
    if report.error is not None:
        facts.append(f"partial: {failure(report.error)}")
    return facts

"""The sentences around the rows of a diff."""

from __future__ import annotations

from hookcli.comparison.compile_diff import compiled_sentence
from hookcli.comparison.diff import (
    CompiledInfo,
    Counts,
    Diff,
    ExactDiff,
    ParallelInfo,
    SideInfo,
    TensorDiff,
)
from hookcli.comparison.plan_diff import compared_sentence
from hookcli.comparison.ports.dump_diff import TENSORS
from hookcli.console import escape
from hookcli.formats.diff.rows import Shown, value
from hookcli.formats.parts.compiler import break_lines, graphs
from hookcli.formats.parts.summary import interpreter, target
from hookcli.formats.parts.text import figure, number, place, shape
from hookcli.formats.view import View
from hookcli.report.values import Number
from hookcli.spec.compared.compiled import CompileSettings
from hookcli.text import counted, join_names, pluralize


def _side(side: SideInfo) -> str:
    if side.type == TENSORS:
        return f"{escape(side.source)}, {counted(side.calls, 'tensor')}"
    run = f"{escape(side.run.mode)}, {escape(side.run.device)}"
    name = f"{escape(side.source)} ({escape(side.type or '?')})"
    environment = side.environment
    python = None if environment is None else interpreter(environment, path=False)
    after = "" if python is None else f", Python {python}"
    return f"{name}, {number(side.parameters)} parameters, {run}{after}"


def head(diff: Diff) -> list[tuple[str, str]]:
    """Return (label, text) lines about A, B, the batch and the weights."""
    lines = [("A", _side(diff.a)), ("B", _side(diff.b))]
    if diff.parallel is not None:
        return [*lines, *_plan(diff, diff.parallel)]
    if diff.compiled is not None:
        return [*lines, *_compiled(diff, diff.compiled)]
    if diff.inputs is not None:
        lines.append(("Batch", f"{diff.inputs.origin}, the same for A and B"))
        lines += [(label.title(), text) for label, text in target(diff.inputs)]
    if diff.a.run.loss is not None:
        a, b = (
            "–" if not run.losses else figure(run.losses[-1]) for run in (diff.a.run, diff.b.run)
        )
        lines.append(("Loss", f"{escape(diff.a.run.loss)}, {a} in A and {b} in B"))
    if diff.b.type == TENSORS:
        return lines
    if diff.weights is not None or diff.port is not None or not diff.calls.unknown:
        lines.append(("Weights", weights(diff)))
    return lines


def _plan(diff: Diff, parallel: ParallelInfo) -> list[tuple[str, str]]:
    """Return (label, text) lines about a parallel plan and what it got."""
    mesh = ", ".join(f"{escape(name)} {size}" for name, size in parallel.mesh)
    lines = [("Plan", f"{escape(parallel.plan)} on {parallel.ranks} ranks, mesh {mesh}, gloo")]
    if diff.inputs is not None:
        lines.append(("Batch", f"{diff.inputs.origin}, the same for A and all ranks of B"))
    if diff.a.run.loss is not None and diff.a.run.losses:
        lines.append(("Loss", f"{escape(diff.a.run.loss)}, {figure(diff.a.run.losses[-1])} in A"))
    return lines


def _compiled(diff: Diff, compiled: CompiledInfo) -> list[tuple[str, str]]:
    """Return (label, text) lines about how B was compiled, and what the compiler did."""
    settings = CompileSettings(
        compiled.backend, compiled.mode, compiled.dynamic, compiled.fullgraph
    )
    lines = [("Backend", escape(settings.text()))]
    if compiled.compiler is not None:
        lines.append(("Graphs", graphs(compiled.compiler)))
    if diff.inputs is not None:
        lines.append(("Batch", f"{diff.inputs.origin}, the same for A and B"))
    return lines


def weights(diff: Diff) -> str:
    """Return a sentence about the weights that B ran with."""
    loaded = diff.weights
    if diff.port is not None and diff.port.weights != "own":
        how = "an inferred map" if diff.port.weights == "inferred" else "the map"
        return f"those of A, loaded into B through {how}"
    if loaded is None:
        return "A and B each use their own"
    text = f"{counted(loaded['loaded'], 'tensor')} of A loaded into B"
    if loaded["differed"]:
        text += f", {len(loaded['differed'])} of them with new values"
    left = []
    if loaded["misfits"]:
        misfit = loaded["misfits"][0]
        a, b = shape(tuple(misfit["a_shape"])), shape(tuple(misfit["b_shape"]))
        left.append(f"{escape(misfit['name'])} is {a} in A and {b} in B")
        if len(loaded["misfits"]) > 1:
            left.append(f"{len(loaded['misfits']) - 1} more with different shapes")
    left += [
        f"{join_names([escape(name) for name in names])} only in {side}"
        for side, names in (("A", loaded["only_a"]), ("B", loaded["only_b"]))
        if names
    ]
    return f"{text}; not loaded: {'; '.join(left)}" if left else text


def _precise(value: Number | str | None) -> str:
    """Return a number with the digits that distinguish float32 values."""
    return f"{value:.7g}" if isinstance(value, float) else escape(str(value))


def _exact(side: str, differences: tuple[ExactDiff, ...] | None) -> list[str]:
    lines = []
    for difference in (differences or ())[:3]:
        where = f"{side}{escape(difference.path)}"
        if not difference.differ:
            lines.append(f"{where}: all {counted(difference.numel, 'element')} equal")
            continue
        values = f"{_precise(difference.a)} in A, {_precise(difference.b)} in B"
        lines.append(
            f"{where}: {difference.differ:,} of {difference.numel:,} elements differ, "
            f"by {figure(difference.relative)} of the norm and "
            f"at most by {figure(difference.max_abs)}, at {shape(difference.at or ())}: {values}"
        )
    return lines


def first(diff: Diff) -> list[tuple[str, str]]:
    """Return (label, text) lines about the first difference."""
    difference = diff.first
    if difference is None:
        return []
    lines = [("First difference", escape(difference.sentence))]
    call, other = difference.a, difference.b
    for label, ref in (
        ("in A", difference.within or call),
        ("in B", None if difference.within else other),
    ):
        if ref is not None and ref.place is not None:
            lines.append((label, place(ref.place)))
    lines += [("exact", text) for text in _exact("input", difference.inputs)]
    lines += [("exact", text) for text in _exact("output", difference.outputs)]
    return lines


def _counted(what: str, counts: Counts) -> str:
    parts = [
        f"{number} {word}"
        for number, word in (
            (counts.same, "bitwise equal"),
            (counts.close, "close"),
            (counts.different, "different"),
            (counts.unknown, "unknown"),
            (counts.only_a, "only in A"),
            (counts.only_b, "only in B"),
        )
        if number
    ]
    return f"{what}: {', '.join(parts)}" if parts else ""


def totals(diff: Diff) -> list[str]:
    """Return lines with the counts of equal and different calls, parameters and buffers."""
    lines = [
        _counted(what, counts)
        for what, counts in (
            ("calls", diff.calls),
            ("parameters", diff.parameters),
            ("buffers", diff.buffers),
        )
    ]
    return [line for line in lines if line]


def notes(diff: Diff, rows: Shown, view: View) -> list[str]:
    """Return the notes below the tables."""
    lines = [escape(text) for text in diff.warnings]
    if diff.compiled is not None and diff.compiled.compiler is not None:
        lines += break_lines(diff.compiled.compiler)
    if diff.order is not None:
        a, b = diff.order.a, diff.order.b
        lines.append(
            f"the order of calls differs: A calls {escape(a.name or a.type)} and B calls "
            f"{escape(b.name or b.type)}"
        )
    hidden = rows.of_calls - len(rows.calls)
    if hidden and view.only is None and rows.calls:
        lines.append(
            f"{counted(hidden, 'call')} not shown: pass `--only '*'` or `-f json` to see all"
        )
    if diff.first is None and diff.first_inexact is not None:
        call = diff.first_inexact
        lines.append(
            f"the first call that is not bitwise equal is {escape(call.name or call.type)}"
        )
    return lines


def last_line(diff: Diff) -> str:
    """Return the verdict: SAME or DIFFERENT, and why."""
    if diff.verdict == "different":
        return f"DIFFERENT: {escape(', '.join(diff.reasons))}"
    if diff.parallel is not None:
        return _equal(diff)
    if diff.compiled is not None:
        return f"EQUAL within tolerance: {compiled_sentence(diff)}"
    if diff.b.type == TENSORS:
        return (
            f"SAME within tolerance: calls of A return all {counted(diff.b.calls, 'tensor')} of B"
        )
    if diff.port is not None:
        return _matched(diff)
    alone = diff.calls.only_a + diff.calls.only_b
    has = f"{alone} {pluralize(alone, 'call has', 'calls have')}"
    rest = f", but {has} no counterpart" if alone else ""
    if unknown := diff.calls.unknown:
        known = diff.calls.same + diff.calls.close
        which = f"{unknown:,} of {counted(known + unknown, 'call')}"
        return f"SAME as far as the reports show: the values of {which} are unknown{rest}"
    if diff.calls.close or diff.parameters.close:
        return f"SAME within tolerance: differences of at most {largest(diff)} of a norm{rest}"
    return f"SAME: bitwise equal{rest}"


def _matched(diff: Diff) -> str:
    """Return the verdict on two implementations whose outputs agree."""
    calls = diff.a.calls
    found = calls - diff.calls.only_a
    which = f"{found:,} of {counted(calls, 'call')} of A have a counterpart"
    if not diff.output:
        return f"SAME as far as it could be compared: no output has a counterpart; {which}"
    return (
        f"SAME within tolerance: outputs differ by at most {_most(diff.output)} of a norm; {which}"
    )


def _most(differences: tuple[TensorDiff, ...]) -> str:
    return figure(max((value(one.relative) for one in differences), default=0.0))


def _equal(diff: Diff) -> str:
    """Return the verdict on a plan that equals its reference, and what was compared."""
    unknown = diff.calls.unknown
    rest = f"; {counted(unknown, 'layer')} could not be compared" if unknown else ""
    return f"EQUAL within tolerance: {compared_sentence(diff)}{rest}"


def largest(diff: Diff) -> str:
    """Return the largest difference among all tensors of calls."""
    values = [
        value(difference.relative)
        for row in diff.rows
        for difference in (*row.inputs, *row.outputs)
    ]
    return figure(max(values, default=0.0))

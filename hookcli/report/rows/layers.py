"""Make the rows of layers, buffers, totals and the error from a recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from hookcli.report.edges import EdgeRow
from hookcli.report.memory import CallMemory
from hookcli.report.recording import (
    CallNote,
    Failure,
    LeafNote,
    ModuleInfo,
    ParameterInfo,
    Recording,
)
from hookcli.report.report import BufferRow, ErrorInfo, LayerRow, Totals, UncalledRow
from hookcli.report.rows.gradients import total_norm
from hookcli.report.rows.statistics import CallStatistics, observed
from hookcli.report.values import Leaf, known_size


def leaf_rows(
    notes: Iterable[LeafNote], seen: CallStatistics | None = None, part: str = ""
) -> tuple[Leaf, ...]:
    """Return tensors as rows, in order, with their statistics."""
    if seen is None or seen.is_empty:
        return tuple(
            Leaf(path, shape, dtype, via="attribute" if via else None)
            for path, shape, dtype, via in notes
        )
    return tuple(
        Leaf(
            path,
            shape,
            dtype,
            via="attribute" if via else None,
            stats=seen.leaf(part, path, grad=False),
            grad=seen.leaf(part, path, grad=True),
        )
        for path, shape, dtype, via in notes
    )


@dataclass(frozen=True, slots=True)
class _Sizes:
    own: int | None
    all: int | None
    trainable: int | None
    shared_with: tuple[str, ...]


def _sum(sizes: Iterable[int | None]) -> int | None:
    """Return the sum, or None if a size is not known."""
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total


def _elsewhere(module: ModuleInfo, parameters: Iterable[ParameterInfo]) -> tuple[str, ...]:
    """Return names of the module's own parameters that do not begin with a name of the module."""
    homes = {module.name, *module.aliases}
    return tuple(
        name
        for parameter in parameters
        for name in (parameter.name, *parameter.aliases)
        if name.rpartition(".")[0] not in homes
    )


def _sizes(module: ModuleInfo, by_key: dict[int, ParameterInfo]) -> _Sizes:
    own = [by_key[key] for key in dict.fromkeys(module.own) if key in by_key]
    below = [by_key[key] for key in module.below if key in by_key]
    return _Sizes(
        own=_sum(p.numel for p in own),
        all=_sum(p.numel for p in below),
        trainable=_sum(p.numel for p in below if p.requires_grad),
        shared_with=_elsewhere(module, own),
    )


def layer_rows(recording: Recording) -> tuple[LayerRow, ...]:
    """Return one row per call, in the order in which forwards started."""
    seen = observed(recording.events)
    by_key = {p.key: p for p in recording.parameters}
    modules = {m.key: m for m in recording.modules}
    sizes: dict[int, _Sizes] = {}
    by_call = None if recording.memory is None else recording.memory.calls
    rows = []
    for call in sorted(recording.calls, key=lambda note: note.order):
        module = modules.get(call.key)
        if module is not None and call.key not in sizes:
            sizes[call.key] = _sizes(module, by_key)
        memory = by_call.get(call.order, CallMemory()) if by_call is not None else None
        rows.append(_layer_row(call, module, sizes.get(call.key), seen.get(call.order), memory))
    return tuple(rows)


def _layer_row(
    call: CallNote,
    module: ModuleInfo | None,
    sizes: _Sizes | None,
    seen: CallStatistics | None,
    memory: CallMemory | None,
) -> LayerRow:
    seen = seen or CallStatistics()
    own, below, trainable = call.sizes or (None, None, None)
    # Without a formula for an operator, the cost is unknown, not zero.
    unknown = not call.counted or (call.unknown and not call.flops)
    flops = None if unknown else known_size(call.flops)
    return LayerRow(
        order=call.order,
        name=call.name if module is None else module.name,
        registered=module is not None or call.name is not None,
        aliases=() if module is None else module.aliases,
        type=call.type,
        original_name=call.original_name,
        call=call.index,
        parent=call.parent,
        depth=call.depth,
        training=call.training,
        place=call.place or (None if module is None else module.place),
        inputs=leaf_rows(call.inputs, seen, "input"),
        outputs=leaf_rows(call.outputs, seen, "output"),
        own_parameters=own if sizes is None else sizes.own,
        parameters=below if sizes is None else sizes.all,
        trainable_parameters=trainable if sizes is None else sizes.trainable,
        shared_with=() if sizes is None else sizes.shared_with,
        macs=None if flops is None else flops // 2,
        flops=flops,
        activation_bytes=call.activation_bytes,
        output_grad=seen.whole("output", grad=True),
        input_grad=seen.whole("input", grad=True),
        stats=seen.whole("output", grad=False),
        recomputed=call.recomputed,
        notes=(*call.notes, *_partial(call.unknown)),
        memory=memory,
    )


def _partial(unknown: dict[str, int]) -> tuple[str, ...]:
    """Return a note about operators without a formula, if there are any."""
    if not unknown:
        return ()
    names = ", ".join(f"{name} ×{n}" if n > 1 else name for name, n in sorted(unknown.items()))
    return (f"FLOPs are incomplete: no formula for {names}",)


def edge_rows(recording: Recording) -> tuple[EdgeRow, ...]:
    """Return the edges in the order of the calls that they lead to, their inputs first."""
    return tuple(sorted(recording.edges, key=lambda edge: (edge.target, edge.end)))


def uncalled_rows(recording: Recording) -> tuple[UncalledRow, ...]:
    """Return the registered modules with a forward that never started."""
    called = {call.key for call in recording.calls}
    return tuple(
        UncalledRow(m.name, m.type, m.place)
        for m in recording.modules
        if m.callable and m.key not in called
    )


def buffer_rows(recording: Recording) -> tuple[BufferRow, ...]:
    """Return one row per distinct buffer."""
    return tuple(BufferRow(b.name, b.shape, b.dtype, b.changed) for b in recording.buffers)


def totals(recording: Recording) -> Totals:
    """Return the totals of the run; parameters count once, even if their modules did not run."""
    flops = sum(call.flops for call in recording.calls)
    unknown = any(call.unknown for call in recording.calls)
    enabled = all(call.counted for call in recording.calls)
    counted = None if not enabled or (unknown and not flops) else known_size(flops)
    return Totals(
        layers=len({call.key for call in recording.calls}),
        calls=len(recording.calls),
        parameters=_sum(p.numel for p in recording.parameters),
        macs=None if counted is None else counted // 2,
        flops=counted,
        activation_bytes=_sum(call.activation_bytes for call in recording.calls if call.outputs),
        grad_norm=total_norm(recording),
    )


def partial_count(recording: Recording) -> tuple[str, ...]:
    """Return a warning if operators without a formula ran."""
    unknown: Counter[str] = Counter()
    for call in recording.calls:
        unknown.update(call.unknown)
    return _partial(unknown)


def parameter_sizes(recording: Recording) -> dict[str, int | None]:
    """Return figures of the report's `model`: elements and bytes of parameters and buffers."""
    return {
        "parameters": _sum(p.numel for p in recording.parameters),
        "trainable_parameters": _sum(p.numel for p in recording.parameters if p.requires_grad),
        "parameter_bytes": _sum(p.nbytes for p in recording.parameters),
        "buffers": sum(b.numel for b in recording.buffers),
        "buffer_bytes": sum(b.nbytes for b in recording.buffers),
    }


def error_row(failure: Failure, modules: Iterable[ModuleInfo]) -> ErrorInfo:
    """Return the report's `error`."""
    call = failure.call
    name = None
    if call is not None:
        name = next((m.name for m in modules if m.key == call.key), call.name)
        name = f"<{call.type}>" if name is None else name
    return ErrorInfo(
        phase=failure.phase,
        layer=name,
        call=None if call is None else call.index,
        inputs=() if call is None else leaf_rows(call.inputs),
        type=failure.type,
        message=failure.message,
        place=failure.place,
        hint=failure.hint,
        hook=failure.hook,
    )

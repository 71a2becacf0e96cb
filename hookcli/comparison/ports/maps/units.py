"""The calls of modules that have tensors of their own, in the order in which they begin."""

from __future__ import annotations

from dataclasses import dataclass

from hookcli.report.report import BufferRow, LayerRow, ParameterRow, Report
from hookcli.report.values import Shape


@dataclass(frozen=True, slots=True)
class OwnTensor:
    """A parameter or buffer of a module: its qualified name, and the last part of that."""

    name: str
    leaf: str
    shape: Shape
    dtype: str


@dataclass(frozen=True, slots=True)
class Unit:
    """The first call of a module that has tensors of its own.

    `row` is None for a module that is not called; it then stands where its caller begins. `number`
    is its place in the order in which modules were added to the model.
    """

    module: str
    type: str
    tensors: tuple[OwnTensor, ...]
    row: LayerRow | None
    number: int = 0

    @property
    def numel(self) -> int:
        """The number of elements of its tensors."""
        total = 0
        for tensor in self.tensors:
            size = 1
            for dim in tensor.shape:
                size *= dim or 0
            total += size
        return total


def units_of(report: Report, *, buffers: bool = False) -> list[Unit]:
    """Return the modules with tensors of their own, in the order of their first calls.

    A tensor that several modules share belongs to the first. Buffers count only if `buffers`.
    """
    own: dict[str, list[OwnTensor]] = {}
    types: dict[str, str] = {}
    rows: list[ParameterRow | BufferRow] = [*report.parameters]
    if buffers:
        rows += report.buffers
    for row in rows:
        module, _, leaf = row.name.rpartition(".")
        own.setdefault(module, []).append(OwnTensor(row.name, leaf, row.shape, row.dtype))
        types.setdefault(module, getattr(row, "module_type", ""))
    calls: dict[str, LayerRow] = {}
    for call in report.layers:
        for name in (call.name, *call.aliases):
            if name is not None and name in own:
                calls.setdefault(name, call)
    placed = []
    for number, (module, tensors) in enumerate(own.items()):
        found = calls.get(module)
        at = found.order if found is not None else _order_of_caller(module, report, number)
        kind = types[module] if found is None else found.type
        placed.append((at, number, Unit(module, kind, tuple(tensors), found, number)))
    return [unit for _, _, unit in sorted(placed, key=lambda item: item[:2])]


def _order_of_caller(module: str, report: Report, number: int) -> int:
    """Return the order of the first call of the nearest module around one that is not called."""
    first: dict[str, int] = {}
    for row in report.layers:
        if row.name is not None:
            first.setdefault(row.name, row.order)
    while module:
        module = module.rpartition(".")[0]
        if module in first:
            return first[module]
    return number

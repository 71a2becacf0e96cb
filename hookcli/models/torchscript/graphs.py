"""Add hookcli's operators to the graph of a method, where it begins and where it ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hookcli.models.scripted import OURS
from hookcli.models.torchscript.operators import swap_operator
from hookcli.torch_private import IntType, TupleType

Path = tuple[int, ...]
"""The position of a replaceable leaf in the values of a site: indices into nested tuples."""


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaves that can be replaced at the start and at the end of a method, by their number."""

    inputs: tuple[Path, ...] = ()
    outputs: tuple[Path, ...] = ()


def instrument(graph: Any, number: int, site: int, *, swaps: bool) -> tuple[Leaves, Any]:
    """Make a method report its start and end to the owner `number`; call it before the first run.

    With `swaps`, values can be replaced: tensors, and what contains them, except classes of the
    file and lists of named tuples. A list is then copied, so that code which appends to a list
    argument appends to the copy. Returns the leaves, and the value that has the number of the call.
    """
    first = next(iter(graph.nodes()), graph.return_node())
    owner, *values = graph.inputs()
    packed = pack(graph, values, first)
    call = report_start(graph, "enter", packed, owner, (number, site), first)
    given: list[Path] = []
    for index, value in enumerate(values if swaps else ()):
        new = swapped(graph, value, (index,), given, first, call)
        if new is not value:
            value.replaceAllUsesAfterNodeWith(new.node(), new)
    end = graph.return_node()
    (value,) = end.inputs()
    report_end(graph, "leave", value, owner, (number, site), call, end)
    returned: list[Path] = []
    if swaps:
        new = swapped(graph, value, (), returned, end, call)
        if new is not value:
            end.replaceInput(0, new)
    return Leaves(tuple(given), tuple(returned)), call


def nodes_of(block: Any) -> Iterator[Any]:
    """Yield the nodes of a graph or block and of the blocks inside, in order."""
    for node in list(block.nodes()):
        yield node
        for inner in node.blocks():
            yield from nodes_of(inner)


def _put(graph: Any, kind: str, inputs: list[Any], before: Any, outputs: int) -> Any:
    node = graph.create(kind, inputs, outputs)
    node.insertBefore(before)
    return node


def _constant(graph: Any, value: int | None, before: Any) -> Any:
    constant = graph.insertConstant(value)
    constant.node().moveBefore(before)
    return constant


def pack(graph: Any, values: list[Any], before: Any) -> Any:
    """Return a tuple of these values."""
    packed = _put(graph, "prim::TupleConstruct", values, before, 1)
    packed.output().setType(TupleType([value.type() for value in values]))
    return packed.output()


def _shown(graph: Any, value: Any, before: Any) -> Any:
    """Return a value as Python can get it: enums and objects of classes in the file become None.

    Python knows their classes only where they were scripted.
    """
    kind = value.type()
    if not _is_foreign(kind):
        return value
    if kind.kind() != "TupleType":
        return _constant(graph, None, before)
    return pack(graph, [_shown(graph, p, before) for p in unpack(graph, value, before)], before)


def _is_foreign(kind: Any) -> bool:
    """Whether values of a type contain enums or objects of a class in the file."""
    match kind.kind():
        case "EnumType":
            return True
        case "ClassType":
            return not str(kind.qualified_name()).startswith("__torch__.torch.classes.")
        case "TupleType":
            return any(map(_is_foreign, kind.elements()))
        case "OptionalType" | "ListType" | "FutureType":
            return _is_foreign(kind.getElementType())
        case "DictType":
            return _is_foreign(kind.getKeyType()) or _is_foreign(kind.getValueType())
    return False


def report_start(
    graph: Any, name: str, values: Any, owner: Any, numbers: tuple[int, int], before: Any
) -> Any:
    """Report the start of a call; return the value that has its number."""
    constants = [_constant(graph, number, before) for number in numbers]
    values = _shown(graph, values, before)
    node = _put(graph, f"{OURS}::{name}", [values, owner, *constants], before, 1)
    node.output().setType(IntType.get())
    return node.output()


def report_end(
    graph: Any,
    name: str,
    value: Any,
    owner: Any,
    numbers: tuple[int, int],
    call: Any,
    before: Any,
) -> None:
    """Report the end of a call."""
    constants = [_constant(graph, number, before) for number in numbers]
    value = _shown(graph, value, before)
    _put(graph, f"{OURS}::{name}", [value, owner, *constants, call], before, 0)


def call_here(graph: Any, number: int) -> Any:
    """Return the value that has the number of the call in which a method runs."""
    first = next(iter(graph.nodes()))
    node = _put(graph, f"{OURS}::here", [_constant(graph, number, first)], first, 1)
    node.output().setType(IntType.get())
    return node.output()


def resume(graph: Any, number: int, call: Any, before: Any) -> None:
    """Report that what follows, maybe on another thread, belongs to this call."""
    _put(graph, f"{OURS}::resume", [_constant(graph, number, before), call], before, 0)


def unpack(graph: Any, value: Any, before: Any) -> list[Any]:
    """Return the items of a tuple."""
    kinds = value.type().elements()
    outputs = list(_put(graph, "prim::TupleUnpack", [value], before, len(kinds)).outputs())
    for item, kind in zip(outputs, kinds, strict=True):
        item.setType(kind)
    return outputs


def swapped(graph: Any, value: Any, path: Path, paths: list[Path], before: Any, call: Any) -> Any:
    """Return the value to use instead: the same if none of its leaves can be replaced."""
    kind = value.type()
    if kind.kind() == "TupleType" and _can_swap(kind):
        new = [
            swapped(graph, part, (*path, index), paths, before, call)
            for index, part in enumerate(unpack(graph, value, before))
        ]
        packed = _put(graph, "prim::TupleConstruct", new, before, 1)
        packed.output().setType(kind)
        return packed.output()
    name = _swap_of(kind)
    if name is None:
        return value
    leaf = _constant(graph, len(paths), before)
    paths.append(path)
    node = _put(graph, f"{OURS}::{name}", [value, leaf, call], before, 1)
    node.output().setType(kind)
    return node.output()


_NAMES = {
    "TensorType": "Tensor",
    "IntType": "int",
    "FloatType": "float",
    "ComplexType": "complex",
    "BoolType": "bool",
    "StringType": "str",
    "DeviceObjType": "Device",
}


def _schema_name(kind: Any) -> str | None:
    """Return a type as a schema names it; None if it contains a class, an enum or a named tuple.

    Python gives a named tuple back as a plain one.
    """
    match kind.kind():
        case "OptionalType":
            inner = _schema_name(kind.getElementType())
            return inner and f"{inner}?"
        case "ListType":
            inner = _schema_name(kind.getElementType())
            return inner and f"{inner}[]"
        case "DictType":
            key, value = _schema_name(kind.getKeyType()), _schema_name(kind.getValueType())
            return key and value and f"Dict({key}, {value})"
        case "TupleType" if kind.annotation_str.startswith("Tuple["):
            parts = [name for name in map(_schema_name, kind.elements()) if name is not None]
            complete = len(parts) == len(kind.elements()) > 1  # no schema has a tuple of one
            return f"({', '.join(parts)})" if complete else None
    return _NAMES.get(kind.kind())


def _swap_of(kind: Any) -> str | None:
    """Return the operator that replaces a value of this type, or None; only tensors change."""
    name = _schema_name(kind)
    return swap_operator(name) if name is not None and "Tensor" in name else None


def _can_swap(kind: Any) -> bool:
    if kind.kind() == "TupleType":
        return any(_can_swap(inner) for inner in kind.elements())
    return _swap_of(kind) is not None

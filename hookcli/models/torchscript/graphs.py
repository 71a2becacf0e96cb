"""Add hookcli's operators to the graph of a method, where it begins and where it ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hookcli.models.scripted import OURS
from hookcli.models.torchscript.operators import SWAPS
from hookcli.torch_private import TupleType, jit_pass_lint

Path = tuple[int, ...]
"""The position of a replaceable leaf in the values of a site: indices into nested tuples."""


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaves that can be replaced at the start and at the end of a method, by their number."""

    inputs: tuple[Path, ...] = ()
    outputs: tuple[Path, ...] = ()


def instrument(graph: Any, number: int, site: int, *, swaps: bool) -> Leaves:
    """Make a method report its start and end to the owner `number`; call it before the first run.

    With `swaps`, values can be replaced: tensors, optional tensors, lists and dictionaries of
    tensors, also in tuples. A list is then copied, so that code which appends to a list argument
    appends to the copy.
    """
    first = next(iter(graph.nodes()), graph.return_node())
    owner, *values = graph.inputs()
    packed = _put(graph, "prim::TupleConstruct", values, first, 1)
    packed.output().setType(TupleType([value.type() for value in values]))
    _report(graph, "enter", packed.output(), owner, (number, site), first)
    given: list[Path] = []
    for index, value in enumerate(values if swaps else ()):
        new = _swapped(graph, value, (index,), given, first)
        if new is not value:
            value.replaceAllUsesAfterNodeWith(new.node(), new)
    end = graph.return_node()
    (value,) = end.inputs()
    _report(graph, "leave", value, owner, (number, site), end)
    returned: list[Path] = []
    if swaps:
        new = _swapped(graph, value, (), returned, end)
        if new is not value:
            end.replaceInput(0, new)
    jit_pass_lint(graph)
    return Leaves(tuple(given), tuple(returned))


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


def _constant(graph: Any, value: int, before: Any) -> Any:
    constant = graph.insertConstant(value)
    constant.node().moveBefore(before)
    return constant


def _report(
    graph: Any, name: str, value: Any, owner: Any, numbers: tuple[int, int], before: Any
) -> None:
    constants = [_constant(graph, number, before) for number in numbers]
    _put(graph, f"{OURS}::{name}", [value, owner, *constants], before, 0)


def _swapped(graph: Any, value: Any, path: Path, paths: list[Path], before: Any) -> Any:
    """Return the value to use instead: the same if none of its leaves can be replaced."""
    kind = value.type()
    if kind.kind() == "TupleType" and _can_swap(kind):
        parts = kind.elements()
        unpacked = _put(graph, "prim::TupleUnpack", [value], before, len(parts))
        new = []
        for index, (part, inner) in enumerate(zip(unpacked.outputs(), parts, strict=True)):
            part.setType(inner)
            new.append(_swapped(graph, part, (*path, index), paths, before))
        packed = _put(graph, "prim::TupleConstruct", new, before, 1)
        packed.output().setType(kind)
        return packed.output()
    name = _swap_of(kind)
    if name is None:
        return value
    leaf = _constant(graph, len(paths), before)
    paths.append(path)
    node = _put(graph, f"{OURS}::{name}", [value, leaf], before, 1)
    node.output().setType(kind)
    return node.output()


def _swap_of(kind: Any) -> str | None:
    """Return the operator that replaces a value of this type, or None."""
    name = kind.kind()
    if name == "TensorType":
        return SWAPS["Tensor"]
    if name in {"OptionalType", "ListType"} and kind.getElementType().kind() == "TensorType":
        return SWAPS["Tensor?" if name == "OptionalType" else "Tensor[]"]
    if (
        name == "DictType"
        and kind.getKeyType().kind() == "StringType"
        and kind.getValueType().kind() == "TensorType"
    ):
        return SWAPS["Dict(str, Tensor)"]
    return None


def _can_swap(kind: Any) -> bool:
    if kind.kind() == "TupleType":
        return any(_can_swap(inner) for inner in kind.elements())
    return _swap_of(kind) is not None

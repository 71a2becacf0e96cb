"""Add hookcli's operators to the graph of a method: where it begins and ends, and inside.

`instrument` adds those at the begin and end of a method, `instrument_inside` those around calls
with the file's own hooks and where a thread may change, and `report_operators` those around each
operator of a frozen model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from hookcli.models import places
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
    packed = _pack(graph, values, first)
    call = _report_start(graph, "enter", packed, owner, (number, site), first)
    given: list[Path] = []
    for index, value in enumerate(values if swaps else ()):
        new = _swapped(graph, value, (index,), given, first, call)
        if new is not value:
            value.replaceAllUsesAfterNodeWith(new.node(), new)
    end = graph.return_node()
    (value,) = end.inputs()
    _report_end(graph, "leave", value, owner, (number, site), call, end)
    returned: list[Path] = []
    if swaps:
        new = _swapped(graph, value, (), returned, end, call)
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


def _pack(graph: Any, values: list[Any], before: Any) -> Any:
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
    return _pack(graph, [_shown(graph, p, before) for p in _unpack(graph, value, before)], before)


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


def _report_start(
    graph: Any, name: str, values: Any, owner: Any, numbers: tuple[int, int], before: Any
) -> Any:
    """Report the start of a call; return the value that has its number."""
    constants = [_constant(graph, number, before) for number in numbers]
    values = _shown(graph, values, before)
    node = _put(graph, f"{OURS}::{name}", [values, owner, *constants], before, 1)
    node.output().setType(IntType.get())
    return node.output()


def _report_end(
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


def _call_here(graph: Any, number: int) -> Any:
    """Return the value that has the number of the call in which a method runs."""
    first = next(iter(graph.nodes()))
    node = _put(graph, f"{OURS}::here", [_constant(graph, number, first)], first, 1)
    node.output().setType(IntType.get())
    return node.output()


def _resume(graph: Any, number: int, call: Any, before: Any) -> None:
    """Report that what follows, maybe on another thread, belongs to this call."""
    _put(graph, f"{OURS}::resume", [_constant(graph, number, before), call], before, 0)


def _unpack(graph: Any, value: Any, before: Any) -> list[Any]:
    """Return the items of a tuple."""
    kinds = value.type().elements()
    outputs = list(_put(graph, "prim::TupleUnpack", [value], before, len(kinds)).outputs())
    for item, kind in zip(outputs, kinds, strict=True):
        item.setType(kind)
    return outputs


def _swapped(graph: Any, value: Any, path: Path, paths: list[Path], before: Any, call: Any) -> Any:
    """Return the value to use instead: the same if none of its leaves can be replaced."""
    kind = value.type()
    if kind.kind() == "TupleType" and _can_swap(kind):
        new = [
            _swapped(graph, part, (*path, index), paths, before, call)
            for index, part in enumerate(_unpack(graph, value, before))
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


# Inside methods.
#
# TorchScript runs scripted hooks in the method that calls a module, before and after its forward.
# The call then begins before the first of them and ends after the last. `torch.jit.fork` runs a
# part of a graph on another thread, and after `wait` a method may go on on another one.

_WAITS = frozenset({"aten::wait", "prim::awaitable_wait"})
_FORK = "prim::fork"
_HIDDEN = frozenset({_FORK, "prim::awaitable"})  # nodes with a graph of their own

FileHooks = dict[str, tuple[int, int]]
"""The number of scripted hooks before and after the forward of a type, by the type's name."""


def instrument_inside(
    graph: Any,
    call: Any | None,
    number: int,
    file_hooks: FileHooks,
    site: Callable[[Leaves], int],
    swaps: Callable[[str], bool],
) -> None:
    """Add the operators inside a method, of which `call` has the number if it reports its calls.

    `site` gives the number of a place where leaves can be replaced, and `swaps` tells for which
    types of modules they can be.
    """
    nodes = list(nodes_of(graph))
    switches = [node for node in nodes if node.kind() in _WAITS or node.kind() in _HIDDEN]
    if switches and call is None:
        call = _call_here(graph, number)
    for node in switches:
        if node.kind() in _WAITS:
            anchor = _anchor_after(graph, node)
            _resume(graph, number, call, anchor)
            anchor.destroy()
            continue
        inner = node.g("Subgraph")
        node.addInput(call)
        captured = inner.addInput()
        captured.setType(IntType.get())
        if node.kind() == _FORK and list(inner.nodes()):
            _resume(inner, number, captured, next(iter(inner.nodes())))
        instrument_inside(inner, captured, number, file_hooks, site, swaps)
    for node in nodes if file_hooks else ():
        if node.kind() == "prim::CallMethod" and node.s("name") == "forward":
            kind = node.inputsAt(0).type()
            name = str(kind.qualified_name()) if kind.kind() == "ClassType" else ""
            if name in file_hooks:
                _around_hooks(graph, node, file_hooks[name], number, site, swaps=swaps(name))


def _anchor_after(graph: Any, node: Any) -> Any:
    """Return a new node after this one; others are put before it, and then it is destroyed."""
    anchor = graph.create("prim::Constant", [], 1)
    anchor.insertAfter(node)
    return anchor


def _around_hooks(
    graph: Any,
    node: Any,
    counts: tuple[int, int],
    number: int,
    site: Callable[[Leaves], int],
    *,
    swaps: bool,
) -> None:
    """Report the start of a call before the file's hooks and its end after them.

    A call of `forward` itself runs no hooks, and none are found around it.
    """
    nodes = list(node.owningBlock().nodes())
    at = next(i for i, other in enumerate(nodes) if other is node)
    owner = node.inputsAt(0)
    module = owner.debugName()
    before = [n for n in reversed(nodes[:at]) if _is_hook(n, module)][: counts[0]]
    after = [n for n in nodes[at + 1 :] if _is_hook(n, module)][: counts[1]]
    sizes = [n.inputsSize() for n in before] + [n.inputsSize() for n in after]
    if sizes != [3] * counts[0] + [4] * counts[1]:
        return
    last = (after or [node])[-1]
    call = _begin(graph, node, (before, after), number, site, swaps=swaps)
    entered = site(Leaves())
    inputs: list[Path] = []
    arguments = list(node.inputs())[1:]
    packed = _pack(graph, arguments, node)
    _report_start(graph, "enter_call", packed, owner, (number, entered + 1), node)
    given = [
        _swapped(graph, value, (index,), inputs, node, call) if swaps else value
        for index, value in enumerate(arguments)
    ]
    site(Leaves(tuple(inputs)))
    if inputs:
        for index, value in enumerate(given, 1):
            node.replaceInput(index, value)
        new_tuple = _pack(graph, given, node)
        for hook in after:  # they get the arguments that forward got
            hook.replaceInput(2, new_tuple)
    replaced = (n.output() for n in reversed(after) if n.output().type().kind() != "NoneType")
    result = next(replaced, node.output())
    anchor = _anchor_after(graph, last)
    ended = site(Leaves())
    _report_end(graph, "end", result, owner, (number, ended + 1), call, anchor)
    outputs: list[Path] = []
    new = _swapped(graph, result, (), outputs, anchor, call) if swaps else result
    site(Leaves((), tuple(outputs)))
    if new is not result:
        result.replaceAllUsesAfterNodeWith(new.node(), new)
    anchor.destroy()


def _begin(
    graph: Any,
    node: Any,
    hooks: tuple[list[Any], list[Any]],
    number: int,
    site: Callable[[Leaves], int],
    *,
    swaps: bool,
) -> Any:
    """Report the start of a call, and return its number; its arguments can be replaced."""
    before, after = hooks
    first, owner = (before or [node])[-1], node.inputsAt(0)
    values = first.inputsAt(2) if before else _pack(graph, list(node.inputs())[1:], node)
    begun = site(Leaves())
    call = _report_start(graph, "begin", values, owner, (number, begun + 1), first)
    inputs: list[Path] = []
    new = _swapped(graph, values, (), inputs, first, call) if swaps and before else values
    site(Leaves(tuple(inputs)))
    if new is values:
        return call
    for hook in (*before, *after):
        if hook.inputsAt(2).debugName() == values.debugName():
            hook.replaceInput(2, new)
    if all(hook.output().type().kind() == "NoneType" for hook in before):
        for index, value in enumerate(_unpack(graph, new, node), 1):
            node.replaceInput(index, value)
    return call


def _is_hook(node: Any, module: str) -> bool:
    """Whether a node runs a scripted hook of this module: no other function can get a module."""
    return (
        node.kind() == "prim::CallFunction"
        and node.inputsSize() in {3, 4}
        and node.inputsAt(1).debugName() == module
    )


_FILE = re.compile(r'File "(.{1,4096}?)", line (\d+)')


def _line_of(node: Any) -> tuple[str, int] | None:
    """Return the file and line that a node was made from."""
    match = _FILE.search(node.sourceRange())
    return None if match is None else (match[1], int(match[2]))


def place_of(node: Any) -> str | None:
    """Return the user's line of a node; None if it is torch's own or not known."""
    location = _line_of(node)
    if (
        location is None
        or not places.is_user(location[0])
        or location[0].startswith("code/__torch__")
    ):
        return None
    return f"{places.show(location[0])}:{location[1]}"


# Frozen models: one graph without modules, whose operators are reported instead.

_REPORTED = ("TensorType", "ListType", "TupleType")


def is_flat(root: Any) -> bool:
    """Whether a scripted module was frozen: its parameters are constants of its graph.

    A traced module may have constants too. It has a mode, which freezing removes.
    """
    if hasattr(root, "training"):
        return False
    is_empty = next(iter(root.parameters()), None) is None and not list(root._modules.items())
    if not is_empty or not root._c._has_method("forward"):
        return False
    nodes = list(nodes_of(root._c._get_method("forward").graph))
    constants = any(n.kind() == "prim::Constant" and n.hasAttribute("value")
                    and n.kindOf("value") == "t" for n in nodes)  # fmt: skip
    return constants and any(n.kind().startswith("aten::") for n in nodes)


def _pseudo(kind: str, place: str | None) -> nn.Module:
    """Return a module that represents an operator of a graph; its class has the operator's name."""
    module: nn.Module = type(kind, (nn.Module,), {})()
    vars(module)["place"] = place
    return module


def report_operators(graph: Any, number: int, first: int) -> list[nn.Module]:
    """Make each operator of a graph report its start and end; sites count from `first`.

    Returns a module for each operator, in the order of their sites.
    """
    owner = next(graph.inputs())
    modules: list[nn.Module] = []
    for node in list(nodes_of(graph)):
        if not node.kind().startswith("aten::") or node.outputsSize() != 1:
            continue
        if node.output().type().kind() not in _REPORTED:
            continue
        site = first + len(modules)
        _around(graph, node, owner, (number, site))
        modules.append(_pseudo(node.kind(), place_of(node)))
    return modules


def _around(graph: Any, node: Any, owner: Any, numbers: tuple[int, int]) -> None:
    """Put an operator before and one after this one."""
    values = [value for value in node.inputs() if value.type().kind() in _REPORTED]
    packed = graph.create("prim::TupleConstruct", values, 1)
    packed.insertBefore(node)
    packed.output().setType(TupleType([value.type() for value in values]))
    constants = []
    for number in numbers:
        constant = graph.insertConstant(number)
        constant.node().moveBefore(node)
        constants.append(constant)
    enter = graph.create(f"{OURS}::enter", [packed.output(), owner, *constants], 1)
    enter.insertBefore(node)
    enter.output().setType(IntType.get())
    values = [node.output(), owner, *constants, enter.output()]
    graph.create(f"{OURS}::leave", values, 0).insertAfter(node)

"""Operators inside methods: around calls with the file's own hooks, and where a thread may change.

TorchScript runs scripted hooks in the method that calls a module, before and after its forward. The
call then begins before the first of them and ends after the last. `torch.jit.fork` runs a part of a
graph on another thread, and after `wait` a method may go on on another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hookcli.models.torchscript.graphs import (
    Leaves,
    Path,
    call_here,
    pack,
    report_end,
    report_start,
    resume,
    swapped,
    unpack,
)
from hookcli.torch_private import IntType

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
    nodes = list(_nodes(graph))
    switches = [node for node in nodes if node.kind() in _WAITS or node.kind() in _HIDDEN]
    if switches and call is None:
        call = call_here(graph, number)
    for node in switches:
        if node.kind() in _WAITS:
            anchor = _anchor_after(graph, node)
            resume(graph, number, call, anchor)
            anchor.destroy()
            continue
        inner = node.g("Subgraph")
        node.addInput(call)
        captured = inner.addInput()
        captured.setType(IntType.get())
        if node.kind() == _FORK and list(inner.nodes()):
            resume(inner, number, captured, next(iter(inner.nodes())))
        instrument_inside(inner, captured, number, file_hooks, site, swaps)
    for node in nodes if file_hooks else ():
        if node.kind() == "prim::CallMethod" and node.s("name") == "forward":
            kind = node.inputsAt(0).type()
            name = str(kind.qualified_name()) if kind.kind() == "ClassType" else ""
            if name in file_hooks:
                _around_hooks(graph, node, file_hooks[name], number, site, swaps=swaps(name))


def _nodes(block: Any) -> Iterator[Any]:
    for node in list(block.nodes()):
        yield node
        for inner in node.blocks():
            yield from _nodes(inner)


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
    packed = pack(graph, arguments, node)
    report_start(graph, "enter_call", packed, owner, (number, entered + 1), node)
    given = [
        swapped(graph, value, (index,), inputs, node, call) if swaps else value
        for index, value in enumerate(arguments)
    ]
    site(Leaves(tuple(inputs)))
    if inputs:
        for index, value in enumerate(given, 1):
            node.replaceInput(index, value)
        new_tuple = pack(graph, given, node)
        for hook in after:  # they get the arguments that forward got
            hook.replaceInput(2, new_tuple)
    replaced = (n.output() for n in reversed(after) if n.output().type().kind() != "NoneType")
    result = next(replaced, node.output())
    anchor = _anchor_after(graph, last)
    ended = site(Leaves())
    report_end(graph, "end", result, owner, (number, ended + 1), call, anchor)
    outputs: list[Path] = []
    new = swapped(graph, result, (), outputs, anchor, call) if swaps else result
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
    values = first.inputsAt(2) if before else pack(graph, list(node.inputs())[1:], node)
    begun = site(Leaves())
    call = report_start(graph, "begin", values, owner, (number, begun + 1), first)
    inputs: list[Path] = []
    new = swapped(graph, values, (), inputs, first, call) if swaps and before else values
    site(Leaves(tuple(inputs)))
    if new is values:
        return call
    for hook in (*before, *after):
        if hook.inputsAt(2).debugName() == values.debugName():
            hook.replaceInput(2, new)
    if all(hook.output().type().kind() == "NoneType" for hook in before):
        for index, value in enumerate(unpack(graph, new, node), 1):
            node.replaceInput(index, value)
    return call


def _is_hook(node: Any, module: str) -> bool:
    """Whether a node runs a scripted hook of this module: no other function can get a module."""
    return (
        node.kind() == "prim::CallFunction"
        and node.inputsSize() in {3, 4}
        and node.inputsAt(1).debugName() == module
    )

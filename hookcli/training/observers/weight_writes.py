"""Whether the code of a script may still write weights while it trains."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator

from hookcli.engine.probes.code.user_source import own_sources, parsed

_WRITES = re.compile(
    r"load_state_dict|\.(copy_|lerp_|mul_|add_|data\.)|\.data\s*[-+*]?=|update_parameters"
)
_OTHER_WRITES = re.compile(_WRITES.pattern.removeprefix("load_state_dict|"))
_LOOPS = (
    ast.For, ast.While, ast.AsyncFor, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp,
)  # fmt: skip
_IMPLICIT = {"forward", "<lambda>"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def may_write_weights() -> bool:
    """Return whether a line that writes weights can run more than once, as far as is known.

    A line of a module, outside of loops, runs once. So does a function all of whose calls are such
    lines, and a function that is never called does not run at all.
    """
    sources = own_sources()
    if sources and not any(_WRITES.search(text) for _, text in sources):
        return False
    trees = [(file, tree) for file, text in sources if (tree := parsed(text)) is not None]
    if len(trees) < len(sources):
        return True
    once = {name for _, tree in trees for name in _called_once(tree)}
    again = {name for _, tree in trees for name in _used_again(tree)}
    for file, tree in trees:
        for function, in_loop in _places_of_writes(file, tree):
            if function in again or (in_loop and (not function or function in once)):
                return True
    return not trees


def only_loads() -> bool:
    """Return whether no line writes weights in another way than by `load_state_dict`."""
    sources = own_sources()
    return bool(sources) and not any(_OTHER_WRITES.search(text) for _, text in sources)


def _places_of_writes(file: str, tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Yield the outermost function of each line that writes weights, and whether in a loop of it.

    The function is "" in none. A function inside of another one counts as a loop.
    """
    lines = {
        number for number, line in enumerate(linecache.getlines(file), 1) if _WRITES.search(line)
    }
    for node, function, in_loop in _statements(tree):
        if lines & set(range(node.lineno, (node.end_lineno or node.lineno) + 1)):
            yield function, in_loop


def _statements(tree: ast.Module) -> Iterator[tuple[ast.stmt | ast.expr, str, bool]]:
    """Yield the expressions and simple statements, with their function and whether in a loop."""
    todo: list[tuple[ast.AST, str, bool]] = [(tree, "", False)]
    for node, function, in_loop in todo:  # grows meanwhile
        for child in ast.iter_child_nodes(node):
            inside, looped = function, in_loop or isinstance(child, _LOOPS)
            if isinstance(child, _FUNCTIONS):
                inside, looped = function or getattr(child, "name", "<lambda>"), bool(function)
            todo.append((child, inside, looped))
            if isinstance(child, ast.Call | ast.Assign | ast.AugAssign):
                yield child, inside, looped


def _called_once(tree: ast.Module) -> set[str]:
    """Return the functions that a module calls outside of loops and functions."""
    return {
        _name(node.func)
        for node, function, in_loop in _statements(tree)
        if isinstance(node, ast.Call) and not function and not in_loop
    }


def _used_again(tree: ast.Module) -> set[str]:
    """Return the names that loops and functions of a module use, or that are no names of calls."""
    found, once = set[str](), set[int]()
    for call, function, in_loop in _statements(tree):
        if isinstance(call, ast.Call) and not function and not in_loop:
            once.add(id(call.func))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in once:
            found.add(_name(node))
        elif isinstance(node, _FUNCTIONS):  # called by something else than its name
            name = getattr(node, "name", "<lambda>")
            if name in _IMPLICIT or name.startswith("__") or getattr(node, "decorator_list", ()):
                found.add(name)
    return found


def _name(node: ast.AST) -> str:
    return getattr(node, "id", None) or getattr(node, "attr", None) or ""

"""The line of a script that cuts the output of a model off the loss, such as `net(x).detach()`."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

from hookcli.models import places
from hookcli.system.frame_variables import variables_of
from hookcli.training.source.frame_source import body_of, own_nodes, tree_of, value_in

# What has no graph: methods and attributes of a tensor, and functions that copy its values.
_OF_TENSOR = {"detach", "detach_", "data", "item", "tolist", "numpy"}
_EVALUATION = re.compile(r"eval|valid|test|predict|infer|sample|log", re.IGNORECASE)
_FUNCTIONS = {"tensor", "from_numpy", "array", "asarray"}


def detached_output(frame: FrameType, model: Any) -> str | None:
    """Return the first line that detaches an output of a model, as "train.py:12: net(x).detach()".

    It is one only if no use of any output has a graph, in the function of this frame and in those
    of its file that it calls, without evaluations. Outputs are followed to a variable, not further.
    """
    filename = frame.f_code.co_filename
    tree = tree_of(filename, len(linecache.getlines(filename)))
    own, found = body_of(frame), list[ast.expr]()
    variables = variables_of(frame)
    for body in () if tree is None or own is None else _bodies(tree, own):
        tables = (*((variables,) if body is own else ()), frame.f_globals)
        for uses in _outputs(body, model, tables):
            cuts = [cut for cut in uses if cut is not None]
            if len(cuts) < len(uses) or not cuts:
                return None
            found += cuts
    if not found:
        return None
    first = min(found, key=lambda node: node.lineno)
    return f"{places.show(filename)}:{first.lineno}: {ast.unparse(first)}"


def _bodies(tree: ast.Module, own: ast.AST) -> Iterator[ast.AST]:
    """Yield a function, and those of the file that it calls by their names."""
    yield own
    calls = (node.func for node in own_nodes(own) if isinstance(node, ast.Call))
    called = {ast.unparse(function).rpartition(".")[2] for function in calls}
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node is own:
            continue
        if node.name in called and not _EVALUATION.search(node.name):
            yield node


def _outputs(
    body: ast.AST, model: Any, tables: Sequence[Mapping[str, Any]]
) -> Iterator[list[ast.expr | None]]:
    """Yield, for each call of the model, what detaches each use of its output; None: nothing."""
    nodes = list(own_nodes(body))
    above = {child: node for node in (body, *nodes) for child in ast.iter_child_nodes(node)}
    for node in nodes:
        if not isinstance(node, ast.Call) or value_in(node.func, tables) is not model:
            continue
        cut = _cut(node, above)
        holder = above.get(node)
        name = _assigned(holder, node)
        if cut is not None or name is None:
            yield [cut]
            continue
        reads = [
            read
            for read in nodes
            if isinstance(read, ast.Name) and read.id == name and isinstance(read.ctx, ast.Load)
        ]
        yield [_cut(read, above) for read in reads] or [None]


def _assigned(statement: ast.AST | None, value: ast.expr) -> str | None:
    """Return the name that a statement gives to a value."""
    if isinstance(statement, ast.Assign) and statement.value is value:
        target = statement.targets[0]
        if len(statement.targets) == 1 and isinstance(target, ast.Name):
            return target.id
    return None


def _cut(node: ast.AST, above: Mapping[ast.AST, ast.AST]) -> ast.expr | None:
    """Return the expression that takes the values of a tensor without its graph; None: none."""
    outer = above.get(node)
    if isinstance(outer, ast.Attribute) and outer.value is node and outer.attr in _OF_TENSOR:
        call = above.get(outer)
        return call if isinstance(call, ast.Call) and call.func is outer else outer
    if isinstance(outer, ast.Call) and node in outer.args:
        name = outer.func.attr if isinstance(outer.func, ast.Attribute) else ""
        return outer if name in _FUNCTIONS else None
    return None

"""Whether the graph of a `.pt2` can act as torch reads and runs it.

torch evaluates its symbolic expressions as Python, imports what its trees name, looks operators up
by attribute from the module torch on, and writes names of inputs into code.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

_OPERATOR = re.compile(
    r"torch\.ops\.\w+\.\w[\w.]*|torch\._?sym_\w+|math\.\w+|#\w+:[\w.:]+"
    r"|_operator\.(?!call\b|attrgetter\b|itemgetter\b|methodcaller\b)\w+"
)
_BITWISE = re.compile(r"__i?(?:and|or|xor|lshift|rshift)__")
_NAME = re.compile(r"\w[\w.]*|")
_CALLED = re.compile(r"[A-Z]\w*|floor|ceiling|sqrt|log|exp|abs")
_NODES = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Constant, ast.Name,
    ast.Call, ast.keyword, ast.Load, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip


def why_graph_acts(program: Any) -> Iterator[str]:
    """Reasons why a serialized program can run code."""
    todo: list[Any] = [program]
    while todo:
        one = todo.pop()
        if isinstance(one, list):
            todo.extend(one)
        elif isinstance(one, dict):
            for key, value in one.items():
                if isinstance(value, str):
                    yield from _of_text(key, value)
                else:
                    todo.append(value)


def _of_text(key: str, text: str) -> Iterator[str]:
    if key == "expr_str":
        if not _is_expression(text):
            yield f"a symbolic expression is more than that: {text[:60]}"
    elif key in {"target", "as_operator"}:
        if not _OPERATOR.fullmatch(text) or "__" in _BITWISE.sub("", text):
            yield f"it calls {text[:60]}, which is no operator"
    elif key in {"in_spec", "out_spec"}:
        yield from _of_tree(text)
    elif key in {"name", "graph_name"} and not _NAME.fullmatch(text):
        yield f"a name in its graph is none: {text[:60]}"


def _is_expression(text: str) -> bool:
    """Whether it is arithmetic on symbols, with calls of sympy's functions."""
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    symbols = {
        id(node.args[0])
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Symbol"
        and node.args
    }
    for node in nodes:
        if not isinstance(node, _NODES):
            return False
        if isinstance(node, ast.Call) and not (
            isinstance(node.func, ast.Name) and _CALLED.fullmatch(node.func.id)
        ):
            return False
        if isinstance(node, ast.Constant) and not (
            isinstance(node.value, int | float)
            or (id(node) in symbols and str(node.value).isidentifier())
        ):
            return False
    return True


def _of_tree(text: str) -> Iterator[str]:
    """Reasons in a tree of arguments: an import, or a keyword that is no name."""
    if not text:
        return
    try:
        _, tree = json.loads(text)
    except (ValueError, TypeError):
        yield "a tree of its arguments cannot be read"
        return
    todo = [tree]
    while todo:
        node = todo.pop()
        if not isinstance(node, dict):
            yield "a tree of its arguments cannot be read"
            return
        context = node.get("context")
        yield from _of_context(node.get("type"), context)
        todo.extend(node.get("children_spec") or ())
    keywords = (tree.get("children_spec") or [])[1:2]
    for node in keywords:
        if node.get("type") == "builtins.dict":
            keys = _context(node.get("context"))
            if not all(isinstance(key, str) and key.isidentifier() for key in keys or ()):
                yield "a keyword of its arguments is no name"


def _of_context(kind: Any, context: Any) -> Iterator[str]:
    found = _context(context)
    if "__enum__" in json.dumps(found):
        yield "a tree of its arguments imports a module"
    factory = found.get("default_factory_module") if isinstance(found, dict) else None
    if kind == "collections.defaultdict" and factory != "builtins":
        yield "a tree of its arguments imports a module"


def _context(context: Any) -> Any:
    """The context of a tree's node, which may be JSON in JSON."""
    if not isinstance(context, str):
        return context
    try:
        return json.loads(context)
    except ValueError:
        return context

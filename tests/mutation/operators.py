"""The changes: what can be wrong in an expression or a statement, one at a time.

Text is not changed, as a message that differs says nothing about the logic. So strings, f-strings,
the arguments of `raise`, annotations, decorators and docstrings stay as they are.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_EXACT = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
_BODIES = ("body", "orelse", "finalbody")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(eq=False)
class Mutant:
    """One change at one place of a tree."""

    function: str  # the qualified name; "" at the level of the module
    line: int
    statement: int | None  # the number of the statement in a function; None if it runs on import
    before: str
    after: str
    _parent: ast.AST
    _field: str
    _index: int | None
    _new: ast.AST
    key: str = ""
    names: frozenset[str] = frozenset()  # what its statement defines at the level of the module

    @property
    def on_import(self) -> bool:
        """Whether it changes what importing the module does."""
        return self.statement is None

    def swap(self) -> None:
        """Put the changed node into the tree, or the original back."""
        values = getattr(self._parent, self._field)
        old = values if self._index is None else values[self._index]
        if self._index is None:
            setattr(self._parent, self._field, self._new)
        else:
            values[self._index] = self._new
        self._new = old


def number_statements(tree: ast.Module, first: int = 0) -> int:
    """Number the statements of all functions, and lambdas outside of them; return the next."""

    def walk(node: ast.AST, inside: bool) -> None:
        nonlocal first
        if inside and isinstance(node, ast.stmt):
            node.number, first = first, first + 1
        is_lambda = isinstance(node, ast.Lambda) and not inside
        if is_lambda:
            node.number, first = first, first + 1
        for child in ast.iter_child_nodes(node):
            body = isinstance(node, _FUNCTIONS) and child in node.body
            walk(child, inside or is_lambda or body)

    walk(tree, False)
    return first


def mutants(tree: ast.Module, path: str) -> list[Mutant]:
    """Return all mutants of a tree whose statements are numbered."""
    found = sorted(_statements(tree.body, tree, "body", "", None), key=lambda one: one.line)
    seen: Counter[str] = Counter()
    for one in found:
        key = f"{path} {one.function or '(module)'}: {one.before} -> {one.after}"
        seen[key] += 1
        one.key = key if seen[key] == 1 else f"{key} #{seen[key]}"
        if one.statement is None:
            [statement] = [node for node in tree.body if one.line in _lines(node)]
            one.names = frozenset(_targets(statement))
    return found


def uses(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield each name that a numbered statement uses, with the number."""

    def walk(node: ast.AST, number: int | None) -> Iterator[tuple[str, int]]:
        number = getattr(node, "number", number)
        if isinstance(node, ast.Name) and number is not None:
            yield node.id, number
        for child in ast.iter_child_nodes(node):
            yield from walk(child, number)

    return walk(tree, None)


def _lines(node: ast.stmt) -> range:
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
    return range(first, (node.end_lineno or node.lineno) + 1)


def _targets(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module defines."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        yield node.name
    for target in [*getattr(node, "targets", ()), getattr(node, "target", None)]:
        for one in ast.walk(target) if target else ():
            if isinstance(one, ast.Name):
                yield one.id


def _statements(body, parent, field, function, statement) -> Iterator[Mutant]:
    for index, node in enumerate(body):
        number = getattr(node, "number", statement)

        def changed(new, after, node=node, index=index, number=number):
            before = ast.unparse(node).splitlines()[0]
            return Mutant(
                function, node.lineno, number, before, after, parent, field, index,
                ast.copy_location(new, node),
            )  # fmt: skip

        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            inner = f"{function}.{node.name}" if function else node.name
            if isinstance(node, _FUNCTIONS):
                for name in ("defaults", "kw_defaults"):
                    yield from _list(node.args, name, inner, number)
            yield from _statements(node.body, node, "body", inner, number)
            continue
        if _is_text(node) or isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if number is not None and _can_go(node):
            yield changed(ast.Pass(), "removed")
        if isinstance(node, ast.Break):
            yield changed(ast.Continue(), "continue")
        if isinstance(node, ast.Continue):
            yield changed(ast.Break(), "break")
        if isinstance(node, ast.Return) and not isinstance(node.value, ast.Constant | None):
            yield changed(ast.Return(ast.Constant(None)), "return None")
        if isinstance(node, ast.AugAssign) and type(node.op) in _SWAPS:
            new = ast.AugAssign(node.target, _SWAPS[type(node.op)](), node.value)
            yield changed(new, ast.unparse(new))
        if isinstance(node, ast.Raise | ast.Assert) or _is_alias(node):
            continue
        for name, value in ast.iter_fields(node):
            if name in _BODIES:
                yield from _statements(value, node, name, function, number)
            elif name == "handlers":
                for handler in value:
                    yield from _statements(handler.body, handler, "body", function, number)
            elif name == "cases":
                for case in value:
                    yield from _statements(case.body, case, "body", function, number)
            elif name not in ("annotation", "targets", "target"):
                yield from _field(node, name, function, number)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_alias(node: ast.AST) -> bool:
    return isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"


def _can_go(node: ast.AST) -> bool:
    """Return whether a statement can be removed so that the rest still has its names."""
    if isinstance(node, ast.Assign):
        return all(isinstance(one, ast.Attribute | ast.Subscript) for one in node.targets)
    if isinstance(node, ast.Return):
        return node.value is None
    return isinstance(node, ast.Expr | ast.Raise | ast.AugAssign | ast.Delete)


def _field(node: ast.AST, name: str, function: str, number: int | None) -> Iterator[Mutant]:
    value = getattr(node, name)
    if isinstance(value, list):
        yield from _list(node, name, function, number)
    elif isinstance(value, ast.AST):
        yield from _expression(value, node, name, None, function, number)


def _list(node: ast.AST, name: str, function: str, number: int | None) -> Iterator[Mutant]:
    for index, value in enumerate(getattr(node, name)):
        if isinstance(value, ast.AST):
            yield from _expression(value, node, name, index, function, number)


def _expression(node, parent, field, index, function, number) -> Iterator[Mutant]:
    if isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: it only guards
        return
    number = getattr(node, "number", number)
    for new in _changes(node, parent, field):
        place = parent if isinstance(node, ast.Constant | ast.Slice) else node
        line = getattr(node, "lineno", getattr(parent, "lineno", 0))
        ast.copy_location(new, node)
        one = Mutant(function, line, number, "", "", parent, field, index, new)
        one.before = _text(place)
        one.swap()
        one.after = _text(place if place is parent else new)
        one.swap()
        yield one
    for name, _ in ast.iter_fields(node):
        if name not in ("ctx", "annotation"):
            yield from _field(node, name, function, number)


def _text(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(node))
    return text.splitlines()[0] if isinstance(node, ast.stmt) else " ".join(text.split())


def _changes(node: Any, parent: ast.AST, field: str) -> Iterator[ast.AST]:
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool):
            yield ast.Constant(not value)
        elif isinstance(value, int):
            yield ast.Constant(value + 1)
            if value > 1:
                yield ast.Constant(value - 1)
        elif isinstance(value, float):
            yield ast.Constant(value * 2 if value else 1.0)
    elif isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            ops = [*node.ops]
            ops[index] = _SWAPS[type(op)]()
            yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(_SWAPS[type(node.op)](), node.values)
    elif isinstance(node, ast.BinOp) and type(node.op) in _SWAPS:
        yield ast.BinOp(node.left, _SWAPS[type(node.op)](), node.right)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.Name) and node.id in _NAMES:
        yield ast.Name(_NAMES[node.id], ast.Load())
    elif isinstance(node, ast.Slice) and (node.lower or node.upper):
        yield ast.Slice(None, None, node.step)
    test = field == "test" or (isinstance(parent, ast.comprehension) and field == "ifs")
    exact = isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], _EXACT)
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    if test and not exact and not negated:
        yield ast.UnaryOp(ast.Not(), node)

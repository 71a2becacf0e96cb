"""The code that is searched for mistakes, and what a search finds."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple, TypeVar

_Node = TypeVar("_Node", bound=ast.AST)

Block = list[ast.stmt]


class Mistake(NamedTuple):
    """One mistake: the code that has it, its line, and what it should be compared with."""

    what: str
    line: int
    other: str = ""


class SearchedCode:
    """A file or a definition, whose nodes are listed once for all searches."""

    def __init__(self, tree: ast.AST) -> None:
        self.tree = tree
        self._of: dict[type, list[ast.AST]] = {}
        for node in ast.walk(tree):
            self._of.setdefault(type(node), []).append(node)

    def all(self, kind: type[_Node]) -> list[_Node]:
        """Return the nodes of a type."""
        return self._of.get(kind, [])  # type: ignore[return-value]  # they are of that type

    @cached_property
    def conditions(self) -> list[ast.If | ast.While | ast.IfExp]:
        """The nodes that have a condition."""
        return [*self.all(ast.If), *self.all(ast.While), *self.all(ast.IfExp)]

    @cached_property
    def blocks(self) -> list[Block]:
        """The lists of statements that run one after another."""
        return [
            block
            for nodes in self._of.values()
            for node in nodes
            for field in ("body", "orelse", "finalbody")
            if isinstance(block := getattr(node, field, None), list) and block
        ]

    @cached_property
    def functions(self) -> list[ast.FunctionDef]:
        """The functions and methods, without those that are asynchronous."""
        return self.all(ast.FunctionDef)

    @cached_property
    def forwards(self) -> list[ast.FunctionDef]:
        """The methods that PyTorch calls for a module."""
        by_name: dict[str, list[ast.FunctionDef]] = {}
        for function in self.functions:
            by_name.setdefault(function.name, []).append(function)
        return by_name.get("forward", [])

    @cached_property
    def _names(self) -> str:
        """All names, attributes, arguments and definitions, each once, in a line of its own."""
        found = {node.id for node in self.all(ast.Name)}
        found |= {node.attr for node in self.all(ast.Attribute)}
        found |= {node.arg for node in self.all(ast.arg)}
        found |= {node.arg or "" for node in self.all(ast.keyword)}
        found |= {node.name for node in self.functions}
        found |= {node.name for node in self.all(ast.ClassDef)}
        return "\n".join(found)

    def names(self, pattern: str) -> bool:
        """Return whether a name has a pattern: most searches are about code that names a thing.

        `^` and `$` are the ends of a name.
        """
        return re.search(pattern, self._names, re.IGNORECASE | re.MULTILINE) is not None

    @cached_property
    def parents(self) -> dict[int, ast.AST]:
        """The parent of each node, by the id of the node."""
        return {
            id(child): node
            for nodes in self._of.values()
            for node in nodes
            for child in ast.iter_child_nodes(node)
        }


Search = Callable[[SearchedCode], Iterator[Mistake]]


def text_of(node: ast.AST) -> str:
    """Return the source of a node in one line."""
    return " ".join(ast.unparse(node).split())


def short(node: ast.AST, most: int = 60) -> str:
    """Return the source of a node in one line, cut to a number of characters."""
    text = text_of(node)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def line_of(node: ast.AST) -> int:
    """Return the line of a statement or an expression."""
    return int(getattr(node, "lineno", 0))


def called(node: ast.AST) -> str:
    """Return the last name of the function that a call calls; "" for another node."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


_MODULES = {"torch", "np", "F", "nn", "functional"}


def given_to(call: ast.Call, keyword: str) -> tuple[ast.expr, ast.expr] | None:
    """Return what a function or method of tensors gets, and its next argument, also by keyword.

    `torch.sum(x, 1)`, `x.sum(1)` and `x.sum(dim=1)` are the same.
    """
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    of_module = owner is None or text_of(owner).rpartition(".")[2] in _MODULES
    given = [*(() if of_module or owner is None else (owner,)), *call.args]
    rest = given[1:2] + [one.value for one in call.keywords if one.arg == keyword]
    return (given[0], rest[0]) if given and rest else None


def words(name: str) -> set[str]:
    """Return the words of a name, in lower case: those of "self.xTrain_labels" are four."""
    return {one.lower() for one in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def names_in(node: ast.AST) -> set[str]:
    """Return the names and attributes that a node reads or assigns."""
    return {
        one.id if isinstance(one, ast.Name) else one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Name | ast.Attribute)
    }


def plain_names(node: ast.AST) -> set[str]:
    """Return the names in a node, without attributes."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def returns_value(function: ast.FunctionDef) -> bool:
    """Return whether a function returns something."""
    return any(isinstance(one, ast.Return) and one.value is not None for one in ast.walk(function))


def target_of(statement: ast.AST) -> ast.expr | None:
    """Return the only target of an assignment; else None."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return statement.targets[0]
    return None


def is_self(node: ast.AST, attribute: str | None = None) -> bool:
    """Return whether a node is an attribute of self, of that name if one is given."""
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        and attribute in (None, node.attr)
    )

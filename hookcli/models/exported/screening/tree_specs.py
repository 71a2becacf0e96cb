"""Check whether a tree spec in a `.pt2` can run code: torch imports what it names.

Its keywords become parameters in generated code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_UNREADABLE = "a tree spec of its arguments cannot be read"
_IMPORTS = "a tree spec of its arguments imports a module"
_FACTORIES = {"list", "dict", "set", "frozenset", "tuple", "int", "float", "bool", "str"}


def why_tree_acts(text: str, *, of_arguments: bool) -> Iterator[str]:
    """Yield reasons why a tree spec can run code. `of_arguments`: not of results."""
    if not text:
        return
    try:
        _, tree = json.loads(text)
        reasons = list(_of_tree(tree))
        if of_arguments:
            reasons += _of_keywords(tree)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        reasons = [_UNREADABLE]
    yield from reasons


def _of_tree(tree: Any) -> Iterator[str]:
    todo = [tree]
    while todo:
        node = todo.pop()
        kind = node["type"]
        if kind is not None and not (isinstance(kind, str) and _is_plain(kind)):
            yield "a tree spec of its arguments has an invalid type name"
        yield from _of_context(kind, node["context"])
        todo.extend(node["children_spec"])


def _is_plain(name: str) -> bool:
    return name.isprintable() and not any(c in "\"'\\" for c in name)


def _of_context(kind: Any, context: Any) -> Iterator[str]:
    parsed = _parsed(context)
    if "__enum__" in json.dumps([context, parsed]):
        yield _IMPORTS
    if isinstance(parsed, dict) and any("default_factory" in str(key) for key in parsed):
        known = (parsed.get("default_factory_module"), parsed.get("default_factory_name"))
        if known[0] != "builtins" or known[1] not in _FACTORIES:
            yield _IMPORTS
    elif kind == "collections.defaultdict":
        yield _IMPORTS


def _of_keywords(tree: Any) -> Iterator[str]:
    """Check the keywords. torch uses the second child as keywords, whatever it is."""
    for node in tree["children_spec"][1:2]:
        keys = _parsed(node["context"])
        if node["type"] is None and not node["children_spec"]:
            continue  # a leaf
        if node["type"] != "builtins.dict" or not isinstance(keys, list):
            if node["type"] not in {"builtins.tuple", "builtins.list"}:
                yield "its keyword arguments are not a dictionary"
        elif not all(isinstance(key, str) and key.isidentifier() for key in keys):
            yield "the name of a keyword argument is not an identifier"


def _parsed(context: Any) -> Any:
    """Parse the context of a node, which may be JSON inside JSON."""
    if not isinstance(context, str):
        return context
    try:
        return json.loads(context)
    except ValueError:
        return context

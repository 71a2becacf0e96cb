"""Check whether the program in a `.pt2` can run code, and reduce it to what torch reads.

torch evaluates its symbolic expressions as Python, imports what its tree specs name, looks
operators up as attributes of the module torch, and writes names into code that it compiles. So
each string must have the form that its field needs, or be an identifier in any other field.
"""

from __future__ import annotations

import enum
import json
import re
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import torch

from hookcli.models.exported.screening.expressions import is_expression
from hookcli.torch_private import HigherOrderOperator, OpOverload, export_schema as schema

_DOTTED_OPERATOR = re.compile(
    r"torch\.ops(?:\.\w+){2,3}|torch\._?sym_\w+|math\.\w+"
    r"|_operator\.(?!call$|attrgetter$|itemgetter$|methodcaller$)\w+"
)
_OF_EXTENSION = re.compile(r"#\w+:[\w.:]+")
_DUNDER = re.compile(r"__.*__", re.DOTALL)
_BITWISE = re.compile(r"__i?(?:and|or|xor|lshift|rshift)__")
_PATH = re.compile(r"[\w .:@+/<>|&-]*")  # dotted; keys of a ModuleDict are any string
_STACK = re.compile(r"[\w .:@+/<>|&()\[\],'-]*")  # also slices of a ModuleList: layers.slice(0, 2)
_VERSION = re.compile(r"[\w.+<>=-]*")
_FLOATS = {"Infinity", "-Infinity", "NaN"}
_SHOWN = 60  # characters of a string that a reason quotes
_KEPT = (
    "stack_trace",
    "nn_module_stack",
)  # what torch and hookcli read of an operator's metadata

_Check = Callable[[str], Iterator[str]]


def screened(kind: type, value: Any) -> tuple[Any, list[str]]:
    """Return the parts of a value that torch reads as `kind` of its schema, and reasons against it.

    Raises
    ------
    ValueError : it is not of that kind.
    """
    reasons: list[str] = []
    return _Screen(reasons).walk(kind, value, ""), list(dict.fromkeys(reasons))


class _Screen:
    """Walk a value along torch's schema: torch does not read what the schema does not name."""

    def __init__(self, reasons: list[str]) -> None:
        self._reasons = reasons

    def walk(self, kind: Any, value: Any, field: str) -> Any:
        """Return the value without unknown fields; `field` is `Class.name`."""
        kind = _plain_type(kind)
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if origin in (typing.Union, types.UnionType):
            return None if value is None else self.walk(inner[0], value, field)
        if origin is list:
            return [self.walk(inner[0], item, field) for item in _typed(value, list, field)]
        if origin is dict:
            return self._mapping(inner[1], _typed(value, dict, field), field)
        if is_dataclass(kind):
            return self._object(kind, _typed(value, dict, field))
        if kind is str:
            self._text(_typed(value, str, field), field)
            return value
        if kind is float and value in _FLOATS:
            return value
        expected = (int, float) if kind is float else int  # also for a bool or an enum
        if not issubclass(kind, int | float | enum.IntEnum):
            raise ValueError(f"the type of {field} is unknown")
        return _typed(value, expected, field)

    def _object(self, kind: Any, value: dict[str, Any]) -> dict[str, Any]:
        result = {}
        for key, hint in _hints(kind).items():
            field = f"{kind.__name__}.{key}"
            if key not in value or field in _DROPPED:
                continue
            if field in _NOTES:
                result[key] = self._notes(_typed(value[key], dict, field))
            else:
                result[key] = self.walk(hint, value[key], field)
        return result

    def _mapping(self, inner: Any, value: dict[Any, Any], field: str) -> dict[str, Any]:
        for key in value:
            for reason in _KEYS.get(field, _name)(key):
                self._reasons.append(reason)
        return {key: self.walk(inner, item, field) for key, item in value.items()}

    def _text(self, text: str, field: str) -> None:
        self._reasons.extend(_TEXTS.get(field, _name)(text))

    def _notes(self, notes: dict[str, Any]) -> dict[str, str]:
        """Return an operator's metadata about the original, with control characters as spaces."""
        kept = {key: notes[key] for key in _KEPT if isinstance(notes.get(key), str)}
        kept = {key: _lines(text) for key, text in kept.items()}
        for item in filter(None, kept.get("nn_module_stack", "").split(";")):
            if not _STACK.fullmatch(item) or _has_dunder(_parts(item)[1:2]):
                self._reasons.append(f"invalid module name: {_shown(item)}")
        return kept


_DROPPED = {"ExportedProgram.guards_code"}  # Python code, which torch runs when it makes a module
_NOTES = {"Node.metadata", "GraphModule.metadata"}


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, globalns=vars(schema))
    return {field.name: hints[field.name] for field in fields(kind)}


def _plain_type(kind: Any) -> Any:
    """Return a type; for the name of a class, the class."""
    name = kind.__forward_arg__ if isinstance(kind, typing.ForwardRef) else kind
    return getattr(schema, name) if isinstance(name, str) else kind


def _typed(value: Any, kind: Any, field: str) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"unexpected type of {field or 'the program'}: {type(value).__name__}")
    return value


def _name(text: str) -> Iterator[str]:
    if text and (not text.isidentifier() or _DUNDER.fullmatch(text)):
        yield f"invalid name in its graph: {_shown(text)}"


def _path(text: str) -> Iterator[str]:
    if not _is_path(text):
        yield f"invalid module name: {_shown(text)}"


def _is_path(text: str) -> bool:
    """Whether it is a dotted name of a module or tensor. It may contain keys of a ModuleDict."""
    return _PATH.fullmatch(text) is not None and text.isprintable() and not _has_dunder([text])


def _has_dunder(paths: list[str]) -> bool:
    return any(_DUNDER.fullmatch(part) for path in paths for part in path.split("."))


def _parts(item: str) -> list[str]:
    """Split an entry of a stack of modules into key, path and class, at commas as torch does."""
    parts, depth = [""], 0
    for c in item:
        depth += (c in "[(") - (c in ")]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def _dotted(text: str) -> Iterator[str]:
    if not all(part.isidentifier() for part in filter(None, re.split(r"[.:]+", text))):
        yield f"invalid class name in its graph: {_shown(text)}"


def _version(text: str) -> Iterator[str]:
    if not _VERSION.fullmatch(text):
        yield f"invalid version: {_shown(text)}"


def _expression(text: str) -> Iterator[str]:
    if not is_expression(text):
        yield f"a symbolic expression is not plain arithmetic: {_shown(text)}"


def _operator(text: str) -> Iterator[str]:
    parts = text.split(".")
    plain = _DOTTED_OPERATOR.fullmatch(text) and not any(
        "__" in part and not _BITWISE.fullmatch(part) for part in parts
    )
    if not (_OF_EXTENSION.fullmatch(text) or (plain and _calls_operator(parts))):
        yield f"it calls {_shown(text)}, which is not an operator"


def _calls_operator(parts: list[str]) -> bool:
    """Whether a name below torch.ops is an operator, or unknown: torch has helpers there."""
    if parts[:2] != ["torch", "ops"]:
        return True
    value: Any = torch.ops
    for part in parts[2:]:
        value = getattr(value, part, None)
        if value is None:
            return True
    return isinstance(value, OpOverload | HigherOrderOperator)


def _in_spec(text: str) -> Iterator[str]:
    yield from why_tree_acts(text, of_arguments=True)


def _out_spec(text: str) -> Iterator[str]:
    yield from why_tree_acts(text, of_arguments=False)


def _any(_: str) -> Iterator[str]:
    """Accept any string: it is an argument of an operator, which torch writes with repr."""
    return iter(())


def _lines(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(
        line if line.isprintable() else "".join(c if c.isprintable() else " " for c in line)
        for line in lines
    )


def _shown(text: str) -> str:
    return " ".join(text[:_SHOWN].split())


# The check for the strings of a field. In any other field a string must be an identifier.
_TEXTS: dict[str, _Check] = {
    "SymExpr.expr_str": _expression,
    "Node.target": _operator,
    "Argument.as_operator": _operator,
    "Argument.as_string": _any,
    "Argument.as_strings": _any,
    "ConstantValue.as_string": _any,
    "CustomObjArgument.class_fqn": _dotted,
    "InputToParameterSpec.parameter_name": _path,
    "InputToBufferSpec.buffer_name": _path,
    "InputToTensorConstantSpec.tensor_constant_name": _path,
    "InputToCustomObjSpec.custom_obj_name": _path,
    "BufferMutationSpec.buffer_name": _path,
    "ParameterMutationSpec.parameter_name": _path,
    "GradientToParameterSpec.parameter_name": _path,
    "GradientToUserInputSpec.user_input_name": _path,
    "UserInputMutationSpec.user_input_name": _path,
    "ModuleCallEntry.fqn": _path,
    "ModuleCallSignature.in_spec": _in_spec,
    "ModuleCallSignature.out_spec": _out_spec,
    "ExportedProgram.torch_version": _version,
}
_KEYS: dict[str, _Check] = {
    "GraphModule.treespec_namedtuple_fields": _path,
    "PayloadConfig.config": _path,
}


# Tree specs: torch imports what they name, and their keywords become parameters in generated code.

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

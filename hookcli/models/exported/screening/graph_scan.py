"""Whether the program in a `.pt2` can act as torch reads and runs it, and that program reduced.

torch evaluates its symbolic expressions as Python, imports what its trees name, looks operators up
by attribute from the module torch on, and writes names into code that it compiles. So each text is
held to what its field is for, and to a plain name where nothing else is known of the field.
"""

from __future__ import annotations

import enum
import re
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, Any

import torch
from torch._export.serde import schema  # private: torch describes the format nowhere else

from hookcli.models.exported.screening.expressions import is_expression
from hookcli.models.exported.screening.tree_specs import why_tree_acts

_DOTTED_OPERATOR = re.compile(
    r"torch\.ops(?:\.\w+){2,3}|torch\._?sym_\w+|math\.\w+"
    r"|_operator\.(?!call$|attrgetter$|itemgetter$|methodcaller$)\w+"
)
_OF_EXTENSION = re.compile(r"#\w+:[\w.:]+")
_DUNDER = re.compile(r"__.*__", re.DOTALL)
_BITWISE = re.compile(r"__i?(?:and|or|xor|lshift|rshift)__")
_PATH = re.compile(r"[\w .:@+/<>|&-]*")  # dotted; keys of a ModuleDict are any text
_STACK = re.compile(r"[\w .:@+/<>|&()\[\],'-]*")  # and slices of a ModuleList: layers.slice(0, 2)
_VERSION = re.compile(r"[\w.+<>=-]*")
_FLOATS = {"Infinity", "-Infinity", "NaN"}
_SHOWN = 60  # characters of a text that a reason quotes
_KEPT = ("stack_trace", "nn_module_stack")  # of an operator's notes: torch and hookcli read these

_Check = Callable[[str], Iterator[str]]


def screened(kind: type, value: Any) -> tuple[Any, list[str]]:
    """What torch reads of a value that should be a `kind` of its schema, and reasons against it.

    Raises
    ------
    ValueError : it is not of that kind.
    """
    reasons: list[str] = []
    return _Screen(reasons).walk(kind, value, ""), list(dict.fromkeys(reasons))


class _Screen:
    """A walk along torch's schema: what it does not name torch does not read."""

    def __init__(self, reasons: list[str]) -> None:
        self._reasons = reasons

    def walk(self, kind: Any, value: Any, field: str) -> Any:
        """The value with what is known of it; `field` is `Class.name`."""
        kind = _bare(kind)
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
        wanted = (int, float) if kind is float else int  # a bool, or a number that is an enum's
        if not issubclass(kind, int | float | enum.IntEnum):
            raise ValueError(f"the type of {field} is unknown")
        return _typed(value, wanted, field)

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
        """What an operator's notes say of the original; a control character becomes a space."""
        kept = {key: notes[key] for key in _KEPT if isinstance(notes.get(key), str)}
        kept = {key: _lines(text) for key, text in kept.items()}
        for item in filter(None, kept.get("nn_module_stack", "").split(";")):
            if not _STACK.fullmatch(item) or _has_dunder(_parts(item)[1:2]):
                self._reasons.append(f"invalid module name: {_shown(item)}")
        return kept


_DROPPED = {"ExportedProgram.guards_code"}  # Python, which torch runs when it makes a module
_NOTES = {"Node.metadata", "GraphModule.metadata"}


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, globalns=vars(schema))
    return {field.name: hints[field.name] for field in fields(kind)}


def _bare(kind: Any) -> Any:
    """A type without its notes, and a name of a class as the class."""
    if typing.get_origin(kind) is Annotated:
        return _bare(typing.get_args(kind)[0])
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
    """Whether it is a dotted name of a module or tensor. Keys of a ModuleDict are in it."""
    return _PATH.fullmatch(text) is not None and text.isprintable() and not _has_dunder([text])


def _has_dunder(paths: list[str]) -> bool:
    return any(_DUNDER.fullmatch(part) for path in paths for part in path.split("."))


def _parts(item: str) -> list[str]:
    """One entry of a stack of modules: its key, path and class, cut at commas as torch does."""
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
    """Whether a name below torch.ops means an operator, or nothing: torch has helpers there."""
    if parts[:2] != ["torch", "ops"]:
        return True
    value: Any = torch.ops
    for part in parts[2:]:
        value = getattr(value, part, None)
        if value is None:
            return True
    return isinstance(value, torch._ops.OpOverload | torch._ops.HigherOrderOperator)


def _taken(text: str) -> Iterator[str]:
    yield from why_tree_acts(text, takes=True)


def _given(text: str) -> Iterator[str]:
    yield from why_tree_acts(text, takes=False)


def _any(_: str) -> Iterator[str]:
    """A value that an operator is given: torch writes it with repr."""
    return iter(())


def _lines(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(
        line if line.isprintable() else "".join(c if c.isprintable() else " " for c in line)
        for line in lines
    )


def _shown(text: str) -> str:
    return " ".join(text[:_SHOWN].split())


# What a text of a field is; of any other field a name.
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
    "ModuleCallSignature.in_spec": _taken,
    "ModuleCallSignature.out_spec": _given,
    "ExportedProgram.torch_version": _version,
}
_KEYS: dict[str, _Check] = {
    "GraphModule.treespec_namedtuple_fields": _path,
    "PayloadConfig.config": _path,
}

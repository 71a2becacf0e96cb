"""`at` in its three forms: a pattern, a mapping of conditions, a list of these."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from hookcli.config.parse.containers import Fields, Key
from hookcli.config.parse.nodes import Node, NodeError, Problems, ReportedError, plain
from hookcli.config.parse.scalars import (
    Boolean,
    Integer,
    Refined,
    Schema,
    Text,
    must_not_be_empty,
    reject,
)
from hookcli.spec.hooks import Match, Selector
from hookcli.spec.selectors import match_of, part_of
from hookcli.spec.yaml import flow

Found: TypeAlias = tuple[tuple[Node, Match], ...]
_Reader: TypeAlias = Callable[[Node, Problems], Found]
_EXPECTED = "a pattern, a mapping of conditions, or a list of these"
_HINT = 'write `at: "layer1.*"`, `at: {type: Conv2d}` or `at: [conv1, fc]`'
_OPERATOR = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*){1,2}")


def _from_text(item: Node, text: str) -> Match:
    try:
        return match_of(text)
    except ValueError as error:
        raise NodeError(item, error.args[0], error.args[1]) from None


def _part(item: Node, text: str) -> Any:
    try:
        return part_of(text)
    except ValueError as error:
        raise NodeError(item, error.args[0], error.args[1]) from None


def _regex(item: Node, text: str) -> str:
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError, ValueError) as error:  # a{9…9} of digits
        raise NodeError(
            item,
            f"invalid regular expression: {error}",
            "use the syntax of Python's `re`; the whole name must match",
        ) from None
    return text


def _operator(item: Node, text: str) -> str:
    if not _OPERATOR.fullmatch(text):
        raise NodeError(
            item,
            f"'{text}' is not the name of an operator",
            "write a name such as `aten.add` or `aten.add.Tensor`",
        )
    return text


class _At:
    """Any form of `at`. `inner` ones, under `in` and `not`, select modules or parameters only."""

    expected = _EXPECTED

    def __init__(self, *, inner: bool = False) -> None:
        self.inner = inner

    def read(self, item: Node, problems: Problems) -> Selector:
        """Return the selector."""
        return selector_of(item, self.matches(item, problems))

    def matches(self, item: Node, problems: Problems) -> Found:
        """Return each condition with its place."""
        readers: dict[type, _Reader] = {
            str: self._text, dict: self._mapping, list: self._list,
        }  # fmt: skip
        reader = readers.get(type(item.value))
        if reader is None:
            reject(item, _EXPECTED, _HINT)
        matches = reader(item, problems)
        for node, match in matches:
            if self.inner and (match.part or match.op or match.node):
                raise NodeError(
                    node,
                    f"'{item.label}' can select only modules or parameters",
                    "remove the part, operator or node",
                )
        return matches

    def _text(self, item: Node, _: Problems) -> Found:
        return ((item, _from_text(item, item.value)),)

    def _mapping(self, item: Node, problems: Problems) -> Found:
        if not item.value:
            raise must_not_be_empty(item, _HINT)
        values = CONDITIONS.read(item, problems)
        part, path = values.pop("part", (None, ""))
        names = {"in": "inside", "not": "negated"}
        match = Match(**{names.get(key, key): value for key, value in values.items()})
        _check_operator(item, match, part)
        return ((item, Match(**{**_fields(match), "part": part, "path": path})),)

    def _list(self, item: Node, problems: Problems) -> Found:
        if not item.value:
            raise must_not_be_empty(item, _HINT)
        before = len(problems)
        matches: list[tuple[Node, Match]] = []
        for child in item.value:
            with problems.catching():
                matches.extend(self.matches(child, problems))
        if len(problems) > before:
            raise ReportedError
        return tuple(matches)

    def schema(self) -> Schema:
        """JSON Schema, by reference because it is recursive."""
        return {"$ref": "#/$defs/at"}


def _fields(match: Match) -> dict[str, Any]:
    return {name: getattr(match, name) for name in Match.__slots__}


def _check_operator(item: Node, match: Match, part: str | None) -> None:
    """Refuse conditions that cannot be combined."""
    of_module = ("name", "regex", "type", "depth", "leaf", "negated")
    if match.op is None and match.node is None:
        for key, value in (("in", match.inside), ("call", match.call)):
            if value is not None:
                raise NodeError(
                    item.value[key],
                    f"'{key}' requires 'op' or 'node'",
                    "add the operator, as in `op: aten.add`",
                )
    elif match.op is not None and match.node is not None:
        raise NodeError(item, "'op' cannot be combined with 'node'", "remove one of them")
    elif part is not None or any(getattr(match, name) is not None for name in of_module):
        raise NodeError(
            item,
            "'op' and 'node' can be combined only with 'in' and 'call'",
            "select the modules with `in`, as in `{op: aten.add, in: {type: Block}}`",
        )


AT = _At()
_INNER = _At(inner=True)
CONDITIONS = Fields(
    {
        "name": Key(Text(empty=True), "an exact qualified name; \"\" is the root"),
        "regex": Key(
            Refined(Text(), _regex), "a regular expression that matches the whole qualified name"
        ),
        "type": Key(Text(), "the name of the module's class, without its package"),
        "depth": Key(Integer(0), "the depth of the module in the tree; 0 is the root"),
        "leaf": Key(Boolean(), "whether the module has no children"),
        "op": Key(Refined(Text(), _operator), "an operator, such as aten.add"),
        "node": Key(Text(), "the name of an autograd node, such as AddmmBackward0"),
        "in": Key(_INNER, "the modules whose calls run the operator or create the node"),
        "call": Key(
            Integer(0), "the number of the operator or node within one call, counted from 0"
        ),
        "not": Key(_INNER, "the modules or parameters that are excluded"),
        "part": Key(
            Refined(Text(), _part), "a value of the module's call, such as output or input[0]"
        ),
    },
    hints={
        "pattern": "write the pattern as a string, as in `at: \"layer1.*\"`",
        "glob": "write the pattern as a string, as in `at: \"layer1.*\"`",
        "inside": "try `in`",
    },
)  # fmt: skip
DEFS: Schema = {
    "at": {
        "description": "PATTERN, PATTERN:input[PATH] or PATTERN:output[PATH]; or conditions that "
        "must all be true; or a list of these, of which at least one must match",
        "anyOf": [
            {"type": "string"},
            {**CONDITIONS.schema(), "minProperties": 1},
            {"type": "array", "items": {"$ref": "#/$defs/at"}, "minItems": 1},
        ],
    }
}


def selector_of(item: Node, matches: Found) -> Selector:
    """Return the selector of an `at`, with its text."""
    texts = tuple(_written(node) for node, _ in matches)
    return Selector(tuple(match for _, match in matches), _written(item), texts)


def _written(item: Node) -> str:
    return item.value if isinstance(item.value, str) else flow(plain(item))

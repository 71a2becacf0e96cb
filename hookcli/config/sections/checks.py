"""`checks` and `suppress`: rules with their options, and suppressed findings."""

from __future__ import annotations

from typing import Any

from hookcli.catalogue.kinds import CATALOGUE as KINDS, LIST_HINT
from hookcli.config.parse import paths
from hookcli.config.parse.containers import ByType, Fields, Key, ListOf, unknown_key
from hookcli.config.parse.nodes import Node, NodeError, Problems, ReportedError, suggest
from hookcli.config.parse.scalars import (
    Boolean,
    Choice,
    Data,
    Integer,
    Named,
    Number,
    Refined,
    Schema,
    Text,
    Validator,
    reject,
)
from hookcli.errors import RequestError
from hookcli.rules.catalogue import CATALOGUE, rules_of_options
from hookcli.rules.judge import UNUSED
from hookcli.rules.order_patterns import MOST
from hookcli.sentences import unknown
from hookcli.spec.checks import CheckSpec, Suppression
from hookcli.spec.compared.parallel import parse_mesh
from hookcli.spec.inputs import DTYPES, LARGEST

_LISTING = "run `hookcli list rules`"
_SHAPE_HINT = "write `shape: [B, 3, '*', 32]`"
_LARGEST = 1e18


class _Sizes:
    """A shape: sizes, stars, and names of sizes."""

    expected = "a list of sizes, '*' and names"

    def read(self, item: Node, problems: Problems) -> tuple[int | str, ...]:
        """Return the sizes in their order."""
        if not isinstance(item.value, list):
            reject(item, self.expected, _SHAPE_HINT)
        before, sizes = len(problems), []
        for child in item.value:
            with problems.catching():
                sizes.append(self._size(child))
        if len(problems) > before:
            raise ReportedError
        return tuple(sizes)

    def _size(self, item: Node) -> int | str:
        value = item.value
        named = isinstance(value, str) and (value == "*" or value.isidentifier())
        sized = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST
        if not (named or sized):
            reject(item, "a size of at least 0, '*' or a name", _SHAPE_HINT)
        return value  # type: ignore[no-any-return]  # an int or a str, as was just seen

    def schema(self) -> Schema:
        """JSON Schema."""
        name = {"type": "string", "pattern": r"^(\*|[^\W\d]\w*)$"}
        size = {"type": "integer", "minimum": 0, "maximum": LARGEST}
        return {"type": "array", "items": {"anyOf": [size, name]}}


def _dtype(item: Node, text: str) -> str:
    bare = text.removeprefix("torch.")
    if bare not in DTYPES:
        raise NodeError(item, unknown("dtype", text), suggest(text, DTYPES))
    return bare


def _mesh(item: Node, text: str) -> str:
    try:
        return parse_mesh(text, "mesh").text()
    except RequestError as error:
        raise NodeError(item, error.message, error.hint or "") from None


def _count(item: Node, number: float) -> int:
    if number != number // 1 or not 0 <= number <= _LARGEST:
        reject(item, "an integer of at least 0", "write a number such as `12000000` or `12e6`")
    return int(number)


def _path(item: Node, text: str) -> str:
    if not text.startswith((".", "[")):
        hint = f"write `.{text}`, or `[0]` for the first of several, or omit it for all"
        raise NodeError(item, f"'{text}' is not a path within a value", hint)
    return text


def _settings(item: Node, values: dict[str, Any]) -> dict[str, Any]:
    for name, value in values.items():
        if not _is_plain(value):
            hint = "write `settings: {p: 0.1, inplace: false}`"
            raise NodeError(item, f"'{name}' must be a number, a string, null or a list", hint)
    return values


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)


_GLOB = Text("a glob of qualified names", empty=True)
_ORDER_HINT = "write `order: [conv1, 'h.{0..11}', {of: [cell, norm], times: 8}]`"
_ROUNDS = Fields(
    {
        "of": Key(ListOf(_GLOB, least=1), "the names of a round, in their order", required=True),
        "times": Key(Integer(1, MOST), "the number of rounds", required=True),
    },
    expected="a mapping {of, times}",
    hint=_ORDER_HINT,
)
_SHAPES: dict[str, Validator] = {
    "glob": _GLOB,
    "globs": ListOf(_GLOB, one=True, least=1),
    "path": Refined(Text("a path within a value: .logits, [0]"), _path),
    "kind": Named("kind", dict.fromkeys(KINDS, ""), LIST_HINT),
    "order": ListOf(
        ByType({str: _GLOB, dict: _ROUNDS}, "a name, a glob or {of, times}", _ORDER_HINT), least=1
    ),
    "shape": _Sizes(),
    "dtype": Refined(Text("a dtype: float32, bfloat16"), _dtype),
    "number": Number(0, 1e9),
    "count": Refined(Number(), _count),
    "flag": Boolean(),
    "file": Refined(Text("the name of a file"), paths.existing),
    "modes": ListOf(Choice(("eval", "train")), one=True, least=1),
    "match": Choice(("subsequence", "prefix", "exact")),
    "part": Choice(("output", "input", "parameter")),
    "dimension": Integer(0, 63),
    "word": Text("a name"),
    "function": Refined(Text("a function such as plan.py:apply"), paths.code),
    "mesh": Refined(Text("names with sizes such as tp:2"), _mesh),
    "settings": Refined(Fields({}, rest=Data()), _settings),
}
_RULE = Named(
    "rule",
    {rule.name: rule.says for rule in CATALOGUE.values()},
    _LISTING,
    meant=rules_of_options(),
)
_COMMON = {
    "rule": Key(_RULE, "the name of a rule, from hookcli list rules", required=True),
    "severity": Key(Choice(("error", "warning")), "overrides the rule's own severity"),
}


def _keys(name: str) -> Fields:
    own = {
        option.name: Key(_SHAPES[option.shape], option.does, required=option.required)
        for option in CATALOGUE[name].options
    }
    hint = f"write `- {CATALOGUE[name].example}`"
    return Fields({**_COMMON, **own}, expected=_EXPECTED, hint=hint)


_EXPECTED = "a mapping {rule, severity, …}"
_KEYS = {name: _keys(name) for name in CATALOGUE}
_OF_ANY = dict.fromkeys(key for keys in _KEYS.values() for key in keys.keys)
_ANY = Fields(_COMMON, expected=_EXPECTED, hint="write `- {rule: finite}`")


class Check:
    """One check: its rule, its severity, and the rule's own options."""

    expected = _EXPECTED

    def read(self, item: Node, problems: Problems) -> CheckSpec:
        """Return the check. If its rule is unknown, its options are not checked against a rule."""
        if isinstance(item.value, str):
            reject(item, self.expected, f"write `- {{rule: {item.value}}}`")
        rule = item.get("rule")
        if rule is None or not isinstance(rule.value, str) or rule.value not in _KEYS:
            self._keys_of_any(item, problems)
            if rule is not None:
                _RULE.read(rule, problems)
            _ANY.read(Node({}, item.mark, item.path) if isinstance(item.value, dict) else item,
                      problems)  # fmt: skip
        options: dict[str, Any] = dict(_KEYS[rule.value].read(item, problems))  # type: ignore[union-attr]
        name, severity = options.pop("rule"), options.pop("severity", None)
        return CheckSpec(name, options, item.place, severity)

    def _keys_of_any(self, item: Node, problems: Problems) -> None:
        """Note the keys that no rule has."""
        for key, child in (item.value if isinstance(item.value, dict) else {}).items():
            with problems.catching():
                if key == "severity":
                    _COMMON[key].shape.read(child, problems)
                elif key not in _OF_ANY:
                    raise unknown_key(child, key, _OF_ANY)

    def schema(self) -> Schema:
        """JSON Schema: the options depend on the rule."""
        schemas = []
        for name, keys in _KEYS.items():
            schema = keys.schema()
            rule = {"const": name, "description": CATALOGUE[name].says}
            schema["properties"] = {**schema["properties"], "rule": rule}
            schemas.append(schema)
        return {"oneOf": schemas}


def _suppression(item: Node, values: dict[str, Any]) -> Suppression:
    return Suppression(values["rule"], values["at"], values["reason"], item.place)


_RULES = {**{rule.name: rule.says for rule in CATALOGUE.values()}, UNUSED: ""}
SUPPRESS = Refined(
    Fields(
        {
            "rule": Key(Named("rule", _RULES, _LISTING), "the rule", required=True),
            "at": Key(_GLOB, "the targets, by glob; '' is the model itself", required=True),
            "reason": Key(Text(), "why the finding is acceptable", required=True),
        },
        expected="a mapping {rule, at, reason}",
        hint='write `- {rule: grad_exists, at: "head.*", reason: "trained later"}`',
    ),
    _suppression,
)

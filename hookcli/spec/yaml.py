"""YAML with the 1.2 core schema: only true and false are Booleans, 1e-4 is a float, 010 is ten.

PyYAML's own loader follows YAML 1.1, where `no` is false, `1:30` is ninety and `1e-4` is a string.
This loader raises only `yaml.YAMLError` for invalid YAML. PyYAML's scanner and constructors also
raise what Python's own functions raise, and trust an explicit tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import Any

import yaml

DEEPEST = 40  # levels of nesting
NESTED = "nested deeper"  # the problem of values that are nested deeper
_TAG = "tag:yaml.org,2002:"
_SHOWN = 40  # the most characters of a scalar that an error shows


def _int(text: str) -> int:
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    value = int(text[2:] if base != 10 else text, base)
    str(value)  # Python limits the digits that it prints, not the hexadecimal digits that it reads
    return value


def _float(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


# The name of the tag, a pattern of the text, its possible first characters, and its value.
_SCALARS: tuple[tuple[str, str, str, Callable[[str], Any]], ...] = (
    ("null", r"~|null|Null|NULL|", "~nN\0", lambda _: None),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF", lambda text: text.lower() == "true"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789", _int),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+.0123456789",
        _float,
    ),
)


def _refused(node: yaml.Node, problem: str, hint: str) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark, hint)


class CoreLoader(yaml.SafeLoader):
    """Loads safely with the core schema. Refuses duplicate keys and values nested too deep."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012  # PyYAML's own protocol
    depth = 0

    def fetch_more_tokens(self) -> Any:
        """Read the next tokens. Escapes beyond Unicode and huge version numbers are errors too."""
        try:
            return super().fetch_more_tokens()
        except (ValueError, OverflowError) as error:
            mark = self.get_mark()
            raise yaml.scanner.ScannerError(None, None, f"malformed: {error}", mark) from None

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return the node, at most `DEEPEST` levels deep: each level uses Python's stack."""
        if self.depth >= DEEPEST:
            raise yaml.MarkedYAMLError(
                problem=NESTED,
                problem_mark=self.peek_event().start_mark,  # type: ignore[no-untyped-call]
            )
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return the mapping. A duplicate key raises an error."""
        _check_kind(node, yaml.MappingNode, "mapping")
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.MarkedYAMLError(
                    problem="a key must not be a list or a mapping", problem_mark=node.start_mark
                )
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"duplicate key {key!r}", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Treat `<<` as an ordinary key: the core schema has no merge keys."""


def _check_kind(node: yaml.Node, kind: type[yaml.Node], word: str) -> None:
    if not isinstance(node, kind):
        raise _refused(node, f"the value is not a YAML {word}", "remove the tag")


# An explicit tag also accepts values of YAML 1.1: !!bool yes, !!int 1_000.
_EXPLICIT: dict[str, Callable[[Any, yaml.ScalarNode], Any]] = {
    "bool": yaml.SafeLoader.construct_yaml_bool,
    "int": yaml.SafeLoader.construct_yaml_int,
    "float": yaml.SafeLoader.construct_yaml_float,
}


def _scalar(name: str, pattern: re.Pattern[str], value: Callable[[str], Any]) -> Any:
    """Return the constructor of a scalar of the core schema."""

    def construct(loader: CoreLoader, node: yaml.ScalarNode) -> Any:
        text = str(loader.construct_scalar(node))
        if pattern.fullmatch(text):
            try:
                return value(text)
            except ValueError:  # more digits than Python reads or prints
                pass
        elif name in _EXPLICIT:
            try:
                return _EXPLICIT[name](loader, node)
            except (ValueError, KeyError, OverflowError, IndexError):
                pass  # invalid in YAML 1.1 too
        if name in {"null", "bool"}:
            shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
            raise _refused(node, f"'{shown}' is not a YAML {name}", "remove the tag")
        raise _refused(node, "invalid number", "put it in quotes if it is a string")

    return construct


def _str(loader: CoreLoader, node: yaml.ScalarNode) -> str:
    text = str(loader.construct_scalar(node))
    try:
        text.encode()
    except UnicodeEncodeError:
        problem = "the string contains half of a character (a surrogate)"
        raise _refused(node, problem, "write the whole character") from None
    return text


def _map(loader: CoreLoader, node: yaml.MappingNode) -> Any:
    _check_kind(node, yaml.MappingNode, "mapping")
    yield from loader.construct_yaml_map(node)


def _seq(loader: CoreLoader, node: yaml.SequenceNode) -> Any:
    _check_kind(node, yaml.SequenceNode, "sequence")
    yield from loader.construct_yaml_seq(node)


def _timestamp(loader: CoreLoader, node: yaml.ScalarNode) -> Any:
    try:
        return loader.construct_yaml_timestamp(node)
    except (ValueError, OverflowError, AttributeError):  # the text does not match PyYAML's pattern
        problem = "the value is not a YAML timestamp"
        raise _refused(node, problem, "write `2001-12-31`, or remove the tag") from None


for _name, _pattern, _first, _value in _SCALARS:
    _regex = re.compile(f"^(?:{_pattern})$")
    CoreLoader.add_implicit_resolver(_TAG + _name, _regex, ["" if c == "\0" else c for c in _first])
    CoreLoader.add_constructor(_TAG + _name, _scalar(_name, _regex, _value))
for _name, _construct in (("str", _str), ("map", _map), ("seq", _seq), ("timestamp", _timestamp)):
    CoreLoader.add_constructor(_TAG + _name, _construct)


class _ValueLoader(CoreLoader):
    """Loads one line, in which aliases are not allowed."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases are not supported")
        return super().compose_node(parent, index)


def load_value(text: str) -> Any:
    """Return the plain data of a line of YAML.

    Raises
    ------
    ValueError : `text` is not YAML, or repeats a key; the message is one line.

    """
    try:
        return yaml.load(text, Loader=_ValueLoader)  # a SafeLoader by inheritance
    except yaml.MarkedYAMLError as error:
        problem = error.problem or "not YAML"
        deep = problem == NESTED
        raise ValueError(f"nested deeper than {DEEPEST} levels" if deep else problem) from None
    except yaml.YAMLError as error:
        raise ValueError(str(error).split("\n", 1)[0] or "not YAML") from None


class _CoreDumper(yaml.SafeDumper):
    """Quotes only strings that the core schema would read as another type."""

    yaml_implicit_resolvers = CoreLoader.yaml_implicit_resolvers


def flow(value: Any) -> str:
    """Return plain data as YAML on one line, which `load_value` reads back."""
    text = yaml.dump(
        value,
        Dumper=_CoreDumper,
        default_flow_style=True,
        width=float("inf"),
        sort_keys=False,
        allow_unicode=True,
    )
    return str(text).removesuffix("...\n").strip()

"""YAML with the 1.2 core schema: only true and false are booleans, 1e-4 is a float, 010 is ten.

PyYAML's own loader follows YAML 1.1, where `no` is false, `1:30` is ninety and `1e-4` is a string.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

_TAG = "tag:yaml.org,2002:"
_SCALARS: tuple[tuple[str, str, str], ...] = (
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+.0123456789",
    ),
)


class CoreLoader(yaml.SafeLoader):
    """Safe loading, core schema, duplicate keys refused."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012  # PyYAML's own protocol

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """The mapping; a key that stands twice raises."""
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.MarkedYAMLError(problem="unhashable key", problem_mark=node.start_mark)
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"duplicate key {key!r}", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Leave `<<` an ordinary key: the merge key is no part of the core schema."""


def _int(loader: CoreLoader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node))
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    return int(text[2:] if base != 10 else text, base)


def _float(loader: CoreLoader, node: yaml.ScalarNode) -> float:
    return float(
        str(loader.construct_scalar(node)).lower().replace(".inf", "inf").replace(".nan", "nan")
    )


for _name, _pattern, _first in _SCALARS:
    CoreLoader.add_implicit_resolver(
        _TAG + _name, re.compile(f"^(?:{_pattern})$"), ["" if c == "\0" else c for c in _first]
    )
CoreLoader.add_constructor(_TAG + "int", _int)
CoreLoader.add_constructor(_TAG + "float", _float)


def load_value(text: str) -> Any:
    """The plain data that `text` says.

    Raises
    ------
    ValueError : `text` is not YAML, or repeats a key; the message is one line.

    """
    try:
        for event in yaml.parse(text, Loader=CoreLoader):
            if isinstance(event, yaml.AliasEvent):
                raise ValueError("an alias is not taken here")
        return yaml.load(text, Loader=CoreLoader)  # a SafeLoader by inheritance
    except yaml.MarkedYAMLError as error:
        raise ValueError(error.problem or "not YAML") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error).split("\n", 1)[0] or "not YAML") from None


class _CoreDumper(yaml.SafeDumper):
    """Quotes what the core schema would take for something else, and no more."""

    yaml_implicit_resolvers = CoreLoader.yaml_implicit_resolvers


def flow(value: Any) -> str:
    """Plain data as YAML on one line, which `load_value` reads back."""
    text = yaml.dump(
        value,
        Dumper=_CoreDumper,
        default_flow_style=True,
        width=float("inf"),
        sort_keys=False,
        allow_unicode=True,
    )
    return str(text).removesuffix("...\n").strip()

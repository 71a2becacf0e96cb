"""Reads a YAML file into nodes: the 1.2 core schema, with limits against hostile files."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from hookcli.config.parse.nodes import Mark, Node, NodeError, Problems, below, excerpt
from hookcli.spec.yaml import DEEPEST, NESTED, CoreLoader

INIT_HINT = "run `hookcli init MODEL` to create one"
LARGEST = 256 * 1024  # bytes of a file
EXPANDED = 10_000  # values that aliases may expand to
_TAGS = {
    f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str", "map", "seq")
}
_COLLECTIONS: dict[type, str] = {
    yaml.MappingNode: "tag:yaml.org,2002:map",
    yaml.SequenceNode: "tag:yaml.org,2002:seq",
}
_SYNTAX = (
    (r"'\t'", "a tab is used for indentation", "indent with spaces"),
    (
        "expected alphabetic or numeric character, but found",
        "a string that begins with * or & must be quoted",
        'write quotes, as in `at: "*.conv1"`',
    ),
    (
        "found undefined alias",
        "undefined alias: a string that begins with * must be quoted",
        'write quotes, as in `at: "*.conv1"`',
    ),
    (
        "expected a single document",
        "the file contains more than one document",
        "remove the `---`: a file contains one configuration",
    ),
    ("mapping values are not allowed here", "unexpected second colon on this line",
     "quote strings that contain ': ', and check the indentation"),
    (
        "but got '['",
        "an unquoted [ inside { } or [ ] begins a list",
        'quote patterns with brackets, as in `at: "layer[1-4].*"`',
    ),
    (
        "expected ',' or ']'",
        "a list that begins with [ is not closed",
        "close it with ], or quote the string",
    ),
    (
        "expected ',' or '}'",
        "a mapping that begins with { is not closed",
        "close it with }, or quote the string",
    ),
    (NESTED, f"the value is nested deeper than {DEEPEST} levels", "use fewer levels"),
)  # fmt: skip


def read_document(data: bytes, file: str, folder: Path, order: int, problems: Problems) -> Node:
    """Return the document in a file. Duplicate keys are noted as problems.

    Raises
    ------
    NodeError : it is not YAML, or contains something that no configuration may contain.

    """
    return _Document(data, file, folder, order, problems).read()


class _Document:
    """One file while it is read."""

    def __init__(
        self, data: bytes, file: str, folder: Path, order: int, problems: Problems
    ) -> None:
        self._top = Node(None, Mark(file, folder, order, 1, 0, ""), "")
        self._problems = problems
        self._margins: list[int] = []
        self._lines: list[str] = []
        self._text = self._decoded(data)
        # Stripped once, because each value of a long line shows an excerpt of that line.
        lines = self._text.splitlines()
        self._margins = [len(line) - len(line.lstrip()) for line in lines]
        self._lines = [line.strip() for line in lines]
        self._above: set[int] = set()
        self._seen: set[int] = set()
        self._expanded = 0

    def _decoded(self, data: bytes) -> str:
        if len(data) > LARGEST:
            raise NodeError(
                self._top,
                f"the file is larger than {LARGEST // 1024} KiB",
                "pass a YAML configuration to `--config`",
            )
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise NodeError(self._top, "the file is UTF-16, not UTF-8", "save it as UTF-8")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise NodeError(
                self._at(line, 0),
                f"the file is not UTF-8: invalid byte 0x{data[error.start]:02x}",
                "save it as UTF-8",
            ) from None

    def _at(self, line: int, column: int, path: str = "") -> Node:
        top = self._top.mark
        text = ""
        if line <= len(self._lines):
            text = excerpt(self._lines[line - 1], column - self._margins[line - 1])
        return Node(None, Mark(top.file, top.folder, top.order, line, column, text), path)

    def read(self) -> Node:
        loader = None
        try:
            loader = CoreLoader(self._text)
            node = loader.get_single_node()
            if node is not None:
                root = self._item(node, node.start_mark, "", loader)
                if root.value not in (None, {}):
                    return root
            raise NodeError(self._top, "the file is empty", INIT_HINT)
        except yaml.reader.ReaderError as error:
            line = self._text.count("\n", 0, error.position) + 1
            raise NodeError(
                self._at(line, 0),
                f"the file contains a control character, U+{error.character:04X}",
                'write such characters as "\\x00" in double quotes',
            ) from None
        except yaml.MarkedYAMLError as error:
            raise self._malformed(error) from None
        finally:
            if loader is not None:
                loader.dispose()

    def _malformed(self, error: yaml.MarkedYAMLError) -> NodeError:
        mark = error.problem_mark or error.context_mark
        item = self._top if mark is None else self._at(mark.line + 1, mark.column)
        problem = error.problem or error.context or "unknown problem"
        for part, message, hint in _SYNTAX:
            if part in problem or part in (error.context or ""):
                return NodeError(item, message, hint)
        context = f" {error.context}" if error.context else ""
        return NodeError(
            item,
            f"invalid YAML{context}: {problem}",
            "check the indentation, and quote strings with special characters",
        )

    def _item(self, node: yaml.Node, mark: Any, path: str, loader: CoreLoader) -> Node:
        item = self._at(mark.line + 1, mark.column, path)
        if id(node) in self._above:
            raise NodeError(item, "recursive alias", "write the value instead of the alias")
        if id(node) in self._seen:
            self._expanded += 1
            if self._expanded > EXPANDED:
                raise NodeError(
                    item,
                    f"the aliases expand to more than {EXPANDED} values",
                    "use fewer aliases: one pattern can often replace a list",
                )
        _check_tag(node, item)
        self._seen.add(id(node))
        self._above.add(id(node))
        try:
            value = self._value(node, item, loader)
        finally:
            self._above.discard(id(node))
        return Node(value, item.mark, path)

    def _value(self, node: yaml.Node, item: Node, loader: CoreLoader) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, item, loader)
        if isinstance(node, yaml.SequenceNode):
            return [
                self._item(child, child.start_mark, below(item.path, i), loader)
                for i, child in enumerate(node.value)
            ]
        return self._scalar(node, item, loader)

    def _mapping(self, node: yaml.MappingNode, item: Node, loader: CoreLoader) -> dict[Any, Node]:
        entries: dict[Any, Node] = {}
        for key_node, value_node in node.value:
            mark = key_node.start_mark
            at = self._at(mark.line + 1, mark.column, item.path)
            if not isinstance(key_node, yaml.ScalarNode):
                raise NodeError(
                    at,
                    "a key must be a string, got a list or a mapping",
                    "write a string before the colon",
                )
            _check_tag(key_node, at)
            key: Hashable = self._scalar(key_node, at, loader)
            child = self._item(value_node, mark, below(item.path, key), loader)
            if key in entries:
                self._problems.add(
                    child,
                    f"duplicate key '{key}' (first on line {entries[key].mark.line})",
                    "remove one of them",
                )
            else:
                entries[key] = child
        return entries

    def _scalar(self, node: yaml.Node, item: Node, loader: CoreLoader) -> Any:
        try:
            return loader.construct_object(node)
        except yaml.constructor.ConstructorError as error:
            hint = error.note or "remove the tag"
            raise NodeError(item, error.problem or "invalid value", hint) from None


def _check_tag(node: yaml.Node, item: Node) -> None:
    """Refuse tags that are not in the core schema. Constructors check the tags of scalars."""
    if node.tag not in _TAGS or node.tag != _COLLECTIONS.get(type(node), node.tag):
        raise NodeError(item, f"unsupported tag {excerpt(node.tag)}", "remove the tag")

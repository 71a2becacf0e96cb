"""Reads a map of weights, which `hookcli diff --map` uses: a YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hookcli.comparison.ports.maps.weight_map import MapRow, parse_row
from hookcli.config.parse.document import LARGEST, read_document
from hookcli.config.parse.nodes import Node, NodeError, Problems
from hookcli.errors import RequestError
from hookcli.plain_files import read_bytes, reason_of
from hookcli.sentences import cannot_read

_HINT = "write `blocks.{i}.fc1: h.{i}.mlp.c_fc.T`, or a list to join tensors"


def read_weight_map(file: str) -> tuple[MapRow, ...]:
    """Return the lines of a map: what of A makes each tensor or module of B.

    Raises
    ------
    RequestError : it cannot be read, or a line is wrong.
    ProblemsError : several lines are wrong.
    """
    place = f"--map {file}"
    try:
        data = read_bytes(file, LARGEST)
    except OSError as error:
        raise RequestError(
            cannot_read(file, reason_of(file, error)),
            place=place,
            hint="write one with `hookcli diff A B --suggest-map FILE`",
        ) from None
    problems = Problems()
    rows: list[MapRow] = []
    with problems.catching():
        document = read_document(data, file, Path(file).absolute().parent, 0, problems)
        if not isinstance(document.value, dict):
            raise NodeError(document, "a map of weights must be a mapping", _HINT)
        for target, item in document.value.items():
            with problems.catching():
                rows.append(_row(target, item))
    problems.settle()
    if not rows:
        raise RequestError(f"{file} has no lines", place=place, hint=_HINT)
    return tuple(rows)


def _row(target: Any, item: Node) -> MapRow:
    """Return a line.

    Raises
    ------
    NodeError : a name is not a string.
    """
    items = item.value if isinstance(item.value, list) else [item]
    names = [one.value if isinstance(one, Node) else one for one in items]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise NodeError(item, f"{target} must be a name or a list of names of A", _HINT)
    return parse_row(str(target), names, item.place)

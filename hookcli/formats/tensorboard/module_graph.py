"""The graph of modules for TensorBoard: a node for each call, in scopes by qualified name.

A report does not tell which output goes to which input. The edges are the order of the calls: each
call of a module without calls below it follows the previous one.
"""

from __future__ import annotations

import re
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

from hookcli.formats.parts.text import leaves_full
from hookcli.report.report import LayerRow, Report
from hookcli.report.values import Leaf

_PRODUCER = 22  # the version of the graph format that TensorBoard's own writers give
_LARGEST = 2**63 - 1  # the largest size that the format can hold
_OTHER = re.compile(r"[^\w.-]")  # characters that mean something else in names of nodes


def module_graph(report: Report) -> Any:
    """Return the graph of the calls as a GraphDef."""
    parents = {row.parent for row in report.layers}
    graph = GraphDef(versions=VersionDef(producer=_PRODUCER))
    names: set[str] = set()
    before: str | None = None
    for row in report.layers:
        is_leaf = row.order not in parents
        name = _node_name(report, row, names)
        inputs = [before] if is_leaf and before is not None else []
        graph.node.append(
            NodeDef(name=name, op=_clean(row.type), input=inputs, attr=_attributes(row))
        )
        if is_leaf:
            before = name
    return graph


def _node_name(report: Report, row: LayerRow, names: set[str]) -> str:
    """Return a name that no other node has: the parts of the qualified name are its scopes."""
    root = _clean(report.model.type or "model")
    if row.name is None:
        parts = [root, f"_{_clean(row.type)}"]
    else:
        parts = [root, *(_clean(part) for part in row.name.split(".") if row.name)]
    base = "/".join(parts) + (f".call_{row.call}" if row.call else "")
    name, number = base, 1
    while name in names:
        name, number = f"{base}_{number}", number + 1
    names.add(name)
    return name


def _clean(text: str) -> str:
    return _OTHER.sub("_", text) or "_"


def _attributes(row: LayerRow) -> dict[str, Any]:
    texts = {
        "name": row.name or "",
        "type": row.type,
        "inputs": leaves_full(row.inputs, inputs=True),
        "outputs": leaves_full(row.outputs),
        "parameters": "" if row.own_parameters is None else str(row.own_parameters),
        "place": row.place or "",
    }
    attributes = {
        key: AttrValue(s=text.encode("utf-8", "backslashreplace"))
        for key, text in texts.items()
        if text
    }
    if row.outputs:
        shapes = [_shape(leaf) for leaf in row.outputs]
        attributes["_output_shapes"] = AttrValue(list=AttrValue.ListValue(shape=shapes))
    return attributes


def _shape(leaf: Leaf) -> Any:
    """Return the shape of a tensor; a dimension without a fixed size is -1."""
    sizes = [-1 if size is None else min(size, _LARGEST) for size in leaf.shape]
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])

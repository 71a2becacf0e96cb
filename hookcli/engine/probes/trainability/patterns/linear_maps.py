"""Linear layers with nothing in between, and models that compute one linear map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch

from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.probes.trainability.loss_graph import (
    SAME_VALUES,
    Node,
    nodes_behind,
    place_of,
    shape_of_node,
)
from hookcli.engine.probes.trainability.patterns.softmax_graph import LINEAR, VIEWS
from hookcli.models.model import Call

# CUDA and ROCm have kernels of their own.
BATCH_NORMS = {"NativeBatchNormBackward0", "CudnnBatchNormBackward0", "MiopenBatchNormBackward0"}
_LONGEST = 20  # nodes of a path
_MOST_NODES = 10_000
_CONVOLUTION = "ConvolutionBackward0"
# Operators of a model that computes one linear map, beside its layers.
_OF_LINEAR_MAPS = SAME_VALUES | VIEWS | {
    f"{name}Backward0"
    for name in ("Add", "Sub", "Mean", "Sum", "AvgPool2D", "AdaptiveAvgPool2D", "ConstantPadNd",
                 "Cat", "Embedding", "Split", "Unbind")
} | {"MeanBackward1", "SumBackward1", "torch::autograd::AccumulateGrad"}  # fmt: skip
_PRODUCTS = {"MulBackward0", "MmBackward0", "BmmBackward0", "DotBackward0", "MvBackward0"}
_DIV = "DivBackward0"


def chains(
    nodes: list[Node], users: dict[Node, list[Node]], owners: NodeOwners, calls: dict[int, Call]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield each nn.Linear that only another nn.Linear feeds, if that is no bottleneck.

    Yield the last of three or more, too, if batch norms and dropout are in between, but nothing
    else is. In eval mode, these are linear as well.
    """
    feeds: dict[Node, Node] = {}  # the linear layer before each, also through batch norms
    for node in nodes:
        if node.name() not in LINEAR:
            continue
        behind = node.next_functions[LINEAR[node.name()][0]][0]
        direct = True
        while behind is not None and len(users[behind]) == 1 and behind.name() not in LINEAR:
            if behind.name() not in VIEWS:
                if not _is_linear_in_eval(behind, owners, calls):
                    break
                direct = False
            behind = behind.next_functions[0][0]
        if behind is None or behind.name() not in LINEAR or len(users[behind]) != 1:
            continue
        first, second = (_weight(one) for one in (behind, node))
        kinds = [place_of(one, owners, calls) for one in (behind, node)]
        if first is None or second is None or any(kind[2][0] != "Linear" for kind in kinds):
            continue
        hidden, narrow = first.shape[0], min(first.shape[1], second.shape[0])
        if hidden >= narrow and second.shape[1] == hidden and first is not second:
            feeds[node] = behind
            if direct:
                yield node, {"first": kinds[0][0], "hidden": hidden}
    for node in feeds.keys() - feeds.values():
        row = [node]
        while row[-1] in feeds:
            row.append(feeds[row[-1]])
        if len(row) > 2:
            name, width = place_of(row[-1], owners, calls)[0], shape_of_node(row[-1])
            yield node, {"first": name, "hidden": (width or (0,))[-1], "layers": len(row)}


def convolutions_in_a_row(
    nodes: list[Node], users: dict[Node, list[Node]], owners: NodeOwners, calls: dict[int, Call]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield the last of three or more nn.Conv1d, 2d or 3d with nothing at all in between.

    Those with groups, or a kernel of one position, are parts of a factorization.
    """
    feeds: dict[Node, Node] = {}
    for node in nodes:
        behind = node.next_functions[0][0] if node.name() == _CONVOLUTION else None
        while behind is not None and len(users[behind]) == 1 and behind.name() in VIEWS:
            behind = behind.next_functions[0][0]
        if behind is None or behind.name() != _CONVOLUTION or len(users[behind]) != 1:
            continue
        weights = [weight_of(node), weight_of(behind)]
        wide = all(one is not None and min(one.shape[2:], default=0) > 1 for one in weights)
        whole = node._saved_groups == behind._saved_groups == 1
        if wide and whole and weights[0] is not weights[1]:
            feeds[node] = behind
    for node in feeds.keys() - feeds.values():
        row = [node]
        while row[-1] in feeds:
            row.append(feeds[row[-1]])
        kinds = [place_of(one, owners, calls) for one in row]
        if len(row) > 2 and all((kind[2][0] or "").startswith("Conv") for kind in kinds):
            width = shape_of_node(row[-1])
            yield node, {
                "first": kinds[-1][0], "hidden": (width or (0, 0))[1], "layers": len(row),
                "convolutions": True,
            }  # fmt: skip


def linear_model(start: torch.Tensor) -> tuple[list[Node], int] | None:
    """Return the layers of a model that computes one linear map, the last one first.

    With them, return the largest width between them. None if anything else than a linear map is in
    front of a layer; operators behind all layers may be of the loss. One width must be none that a
    bottleneck limits, as that of a linear autoencoder does.
    """
    layers = [node for node in _reached([start.grad_fn], _behind_no_layer) if _is_layer(node)]
    behind = [node.next_functions[input_of(node)][0] for node in layers]
    known = set(layers)
    for count, node in enumerate(_reached(behind, _behind_input)):
        if count >= _MOST_NODES or not (_is_layer(node) or _is_linear(node)):
            return None  # or too many nodes to look at all of them
        if node not in known and _is_layer(node):
            known.add(node)
            layers.append(node)
    chain = _chain_of(layers)
    weights = {id(one): one for node in chain if (one := weight_of(node)) is not None}
    shapes = [tuple(one.shape) for one in weights.values()]
    if len(shapes) < 2:
        return None
    narrow = min(shapes[-1][1], shapes[0][0])  # the first layer is the farthest from the loss
    widths = [shape[0] for shape in shapes[1:] if shape[0] >= narrow]
    return (chain, max(widths)) if widths else None


def _reached(nodes: list[Node], behind: Callable[[Node], list[Node]]) -> Iterator[Node]:
    """Yield nodes and those behind them, each once."""
    todo = [node for node in nodes if node is not None]
    seen = set(todo)
    for node in todo:  # grows meanwhile
        yield node
        for other in behind(node) if len(todo) <= _MOST_NODES else ():
            if other is not None and other not in seen:
                seen.add(other)
                todo.append(other)


def _behind_no_layer(node: Node) -> list[Node]:
    return [] if _is_layer(node) else [behind for behind, _ in node.next_functions]


def _behind_input(node: Node) -> list[Node]:
    """Return the nodes behind a node; of a layer, that of its input and not that of its weight."""
    given = node.next_functions
    return [given[input_of(node)][0]] if _is_layer(node) else [behind for behind, _ in given]


def _is_layer(node: Node) -> bool:
    is_product = node.name() in LINEAR or node.name() == _CONVOLUTION
    return is_product and weight_of(node) is not None


def _is_linear(node: Node) -> bool:
    """Return whether a node computes a linear map of what has a gradient."""
    if node.name() in _OF_LINEAR_MAPS:
        return True
    graded = [behind is not None for behind, _ in node.next_functions]
    return (node.name() in _PRODUCTS and sum(graded) == 1) or (
        node.name() == _DIV and not any(graded[1:])
    )


def _chain_of(layers: list[Node]) -> list[Node]:
    """Return layers each of which gets the result of the next one, from the last layer on.

    Of the calls of one layer, as in each step of a sequence, only the first is there.
    """
    known, chain = set(layers), layers[:1]
    for layer in chain:  # grows meanwhile
        todo = [layer.next_functions[input_of(layer)][0]]
        for node in todo:  # grows meanwhile
            if node in known:
                chain += [node] if node not in chain else []
                break
            if node is not None and len(todo) < _LONGEST * _LONGEST:
                todo += [behind for behind, _ in node.next_functions]
    return chain


def input_of(layer: Node) -> int:
    """Return which argument of a linear layer or a convolution is its input."""
    return LINEAR[layer.name()][0] if layer.name() in LINEAR else 0


def weight_of(node: Node) -> torch.Tensor | None:
    """Return the trainable weight of a linear layer or a convolution."""
    if node.name() in LINEAR:
        return _weight(node)
    variable = getattr(node.next_functions[1][0], "variable", None)
    return variable if isinstance(variable, torch.Tensor) else None


def linear_pairs(start: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield the weights of two linear layers with nothing in between, if that is no bottleneck."""
    nodes = list(nodes_behind(start))
    users = Counter(behind for node in nodes for behind, _ in node.next_functions if behind)
    for node in nodes:
        if node.name() not in LINEAR:
            continue
        behind = node.next_functions[LINEAR[node.name()][0]][0]
        while behind is not None and users[behind] == 1 and behind.name() in VIEWS:
            behind = behind.next_functions[0][0]
        if behind is None or behind.name() not in LINEAR or users[behind] != 1:
            continue
        first, second = _weight(behind), _weight(node)
        if first is None or second is None or first is second or second.shape[1] != len(first):
            continue
        if len(first) >= min(first.shape[1], len(second)):
            yield first, second


def _is_linear_in_eval(node: Node, owners: NodeOwners, calls: dict[int, Call]) -> bool:
    """Return whether a node is of a batch norm or of a dropout layer of torch."""
    kind = place_of(node, owners, calls)[2][0] or ""
    if node.name() in BATCH_NORMS:
        return kind == "BatchNorm1d"
    return kind == "Dropout" and node.name() in {"MulBackward0", "NativeDropoutBackward0"}


def _weight(node: Node) -> torch.Tensor | None:
    """Return the trainable weight of a linear layer."""
    behind = node.next_functions[LINEAR[node.name()][1]][0]
    while behind is not None and behind.name() in {"TBackward0", "TransposeBackward0"}:
        behind = behind.next_functions[0][0]
    variable = getattr(behind, "variable", None)
    return variable if variable is not None and variable.dim() == 2 else None

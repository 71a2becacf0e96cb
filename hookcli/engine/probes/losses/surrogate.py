"""The clipped surrogate of a policy gradient: whether it is the smaller one of two objectives."""

from __future__ import annotations

from typing import Any

import torch

from hookcli.engine.probes.trainability.loss_graph import SAME_VALUES, Node

_PICKS = {"MinimumBackward0": "min", "MaximumBackward0": "max"}
_CLAMPS = {"ClampBackward0", "ClampBackward1", "ClampMinBackward0", "ClampMaxBackward0"}
_KEEPS = SAME_VALUES | {
    "MeanBackward0", "MeanBackward1", "SumBackward0", "SumBackward1", "AddBackward0",
    "DivBackward0",
}  # fmt: skip
_LONGEST = 200  # nodes between the loss and the surrogate


def surrogate(start: torch.Tensor) -> tuple[str, dict[str, Any]] | None:
    """Return that a loss picks the wrong one of a ratio and a clipped ratio times an advantage.

    The objective is the smaller one, and the loss minus it: so the loss is minus a minimum of
    objectives, or a maximum of losses.
    """
    todo: list[tuple[Node | None, int]] = [(start.grad_fn, 1)]
    for node, sign in todo:  # grows meanwhile
        if node is None or len(todo) > _LONGEST:
            continue
        name = node.name()
        following = [behind for behind, _ in node.next_functions]
        if name in _PICKS and len(following) == 2:
            inner = _sign_of_surrogate(*following)
            if inner is not None:
                is_right = sign == (-1 if name == "MinimumBackward0" else 1)
                if is_right or sign == inner:  # another sign of the whole may be meant
                    return None
                return "surrogate", {"pick": _PICKS[name], "loss": inner < 0}
        elif name == "NegBackward0":
            todo += [(behind, -sign) for behind in following]
        elif name == "SubBackward0":
            todo += zip(following, (sign, -sign), strict=False)
        elif name == "MulBackward0":
            number = _number_of(node)
            if number:
                todo += [(behind, sign if number > 0 else -sign) for behind in following]
        elif name in _KEEPS:
            todo += [(behind, sign) for behind in following]
    return None


def _sign_of_surrogate(first: Node | None, second: Node | None) -> int | None:
    """Return the sign with which a ratio and the same ratio, clipped, are multiplied; else None."""
    found = [_factor_of(one) for one in (first, second)]
    (ours, one), (theirs, two) = found
    if ours is None or theirs is None or one != two:
        return None
    if theirs.name() not in _CLAMPS:
        ours, theirs = theirs, ours
    if theirs.name() not in _CLAMPS or ours.name() in _CLAMPS:
        return None
    return one if theirs.next_functions[0][0] is ours else None


def _factor_of(node: Node | None) -> tuple[Node | None, int]:
    """Return the node that an advantage is multiplied with, and the sign of the product."""
    sign = 1
    while node is not None and (node.name() in {"NegBackward0", "MulBackward0", *SAME_VALUES}):
        sign = -sign if node.name() == "NegBackward0" else sign
        graded = [behind for behind, _ in node.next_functions if behind is not None]
        node = graded[0] if len(graded) == 1 else None
    return node, sign


def _number_of(product: Node) -> float | None:
    """Return the number that a tensor is multiplied by; None if it is not one number."""
    graded = [behind for behind, _ in product.next_functions if behind is not None]
    if len(graded) != 1:
        return None
    other = product._saved_other if product.next_functions[0][0] else product._saved_self
    return float(other) if isinstance(other, torch.Tensor) and other.numel() == 1 else None

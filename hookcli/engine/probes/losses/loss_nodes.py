"""What the loss functions in the graph of a loss get, and whether that is what they are made for.

Each function looks at one node of autograd, and returns the name of what it has found, with values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from hookcli.engine.probes.function_calls import Finding
from hookcli.engine.probes.trainability.loss_graph import SAME_VALUES, Node, nodes_behind, signed
from hookcli.refusals import raise_if_external

_MOST = 1 << 20  # elements of a tensor that is read
_SMALLEST = 16  # elements of a mask
_MASKED = 0.5  # of the elements that a mean counts
_NEAR = 0.15  # of a probability: a share of samples
_OUTSIDE = 0.2  # of the targets
_FEW_FAR, _TIMES_RANGE = 0.01, 10.0  # of the targets, if some are as many ranges away
_MARGIN = 0.05  # of the range of an activation
_CLASSES = 5
_CLOSE = 1e-3
_DEEP = 8  # nodes behind a target
_APART, _MOSTLY = 0.1, 0.9  # of sums of probabilities from 1, and for how many rows

# Activations at the end of a model, with their least and largest values.
_RANGES = {
    "SigmoidBackward0": ("a sigmoid", 0.0, 1.0),
    "SoftmaxBackward0": ("a softmax", 0.0, 1.0),
    "TanhBackward0": ("a tanh", -1.0, 1.0),
    "ReluBackward0": ("a ReLU", 0.0, math.inf),
    "SoftplusBackward0": ("a softplus", 0.0, math.inf),
}
_RELU = "ReluBackward0"


def _behind(node: Node | None, argument: int = 0) -> Node | None:
    """Return the node that computed an argument, before changes of shape and dtype."""
    following = () if node is None else node.next_functions
    found = following[argument][0] if argument < len(following) else None
    while found is not None and found.name() in SAME_VALUES:
        found = found.next_functions[0][0]
    return found


def regression(node: Node) -> Finding:
    """Return that targets are outside of what the model's last activation can give."""
    made = _behind(node)
    if made is None or made.name() not in _RANGES:
        return None
    target = node._saved_target
    if not 0 < target.numel() <= _MOST:
        return None
    what, low, high = _RANGES[made.name()]
    margin = _MARGIN * (high - low if math.isfinite(high) else 1.0)
    values = target.detach().float()
    outside = (values < low - margin) | (values > high + margin)
    share = float(outside.float().mean())
    far = high + _TIMES_RANGE * (high - low) if math.isfinite(high) else math.inf
    if share < (_OUTSIDE if float(values.max()) < far else _FEW_FAR):
        return None
    found = {"what": what, "low": float(values.min()), "high": float(values.max()), "share": share}
    return "regression", found


def squared_shares(node: Node) -> Finding:
    """Return that mse_loss compares a softmax with labels that are one-hot."""
    made = _behind(node)
    target = node._saved_target
    if made is None or made.name() != "SoftmaxBackward0" or not 1 < target.numel() <= _MOST:
        return None
    values = target.detach()
    is_one_hot = ((values == 0) | (values == 1)).all() & (values.sum(-1) == 1).all()
    if target.dim() != 2 or target.shape != node._saved_self.shape or not bool(is_one_hot):
        return None
    return "squared_shares", {"classes": int(target.shape[1])}


def masked_mean(node: Node) -> Finding:
    """Return that most of what a mean counts is set to zero by a mask of zeros and ones."""
    product = node.next_functions[0][0] if node.next_functions else None
    if product is None or product.name() != "MulBackward0":
        return None
    for mask in (product._saved_other, product._saved_self):
        if not isinstance(mask, torch.Tensor) or not _SMALLEST <= mask.numel() <= _MOST:
            continue
        zeros, ones = (float((mask == value).float().mean()) for value in (0, 1))
        if zeros + ones == 1 and _MASKED <= zeros < 1:
            return "masked_mean", {"share": zeros}
    return None


def single_norm(node: Node) -> Finding:
    """Return that a norm is over dimensions of size 1 alone, and so the absolute value."""
    shape, dims = node._saved_self.shape, node._saved_dim
    if not dims or len(shape) < 2 or node._saved_self.numel() <= shape[0]:
        return None
    # torch saves dimensions as unsigned numbers.
    own = [dim - 2**64 if dim >= 2**63 else dim for dim in dims]
    if any(shape[dim] != 1 for dim in own):
        return None
    return "single_norm", {"shape": [*shape], "dims": own}


def target_scale(start: torch.Tensor) -> dict[str, float] | None:
    """Return the mean absolute value of the targets and outputs that a loss compares, if known."""
    for node in nodes_behind(start):
        if node.name() not in _COMPARES:
            continue
        try:
            target, output = node._saved_target, node._saved_self
        except RuntimeError as error:  # what it saved was changed in place
            raise_if_external(error)
            continue
        if 0 < target.numel() <= _MOST and 0 < output.numel() <= _MOST:
            means = [float(one.detach().float().abs().mean()) for one in (target, output)]
            known = all(map(math.isfinite, means))
            return dict(zip(("target", "output"), means, strict=True)) if known else None
    return None


def clipped_logits(node: Node) -> Finding:
    """Return that logits are the result of ReLU: no class is ever unlikely."""
    made = _behind(node)
    if made is not None and made.name() == "LogSoftmaxBackward0":
        made = _behind(made)
    binary = "BinaryCrossEntropyWithLogits" in node.name()
    if made is not None and made.name() == "SigmoidBackward0" and not binary:
        classes = int(node._saved_self.shape[1 if node._saved_self.dim() > 1 else 0])
        return "sigmoid", {"least": math.log(1 + (classes - 1) * math.exp(-1))}
    if made is None or made.name() != "ReluBackward0":
        return None
    return "relu", {"loss": "binary_cross_entropy_with_logits" if binary else "cross_entropy"}


def probabilities(node: Node) -> Finding:
    """Return that binary_cross_entropy gets the result of a ReLU, or of a softmax over classes."""
    made = _behind(node)
    if made is None:
        return None
    if made.name() == "SigmoidBackward0" and (inner := _behind(made)) is not None:
        return ("relu_probability", {"inner": "sigmoid"}) if inner.name() == _RELU else None
    if made.name() == _RELU:
        return "relu_probability", {"inner": ""}
    result = made._saved_result if made.name() == "SoftmaxBackward0" else None
    if result is None or signed(made._saved_dim) % result.dim() != result.dim() - 1:
        return None
    target = node._saved_target.detach()
    if target.shape != result.shape or result.shape[-1] < 2 or target.numel() > _MOST:
        return None
    sums = target.float().sum(-1)
    return "softmax_binary", {
        "classes": int(result.shape[-1]), "exclusive": bool(((sums - 1).abs() < _CLOSE).all()),
    }  # fmt: skip


def dropped(node: Node) -> Finding:
    """Return that dropout comes between the model's last layer and a loss: it drops outputs."""
    made = _behind(node)
    if made is not None and made.name() == "LogSoftmaxBackward0":
        made = _behind(made)
    if made is None:
        return None
    if made.name() == "NativeDropoutBackward0":
        return "dropped", {"p": float(made._saved_p)}
    mask = made._saved_other if made.name() == "MulBackward0" else None
    graded = [one for one, _ in made.next_functions if one is not None]
    if mask is None or len(graded) != 1 or not _SMALLEST <= mask.numel() <= _MOST:
        return None
    values = mask.detach().unique().tolist() if mask.is_floating_point() else []
    if len(values) != 2 or values[0] != 0 or values[1] <= 1:
        return None
    p = 1 - 1 / values[1]  # the others are divided by 1 - p
    share = float((mask == 0).float().mean())
    return ("dropped", {"p": p}) if abs(share - p) < _NEAR else None


def are_bits(target: torch.Tensor) -> bool:
    """Return whether targets are zeros and ones, both of them."""
    if not 2 <= target.numel() <= _MOST or target.is_meta:
        return False
    zeros = int((target == 0).sum())
    return 0 < zeros < target.numel() and zeros + int((target == 1).sum()) == target.numel()


def one_class(node: Node) -> Finding:
    """Return that there is one class, so that the loss is 0 whatever the model gives."""
    logs = node._saved_self
    return ("one_class", {}) if logs.dim() > 1 and logs.shape[1] == 1 else None


def one_share(node: Node) -> Finding:
    """Return that the logarithm of a softmax is over one class, outside of nll_loss."""
    result = node._saved_result
    dim = signed(node._saved_dim)
    return ("one_class", {}) if result.dim() > 1 and result.shape[dim] == 1 else None


def cosines(node: Node) -> Finding:
    """Return that logits are cosines, between -1 and 1: the softmax of many stays flat."""
    logs = _behind(node)
    if logs is None or logs.name() != "LogSoftmaxBackward0":
        return None
    made = _behind(logs)
    while made is not None and made.name() in ("MaskedFillBackward0", "ToCopyBackward0"):
        made = _behind(made)
    result = logs._saved_result
    classes = int(result.shape[logs._saved_dim if logs._saved_dim < result.dim() else -1])
    if made is None or classes < _CLASSES or not _are_cosines(made):
        return None
    least = math.log(1 + (classes - 1) * math.exp(-2))
    return "cosines", {"classes": classes, "least": least}


def _are_cosines(node: Node) -> bool:
    if node.name() not in ("MmBackward0", "BmmBackward0"):
        return False
    first, second = node._saved_self, node._saved_mat2
    sides = [(first, -1), (second, -2)]
    known = [(side, dim) for side, dim in sides if side is not None and side.numel() <= _MOST]
    if not known:
        return False
    for side, dim in known:
        norms = side.detach().float().norm(dim=dim)
        if side.shape[dim] < 2 or not bool(((norms - 1).abs() < _CLOSE).all()):
            return False
    return len(known) == 2 or _is_normalized(node)


def _is_normalized(node: Node) -> bool:
    """Return whether both factors of a product are quotients, as of F.normalize."""
    made = [_behind(node, 0), _behind(node, 1)]
    return all(one is None or one.name() == "DivBackward0" for one in made)


def swapped(node: Node) -> Finding:
    """Return that the prediction is given as the target, and the label as the prediction."""
    given = [behind for behind, _ in node.next_functions]
    if len(given) < 2 or given[0] is not None or given[1] is None:
        return None
    name = "with_logits" if "WithLogits" in node.name() else ""
    return "swapped", {"loss": f"binary_cross_entropy{'_' if name else ''}{name}"}


_PICKS = {
    "MaxBackward0", "MaxBackward1", "AmaxBackward0", "MinimumBackward0", "GatherBackward0",
    "MinBackward0", "MinBackward1", "AminBackward0",
}  # fmt: skip


def bootstrapped(node: Node) -> Finding:
    """Return that the target of a loss is a reward plus a value of the model, with a gradient."""
    target = node.next_functions[1][0] if len(node.next_functions) > 1 else None
    while target is not None and target.name() in SAME_VALUES:
        target = target.next_functions[0][0]
    if target is None or target.name() != "AddBackward0":
        return None
    sides = [behind for behind, _ in target.next_functions]
    if len([one for one in sides if one is not None]) != 1:
        return None
    current, factor = next(one for one in sides if one is not None), False
    for _ in range(_DEEP):
        if current.name() in _PICKS:
            return ("bootstrapped", {}) if factor else None
        factor = factor or current.name() == "MulBackward0"
        graded = [one for one, _ in current.next_functions if one is not None]
        if len(graded) != 1:
            return None
        current = graded[0]
    return None


def compares_two_outputs(start: torch.Tensor) -> bool:
    """Return whether a loss of a regression has a gradient for its target too."""
    for node in nodes_behind(start):
        if node.name() in _COMPARES:
            sides = [behind for behind, _ in node.next_functions]
            return len(sides) > 1 and None not in sides[:2]
    return False


# From the probabilities of a policy or a class to what is picked of them.
_ONWARDS = SAME_VALUES | {"LogBackward0", "AddBackward0", "ClampBackward1", "ClampMinBackward0"}
_PICKED = {"GatherBackward0", "IndexBackward0", "NllLossBackward0", "LogSoftmaxBackward0"}


def over_samples(nodes: Sequence[Node]) -> Finding:
    """Return that a softmax is over dimension 0, and one of its classes is picked for each row.

    Shares over a set, as of a pooling, are multiplied with its elements instead.
    """
    softmaxes = [one for one in nodes if one.name() in ("SoftmaxBackward0", "LogSoftmaxBackward0")]
    users: dict[Node, list[Node]] = {}
    for node in nodes if softmaxes else ():
        for before, _ in node.next_functions:
            if before is not None:
                users.setdefault(before, []).append(node)
    for node in softmaxes:
        result = node._saved_result
        if result.dim() != 2 or signed(node._saved_dim) % 2 or min(result.shape) < 2:
            continue
        after = users.get(node, [])
        while len(after) == 1 and after[0].name() in _ONWARDS - _PICKED:
            after = users.get(after[0], [])
        if any(one.name() in _PICKED for one in after):
            return "over_samples", {"shape": [*result.shape]}
    return None


def negated(start: torch.Tensor) -> Finding:
    """Return that the whole loss is a loss function of PyTorch with a minus sign."""
    node, sign = start.grad_fn, 1
    while node is not None and (node.name() in SAME_VALUES or node.name() in _SCALES):
        sign = -sign if node.name() == "NegBackward0" else sign
        graded = [one for one, _ in node.next_functions if one is not None]
        node = graded[0] if len(graded) == 1 else None
    if node is None or sign > 0 or node.name() not in _NAMES:
        return None
    return "negated", {"loss": _NAMES[node.name()]}


_SCALES = {"NegBackward0", "MeanBackward0", "SumBackward0", "DivBackward0"}
_NAMES = {
    "NllLossBackward0": "cross_entropy",
    "NllLoss2DBackward0": "cross_entropy",
    "MseLossBackward0": "mse_loss",
    "SmoothL1LossBackward0": "smooth_l1_loss",
    "HuberLossBackward0": "huber_loss",
    "BinaryCrossEntropyWithLogitsBackward0": "binary_cross_entropy_with_logits",
    "BinaryCrossEntropyBackward0": "binary_cross_entropy",
}


def _sums_that_are_not_one(logs: torch.Tensor, dim: int) -> dict[str, float] | None:
    """Return the range of the sums of probabilities, if most of them are not 1."""
    sums = logs.float().exp().sum(dim)
    if float(((sums - 1).abs() > _APART).float().mean()) < _MOSTLY:
        return None
    return {"low": float(sums.min()), "high": float(sums.max())}


def ctc(node: Node) -> Finding:
    """Return that CTC gets no log-probabilities, or how many of its labels are the blank."""
    logs = node._saved_log_probs.detach()
    sums = _sums_that_are_not_one(logs, -1) if 0 < logs.numel() <= _MOST else None
    if sums is not None:
        return "ctc_input", sums
    targets, lengths, blank = node._saved_targets, node._saved_target_lengths, node._saved_blank
    sizes = torch.as_tensor(lengths).flatten().tolist()
    if targets.dim() == 2:
        targets = torch.cat([row[:size] for row, size in zip(targets, sizes, strict=True)])
    count = int((targets == blank).sum())
    return ("ctc_loss", {"blank": int(blank), "labels": count}) if count else None


def binary(node: Node) -> Finding:
    """Return the range of the targets of a binary cross entropy, if it is not in 0 to 1."""
    target = node._saved_target
    if not target.numel():
        return None
    low, high = float(target.min()), float(target.max())
    if low >= 0 and high <= 1:
        return None
    if node._saved_reduction == 0:  # one value outside may mark elements that a mask leaves out
        outside = target[(target < 0) | (target > 1)]
        if bool((outside == outside[0]).all()):
            return None
    return "binary_cross_entropy_with_logits", {"low": low, "high": high}


def nll(node: Node) -> Finding:
    """Return that nll_loss gets no log-probabilities: these add up to 1 over the classes."""
    logs = node._saved_self.detach()
    behind = node.next_functions[0][0]
    if not 0 < logs.numel() <= _MOST or logs.dim() < 2:
        return None
    if behind is not None and behind.name() == "SoftmaxBackward0":  # double_softmax tells it
        return None
    sums = _sums_that_are_not_one(logs, 1)
    if sums is None:
        return None
    found: dict[str, Any] = {**sums, "over": None}
    if behind is not None and behind.name() == "LogSoftmaxBackward0":
        found["over"] = signed(int(behind._saved_dim))
    return "nll_loss", found


def unreachable(node: Node) -> Finding:
    """Return that a random function has no gradient for what it draws from."""
    given = [one for one, _ in node.next_functions if one is not None]
    return ("no_derivative", {"function": _RANDOM[node.name()]}) if given else None


# Random functions of torch whose derivative is zero.
_RANDOM = {
    **{f"NormalBackward{number}": "torch.normal" for number in range(4)},
    **{f"BernoulliBackward{number}": "torch.bernoulli" for number in range(3)},
    "PoissonBackward0": "torch.poisson",
}
_COMPARES = {"MseLossBackward0", "SmoothL1LossBackward0", "HuberLossBackward0"}
_REGRESSION = (regression, bootstrapped, dropped)
LOOKS: dict[str, tuple[Callable[[Node], Finding], ...]] = {
    "MeanBackward0": (masked_mean,),
    "LinalgVectorNormBackward0": (single_norm,),
    "MseLossBackward0": (*_REGRESSION, squared_shares),
    "SmoothL1LossBackward0": _REGRESSION,
    "HuberLossBackward0": _REGRESSION,
    "NllLossBackward0": (nll, clipped_logits, cosines, one_class, dropped),
    "NllLoss2DBackward0": (nll, clipped_logits, cosines, one_class, dropped),
    "CtcLossBackward0": (ctc,),
    "LogSoftmaxBackward0": (one_share,),
    "BinaryCrossEntropyWithLogitsBackward0": (binary, clipped_logits, swapped, dropped),
    "BinaryCrossEntropyBackward0": (swapped, probabilities),
    **dict.fromkeys(_RANDOM, (unreachable,)),
}


def findings(nodes: Iterable[Node]) -> Iterator[tuple[Node, str, dict[str, Any]]]:
    """Yield what the looks at nodes have found, with the nodes."""
    for node in nodes:
        for look in LOOKS.get(node.name(), ()):
            try:
                found = look(node)
            except RuntimeError as error:  # what it saved was changed in place
                raise_if_external(error)
                continue
            if found is not None:
                yield node, *found

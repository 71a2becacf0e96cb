"""What loss functions are called with, and whether that is what they are made for.

Each function looks at the arguments of one call, by their names, and returns the name of what it
has found, with values. Losses that have a node of autograd of their own are looked at there, in
loss_nodes.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any, TypeAlias

import torch

from hookcli.engine.probes.function_calls import Arguments, Finding, by_code
from hookcli.engine.probes.losses.loss_nodes import are_bits
from hookcli.engine.probes.trainability.loss_graph import SAME_VALUES

Look: TypeAlias = Callable[[Arguments], Finding]

_MOST = 1 << 20  # elements of a tensor that is read
_APART, _MOSTLY = 1e-2, 0.9  # of sums of probabilities from 1, and of how many rows
_SEVERAL = 0.1  # of the samples that have several classes
_SMOOTHED = 0.9  # of the targets
_UNWEIGHTED = 0.5  # of the targets
_MOST_CLASSES, _FEWEST = 64, 8  # targets for each class
_TWICE = 1.5  # how far weights must be apart
_JOINS = SAME_VALUES | {"CatBackward0", "StackBackward0", "RsubBackward1"}
_LONGEST = 50  # nodes
_RARE = 0.35  # the share of positives
_LOG_RATES = {  # activations at the end of a model that returns rates
    "ExpBackward0": "exp", "SoftplusBackward0": "softplus", "ReluBackward0": "ReLU",
    "SigmoidBackward0": "sigmoid",
}  # fmt: skip
_SHARES = {"SoftmaxBackward0": "softmax", "SigmoidBackward0": "sigmoid"}


def maker(tensor: Any) -> str:
    """Return the name of the node that computed a tensor, before changes of shape and dtype."""
    node = tensor.grad_fn if isinstance(tensor, torch.Tensor) else None
    while node is not None and node.name() in SAME_VALUES:
        node = node.next_functions[0][0]
    return "" if node is None else str(node.name())


def readable(value: Any) -> torch.Tensor | None:
    """Return the values of a tensor of real numbers, if they are few enough to be read."""
    if not isinstance(value, torch.Tensor) or not 0 < value.numel() <= _MOST or value.is_meta:
        return None
    if value.layout is not torch.strided or value.is_nested or value.is_complex():
        return None
    return value.detach()


def dimensions_of_shares(values: torch.Tensor) -> set[int]:
    """Return the dimensions along which values add up to 1, if none is negative."""
    if bool((values < 0).any()):
        return set()
    sizes = enumerate(values.shape)
    return {dim for dim, size in sizes if size > 1 and _add_up_to_one(values.sum(dim))}


def _add_up_to_one(sums: torch.Tensor) -> bool:
    """Return whether most sums are 1; those of rows that a mask has set to 0 do not count."""
    counted = sums[sums != 0]
    return bool(counted.numel()) and float(_is_one(counted).float().mean()) >= _MOSTLY


def _is_one(sums: torch.Tensor) -> torch.Tensor:
    return (sums - 1).abs() < _APART


def soft_targets(given: Arguments) -> Finding:
    """Return that cross_entropy gets targets for all classes that do not add up to 1."""
    target, logits = readable(given["target"]), given["input"]
    if target is None or not target.is_floating_point() or target.shape != logits.shape:
        return None
    sums = target.float().sum(1 if target.dim() > 1 else 0)
    bits = are_bits(target)
    wrong = sums > 1 if bits else ~_is_one(sums) & (sums != 0)
    if float(wrong.float().mean()) < (_SEVERAL if bits else _MOSTLY):
        return None
    found = {
        "low": float(sums.min()), "high": float(sums.max()), "bits": bits,
        "negative": bool((target < 0).any()),
    }  # fmt: skip
    return "soft_targets", found


def smoothing(given: Arguments) -> Finding:
    """Return that labels are smoothed until hardly anything of them is left."""
    share = given["label_smoothing"]
    return ("smoothing", {"share": float(share)}) if share >= _SMOOTHED else None


def weights(given: Arguments) -> Finding:
    """Return that most targets are of classes whose weight is 0."""
    weight, target = readable(given["weight"]), readable(given["target"])
    if weight is None or target is None or target.is_floating_point():
        return None
    known = target[(target >= 0) & (target < len(weight))]
    share = float((weight[known] == 0).float().mean()) if known.numel() else 0.0
    if share <= _UNWEIGHTED:
        return None
    return "weights", {"share": share, "zero": int((weight == 0).sum()), "classes": len(weight)}


def counted_weights(given: Arguments) -> Finding:
    """Return that the weights of classes are larger for those that are more frequent.

    The batch has each class, in the order of their weights, and the most frequent one twice as
    often as the rarest.
    """
    weight, target = readable(given["weight"]), readable(given["target"])
    if weight is None or target is None or target.is_floating_point() or weight.dim() != 1:
        return None
    labels = target.flatten()
    labels = labels[(labels >= 0) & (labels < len(weight))]
    if not 1 < len(weight) <= _MOST_CLASSES or len(labels) < _FEWEST * len(weight):
        return None
    counts = torch.bincount(labels, minlength=len(weight)).float()
    if float(counts.min()) < 1 or float(counts.max()) < 2 * float(counts.min()):
        return None
    order = weight.float().argsort()
    rises = bool((counts[order].diff() >= 0).all())
    if not rises or float(weight.max()) < _TWICE * float(weight.min()):
        return None
    largest = int(order[-1])
    share = float(counts[largest] / counts.sum())
    return "counted_weights", {
        "class": largest, "weight": float(weight[largest]), "share": share,
        "least": float(weight.min()),
    }  # fmt: skip


def lowered_positives(given: Arguments) -> Finding:
    """Return that pos_weight is below 1, although there are fewer positives than negatives."""
    weight, target = readable(given["pos_weight"]), readable(given["target"])
    if weight is None or target is None or weight.numel() != 1 or target.numel() < 2 * _FEWEST:
        return None
    share, value = float(target.float().mean()), float(weight)
    if not are_bits(target) or not 0 < share < _RARE or value > 1 / _TWICE:
        return None
    return "lowered_positives", {"weight": value, "share": share}


def shares_as_logits(given: Arguments) -> Finding:
    """Return that logits are joined from results of sigmoids and from 1 minus these."""
    logits = readable(given["input"])
    first = given["input"].grad_fn if logits is not None else None
    if logits is None or first is None or maker(given["input"]) in _SHARES:
        return None  # the graph tells of single ones
    todo = [first]
    for node in todo:  # grows meanwhile
        if node.name() in _SHARES:
            continue
        behind = [other for other, _ in node.next_functions if other is not None]
        if node.name() not in _JOINS or not behind or len(todo) > _LONGEST:
            return None
        todo += behind
    found = {"low": float(logits.min()), "high": float(logits.max())}
    return "shares_as_logits", {"loss": "binary_cross_entropy_with_logits", **found}


def swapped(loss: str, given: Arguments) -> Finding:
    """Return that only the target has a gradient: the prediction is given as the target."""
    first, target = given["input"], given["target"]
    both = isinstance(first, torch.Tensor) and isinstance(target, torch.Tensor)
    return ("swapped", {"loss": loss}) if both and _only(target, first) else None


def _only(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.requires_grad and not other.requires_grad


def outside(loss: str, given: Arguments) -> Finding:
    """Return that targets of a binary loss are not between 0 and 1."""
    target = readable(given["target"])
    low, high = (0.0, 0.0) if target is None else (float(target.min()), float(target.max()))
    return ("outside", {"loss": loss, "low": low, "high": high}) if low < 0 or high > 1 else None


def activated(loss: str, given: Arguments) -> Finding:
    """Return that logits are the result of a sigmoid or a softmax."""
    what = _SHARES.get(maker(given["input"]))
    return None if what is None else ("activated", {"loss": loss, "what": what})


def divergence(given: Arguments) -> Finding:
    """Return that kl_div gets no log-probabilities, or no probabilities as its target."""
    logs, target = readable(given["input"]), readable(given["target"])
    if logs is None or target is None or logs.shape != target.shape or not logs.dim():
        return None
    if _only(given["target"], given["input"]):
        return "kl_reversed", {}
    ours = dimensions_of_shares(logs.float().exp())
    is_log = bool(given["log_target"])
    theirs = dimensions_of_shares(target.float().exp() if is_log else target.float())
    if not ours and dimensions_of_shares(logs.float()):
        return "kl_div", {}
    if not theirs:
        wrong = dimensions_of_shares(target.float()) if is_log else set()
        logs_given = not is_log and dimensions_of_shares(target.float().exp())
        if wrong or logs_given:
            return "kl_target", {"log_target": is_log}
        return None  # a part of the classes, or a mask
    if not ours:
        sums = logs.float().exp().sum(min(theirs))
        if float(_is_one(sums).float().mean()) > 1 - _MOSTLY:
            return None
        return "kl_input", {"low": float(sums.min()), "high": float(sums.max())}
    if not ours & theirs:
        return "kl_dimension", {"ours": min(ours), "theirs": min(theirs)}
    return None


def kl_mean(given: Arguments) -> Finding:
    """Return that kl_div averages over the classes too."""
    logs = given["input"]
    if given["reduction"] != "mean" or logs.dim() < 2:
        return None
    return "kl_mean", {"size": logs.numel() // logs.shape[0]}


def poisson(given: Arguments) -> Finding:
    """Return that poisson_nll_loss takes a rate for its logarithm, or a negative number of."""
    what = _LOG_RATES.get(maker(given["input"]))
    if given["log_input"] and what is not None:
        return "poisson_rate", {"what": what}
    target = readable(given["target"])
    if target is not None and float(target.min()) < 0:
        return "poisson_counts", {"low": float(target.min())}
    return None


def gaussian(given: Arguments) -> Finding:
    """Return that a variance is the result of a ReLU, so that many are 0."""
    var = readable(given["var"])
    if var is None or maker(given["var"]) != "ReluBackward0":
        return None
    zero = float((var == 0).float().mean())
    return ("variance", {"zero": zero, "eps": float(given["eps"])}) if zero else None


def signs(loss: str, given: Arguments) -> Finding:
    """Return that targets are 0 and 1 instead of -1 and 1."""
    target = readable(given["target"])
    return ("signs", {"loss": loss}) if target is not None and are_bits(target) else None


def label_lists(given: Arguments) -> Finding:
    """Return that multilabel_margin_loss gets a flag for each class, not the classes' numbers."""
    target = readable(given["target"])
    if target is None or target.shape[-1] < 3 or not are_bits(target):
        return None
    return "label_lists", {}


def triplet(given: Arguments) -> Finding:
    """Return that the anchor of a triplet is its positive or negative sample."""
    anchor = readable(given["anchor"])
    for name in ("positive", "negative"):
        other = readable(given[name])
        if anchor is None or other is None or anchor.shape != other.shape:
            return None
        if anchor.numel() > 1 and bool(torch.equal(anchor, other)):
            return "triplet", {"which": name}
    return None


def gumbel(given: Arguments) -> Finding:
    """Return that gumbel_softmax gets probabilities for logits."""
    what = _SHARES.get(maker(given["logits"]))
    return None if what is None else ("activated", {"loss": "gumbel_softmax", "what": what})


def infinite(given: Arguments) -> Finding:
    """Return that ctc_loss ignores samples whose labels are more than their time steps."""
    if not given["zero_infinity"]:
        return None
    pair = [torch.as_tensor(given[name]) for name in ("input_lengths", "target_lengths")]
    short = int((pair[0].flatten().cpu() < pair[1].flatten().cpu()).sum())
    many = pair[1].numel()
    return ("ctc_short", {"short": short, "samples": many}) if short else None


# By the name of the function in torch.nn.functional.
LOOKS: dict[str, tuple[Look, ...]] = {
    "cross_entropy": (
        partial(swapped, "cross_entropy"),
        soft_targets,
        smoothing,
        weights,
        counted_weights,
    ),
    "multilabel_soft_margin_loss": tuple(
        partial(look, "multilabel_soft_margin_loss") for look in (outside, activated)
    ),
    "binary_cross_entropy_with_logits": (lowered_positives, shares_as_logits),
    "kl_div": (divergence, kl_mean),
    "poisson_nll_loss": (partial(swapped, "poisson_nll_loss"), poisson),
    "gaussian_nll_loss": (gaussian,),
    **{
        name: (partial(signs, name),)
        for name in (
            "hinge_embedding_loss",
            "margin_ranking_loss",
            "cosine_embedding_loss",
            "soft_margin_loss",
        )
    },
    "multilabel_margin_loss": (label_lists,),
    "triplet_margin_loss": (triplet,),
    "triplet_margin_with_distance_loss": (triplet,),
    "ctc_loss": (infinite,),
    "gumbel_softmax": (gumbel,),
}


def looks_by_code() -> dict[CodeType, tuple[str, tuple[Look, ...]]]:
    """Return the names of loss functions and what looks at their calls, by their code."""
    return by_code({name: (name, looks) for name, looks in LOOKS.items()})

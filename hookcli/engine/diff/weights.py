"""Loads A's weights into B if they fit by name and shape, including quantized modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from hookcli.comparison.align import align
from hookcli.errors import RequestError
from hookcli.models import module_tree, places
from hookcli.models.bits import same_bits
from hookcli.models.failures import message_of
from hookcli.models.nested import dtype_name, shape_of
from hookcli.refusals import raise_if_external

OWN_WEIGHTS = "pass `--own-weights`: each model keeps its own weights"


def is_plain(value: Any) -> bool:
    """Whether a value can be passed to the other side: a tensor, or a tuple of tensors and None."""
    if isinstance(value, tuple):
        return all(item is None or is_plain(item) for item in value)
    return isinstance(value, torch.Tensor)


def load_matching_weights(root: nn.Module, theirs: dict[str, Any]) -> dict[str, Any]:
    """Load the tensors that fit by name (with at most one prefix) and shape.

    The result lists what was loaded and what did not fit. `differed` has the names of tensors whose
    values were different before, compared in B's dtype.

    Raises
    ------
    RequestError : a module of B fails to load a state that fits.
    """
    whole = root.state_dict()
    own = {name: value for name, value in whole.items() if is_plain(value)}
    alignment = align(theirs, own)
    pairs = alignment.pairs(theirs, own)
    fitting: OrderedDict[str, Any] = OrderedDict()
    misfits, differed, dtypes, loaded = [], [], set(), 0
    for name, own_name in pairs.items():
        value, current = theirs[name], own[own_name]
        cast = value if is_lazy(current) else _cast(value, current)
        if cast is None:
            shapes = {"a_shape": _shape(value), "b_shape": _shape(current)}
            misfits.append({"name": own_name, **shapes})
            continue
        same = not is_lazy(current) and _are_same(cast, current)
        if not same or _is_copied(current):
            fitting[own_name] = cast
        if not same and not is_lazy(current):
            differed.append(own_name)
        loaded += 1
        dtypes |= {dtype_name(tensor.dtype) for tensor in _tensors(cast)}
    fitting._metadata = getattr(whole, "_metadata", None)  # type: ignore[attr-defined]
    for name in _quantized(root, whole):
        fitting.setdefault(name, whole[name])
    missing = _load(root, fitting)
    return {
        "loaded": loaded - len(missing.unexpected_keys),
        "differed": differed,
        "misfits": misfits,
        "only_a": [name for name in theirs if name not in pairs],
        "only_b": [name for name in own if name not in set(pairs.values())],
        "dtypes": sorted(dtypes),
    }


def _quantized(root: nn.Module, state: Iterable[str]) -> list[str]:
    """Return the entries of quantized modules, which load all their entries or raise KeyError."""
    prefixes = tuple(
        f"{name}." if name else ""
        for name, module in module_tree.named(root)
        if type(module).__module__.startswith("torch.ao.nn.")
    )
    return [name for name in state if name.startswith(prefixes)]


def _is_copied(value: Any) -> bool:
    """Whether torch can copy such an entry into another; it cannot for all nested tensors."""
    return not (isinstance(value, torch.Tensor) and value.is_nested)


def _load(root: nn.Module, state: dict[str, Any]) -> Any:
    try:
        return root.load_state_dict(state, strict=False)
    except Exception as error:  # the model's own code may raise anything
        if places.of_error(error) is not None:
            raise
        reason = message_of(error).strip().splitlines()[-1].strip()
        raise RequestError(
            f"cannot load A's weights into B: {reason}",
            place=type(root).__name__,
            hint=OWN_WEIGHTS,
        ) from None


def _tensors(value: Any) -> list[torch.Tensor]:
    """Return the tensors of an entry: itself, or those that a quantized module packs."""
    if isinstance(value, tuple):
        return [tensor for item in value for tensor in _tensors(item)]
    return [] if value is None else [value]


def _shape(value: Any) -> list[int | None]:
    """Return the shape of an entry; for packed entries that of the weight, the first tensor."""
    tensors = _tensors(value)
    return list(shape_of(tensors[0])) if tensors else []


def _cast(entry: Any, current: Any) -> Any:
    """Return A's entry in the dtype of B's current one; None if it does not fit."""
    if isinstance(entry, tuple) and isinstance(current, tuple):
        if len(entry) != len(current):
            return None
        pairs = list(zip(entry, current, strict=True))
        if any((tensor is None) != (other is None) for tensor, other in pairs):
            return None
        cast = [tensor if tensor is None else _cast(tensor, other) for tensor, other in pairs]
        misfit = any(
            c is None and tensor is not None for c, tensor in zip(cast, entry, strict=True)
        )
        return None if misfit else tuple(cast)
    packed = isinstance(entry, tuple) or isinstance(current, tuple)
    if packed or shape_of(entry) != shape_of(current):
        return None
    try:
        return entry if entry.dtype == current.dtype else entry.to(current.dtype)
    except (RuntimeError, TypeError) as error:  # a quantized tensor cannot be cast
        raise_if_external(error)
        return None


def _are_same(entry: Any, other: Any) -> bool:
    """Whether two entries have equal values; equal bits if torch cannot compare values."""
    pairs = zip(_tensors(entry), _tensors(other), strict=True)
    return all(_equal(ours, theirs.detach().to(ours.device)) for ours, theirs in pairs)


def _equal(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    try:
        return torch.equal(tensor, other)
    except (RuntimeError, TypeError):
        return same_bits(tensor, other)

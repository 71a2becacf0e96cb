"""A's weights in B: what fits by name and shape, quantized modules included."""

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

OWN_WEIGHTS = "pass `--own-weights`: each model keeps its own weights"


def is_plain(value: Any) -> bool:
    """Whether a value can be handed over and taken: a tensor of torch's own, or a tuple of them."""
    if isinstance(value, tuple):
        return all(item is None or is_plain(item) for item in value)
    return isinstance(value, torch.Tensor)


def load_matching_weights(root: nn.Module, theirs: dict[str, Any]) -> dict[str, Any]:
    """Load what fits by name (below one prefix, at most) and shape; say what did not fit.

    `differed` names tensors that held other values before, in B's own dtype.

    Raises
    ------
    RequestError : a module of B's does not load what fits.
    """
    whole = root.state_dict()
    own = {name: value for name, value in whole.items() if is_plain(value)}
    alignment = align(theirs, own)
    pairs = alignment.pairs(theirs, own)
    fitting: OrderedDict[str, Any] = OrderedDict()
    misfits, differed, dtypes, loaded = [], [], set(), 0
    for name, here in pairs.items():
        given, held = theirs[name], own[here]
        taken = given if is_lazy(held) else _cast(given, held)
        if taken is None:
            ours, others = (_shape(value) for value in (given, held))
            misfits.append({"name": here, "a_shape": ours, "b_shape": others})
            continue
        same = not is_lazy(held) and _are_same(taken, held)
        if not same or _is_copied(held):
            fitting[here] = taken
        if not same and not is_lazy(held):
            differed.append(here)
        loaded += 1
        dtypes |= {dtype_name(tensor.dtype) for tensor in _tensors(taken)}
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
    """The entries of quantized modules, which load all of theirs at once or raise KeyError."""
    homes = tuple(
        f"{name}." if name else ""
        for name, module in module_tree.named(root)
        if type(module).__module__.startswith("torch.ao.nn.")
    )
    return [name for name in state if name.startswith(homes)]


def _is_copied(value: Any) -> bool:
    """Whether torch copies any such entry into another: it does not, of all nested tensors."""
    return not (isinstance(value, torch.Tensor) and value.is_nested)


def _load(root: nn.Module, state: dict[str, Any]) -> Any:
    try:
        return root.load_state_dict(state, strict=False)
    except Exception as error:  # the model's own code may raise anything
        if places.of_error(error) is not None:
            raise
        why = message_of(error).strip().splitlines()[-1].strip()
        raise RequestError(
            f"cannot load A's weights into B: {why}",
            place=type(root).__name__,
            hint=OWN_WEIGHTS,
        ) from None


def _tensors(value: Any) -> list[torch.Tensor]:
    """The tensors of an entry: itself, or those that a quantized module packs as one."""
    if isinstance(value, tuple):
        return [tensor for item in value for tensor in _tensors(item)]
    return [] if value is None else [value]


def _shape(value: Any) -> list[int | None]:
    """The shape of an entry; of packed ones the first's, the weight's."""
    tensors = _tensors(value)
    return list(shape_of(tensors[0])) if tensors else []


def _cast(given: Any, held: Any) -> Any:
    """A's entry in B's dtype; None where it does not fit into B's."""
    if isinstance(given, tuple) and isinstance(held, tuple):
        if len(given) != len(held):
            return None
        pairs = list(zip(given, held, strict=True))
        if any((tensor is None) != (other is None) for tensor, other in pairs):
            return None
        cast = [tensor if tensor is None else _cast(tensor, other) for tensor, other in pairs]
        misfit = any(
            c is None and tensor is not None for c, tensor in zip(cast, given, strict=True)
        )
        return None if misfit else tuple(cast)
    if isinstance(given, tuple) or isinstance(held, tuple) or shape_of(given) != shape_of(held):
        return None
    try:
        return given if given.dtype == held.dtype else given.to(held.dtype)
    except (RuntimeError, TypeError):  # a quantized tensor has no other dtype
        return None


def _are_same(entry: Any, other: Any) -> bool:
    """Whether two entries hold equal values; bits, where torch cannot compare values."""
    pairs = zip(_tensors(entry), _tensors(other), strict=True)
    return all(_equal(ours, theirs.detach().to(ours.device)) for ours, theirs in pairs)


def _equal(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    try:
        return torch.equal(tensor, other)
    except (RuntimeError, TypeError):
        return same_bits(tensor, other)

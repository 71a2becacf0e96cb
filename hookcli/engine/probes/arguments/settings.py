"""Settings of modules of torch.nn that have no effect, or another one than is meant."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

from torch import nn

from hookcli.engine.probes.context import where_possible
from hookcli.engine.probes.function_calls import Finding
from hookcli.models import module_tree

_GATES = ("input", "forget", "cell", "output")
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_NUMBERS = {"float", "int", float, int, "Union[float, int]"}


@lru_cache(maxsize=512)
def _numbers_of(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Return the arguments of a constructor that are annotated as numbers, with their defaults."""
    if not kind.__module__.startswith("torch.nn.modules."):
        return ()
    try:
        parameters = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple((one.name, one.default) for one in parameters if one.annotation in _NUMBERS)


Setting: TypeAlias = tuple[str, str, dict[str, Any]]  # name of the module, what is wrong, values


def settings_of(root: nn.Module) -> Iterator[Setting]:
    """Yield what is wrong with the settings of the modules of a model."""
    for name, values in flags_for_numbers(root):
        yield name, "flag", values
    for name, module in module_tree.named(root):
        for look in (_layer_dropout, _gate_bias, _stride_gaps):
            with where_possible():
                found = look(module)
                if found is not None:
                    what, values = found
                    yield name, what, {"type": type(module).__name__, **values}
        yield from _pairs_of(name, module)
    yield from _open_ends(root)


def _layer_dropout(module: nn.Module) -> Finding:
    """Return that a recurrent layer has a dropout between layers, and one layer."""
    if not isinstance(module, nn.RNNBase) or module.num_layers > 1 or not module.dropout:
        return None
    return "layer_dropout", {"p": float(module.dropout)}


def _gate_bias(module: nn.Module) -> Finding:
    """Return that the biases of an LSTM are 1 or so for one gate only, which is not forget."""
    if isinstance(module, nn.LSTMCell):
        names = [("bias_ih", "bias_hh")]
    elif isinstance(module, nn.LSTM):
        names = [("bias_ih_l0", "bias_hh_l0")]
    else:
        return None
    for first, second in names:
        one, other = getattr(module, first, None), getattr(module, second, None)
        if one is None or other is None or one.is_meta:
            return None
        gates = (one.detach() + other.detach()).float().chunk(4)
        equal = [bool((gate == gate[:1]).all()) and len(gate) > 1 for gate in gates]
        values = [float(gate[0]) for gate in gates]
        high = [i for i in range(4) if equal[i] and values[i] > 0]
        others_are_zero = all(equal[i] and not values[i] for i in range(4) if i not in high)
        if len(high) == 1 and high != [1] and others_are_zero:
            return "gate_bias", {"gate": _GATES[high[0]], "value": values[high[0]]}
    return None


def _stride_gaps(module: nn.Module) -> Finding:
    """Return that a convolution with a kernel of several positions skips some of its input."""
    if not isinstance(module, _CONVOLUTIONS):
        return None
    rows = zip(module.kernel_size, module.stride, module.dilation, strict=True)
    gaps = any(size > 1 and stride > size and dilation == 1 for size, stride, dilation in rows)
    found = {"kernel": [*module.kernel_size], "stride": [*module.stride]}
    return ("stride_gaps", found) if gaps else None


def _pairs_of(name: str, module: nn.Module) -> Iterator[Setting]:
    """Yield the dropouts that follow SELU in a Sequential."""
    if not isinstance(module, nn.Sequential):
        return
    children = [*module._modules.items()]
    for (_, first), (key, second) in pairwise(children):
        if type(first) is nn.SELU and type(second) is nn.Dropout and second.p > 0:
            yield f"{name}.{key}" if name else key, "selu_dropout", {"type": "Dropout"}


def _open_ends(root: nn.Module) -> Iterator[Setting]:
    """Yield the stacks of pre-norm layers of torch.nn without a norm, if no other norm is left."""
    stacks = [
        (name, module)
        for name, module in module_tree.named(root)
        if isinstance(module, nn.TransformerEncoder | nn.TransformerDecoder)
    ]
    inner = {id(part) for _, stack in stacks for part in stack.modules()}
    norms = any(
        "norm" in type(part).__name__.lower() and id(part) not in inner for part in root.modules()
    )
    for name, stack in () if norms else stacks:
        first = next(iter(stack.layers), None)
        if stack.norm is None and getattr(first, "norm_first", False):
            yield name, "open_end", {"type": type(stack).__name__}


def flags_for_numbers(root: nn.Module) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names of modules with a flag where a number is expected, and what it sets."""
    for name, module in module_tree.named(root):
        kind: Any = type(module)  # mypy does not take a class for hashable
        for attribute, default in _numbers_of(kind):
            value = vars(module).get(attribute)
            if isinstance(value, bool) and value != default:
                found = {"type": kind.__name__, "attribute": attribute, "value": value}
                yield name, found

"""The first layer inside of compiled code whose output is not finite."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from hookcli.hooks.traced.layers import TracedFigures
from hookcli.models import places
from hookcli.training.non_finite.forward_call import NonFiniteValue


class BadLayer(NamedTuple):
    """A layer whose output is not finite; `what` tells what it contains.

    `of_finite` tells whether its input was looked at, and is finite.
    """

    name: str
    kind: str
    what: str
    place: str | None
    of_finite: bool


def bad_layer(layer: TracedFigures) -> BadLayer:
    """Return a layer whose norm is not finite."""
    kinds = (("nans", "NaN"), ("infs", "Inf"))
    parts = [f"{int(layer.values[key]):,} {word}" for key, word in kinds if layer.values.get(key)]
    what = " and ".join(parts) or "values whose norm is not finite"
    module = layer.module
    place = places.of_class(type(module))
    return BadLayer(layer.name, type(module).__name__, what, place, layer.bad_inputs == 0)


def with_bad_layer(found: NonFiniteValue, bad: BadLayer | None) -> NonFiniteValue:
    """Return what was found with what compiled code wrote; a replay without the compiler is more.

    Where the replay is finite, only compiled code makes the value.
    """
    if bad is None:
        return found
    name = bad.name or "the root"
    told = f"in compiled code, the output of {name} ({bad.kind}) is the first with {bad.what}"
    if bad.of_finite:
        told += ", and its input is finite"
    if found.found_by in {"replay", "graph", "parameters"} and found.layer is not None:
        if found.layer == bad.name:
            return found
        return replace(found, notes=(*found.notes, told))
    if found.found_by == "replay":
        told += "; the same forward without the compiler is finite"
    return NonFiniteValue(
        "forward", bad.name, None, bad.place, (), told, "compiled", found.notes, call=found.call
    )

"""A zoo of small, odd models: what exists in the wild and breaks tools that look at models.

Each entry builds afresh: many of these models change when they run. All of `ODD` run in eval mode
with grad enabled, `model(*args, **kwargs)`; all of `RAISING` raise an Exception there.
"""

from __future__ import annotations

from . import (
    attention,
    autograd,
    calls,
    control_flow,
    hooks,
    hostile,
    inputs,
    mixed,
    names,
    outputs,
    parameters,
    raising,
    results,
    sequence,
    state,
    tensors,
    vision,
)
from ._base import Odd, merge

__all__ = ["ODD", "RAISING", "Odd"]

ODD: dict[str, Odd] = merge(
    outputs.ENTRIES,
    results.ENTRIES,
    inputs.ENTRIES,
    tensors.ENTRIES,
    control_flow.ENTRIES,
    autograd.ENTRIES,
    calls.ENTRIES,
    hooks.ENTRIES,
    names.ENTRIES,
    parameters.ENTRIES,
    state.ENTRIES,
    hostile.ENTRIES,
    attention.ENTRIES,
    sequence.ENTRIES,
    vision.ENTRIES,
    mixed.ENTRIES,
)
RAISING: dict[str, Odd] = merge(raising.ENTRIES)

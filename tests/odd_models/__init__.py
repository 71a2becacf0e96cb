"""Small, unusual models: patterns from real code that break tools that inspect models.

Each entry builds a new model, because many of them change when they run. All models of `ODD` run
as `model(*args, **kwargs)` in eval mode with grad enabled; all models of `RAISING` raise then.
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

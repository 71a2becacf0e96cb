"""Checks that a model's format, and this torch, support a kind of hook."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.errors import RequestError
from hookcli.hooks.build import refuse
from hookcli.sentences import needs_torch
from hookcli.spec.hooks import HookSpec
from hookcli.torch_private import as_numbers

_NAMES = {"torchscript": "a TorchScript model", "exported": "an exported model"}


def check_backend(spec: HookSpec, kind_of_model: str) -> None:
    """Check that the hook can be attached to a model of this format.

    Raises
    ------
    RequestError : the format does not support the kind.
    """
    kind = CATALOGUE[spec.kind]
    if kind_of_model not in _NAMES or kind_of_model in kind.backends:
        return
    raise RequestError(
        f"kind {spec.kind} cannot be attached to {_NAMES[kind_of_model]}: {kind.lack.why}",
        place=spec.place,
        hint=kind.lack.hint,
    )


def check_torch_has(hooks: Sequence[HookSpec]) -> None:
    """Check that this torch has the kinds of these hooks, before anything of the user's runs.

    Raises
    ------
    RequestError, ProblemsError : it is older than some of the kinds.
    """
    here = as_numbers(torch.__version__)
    problems = {
        (spec.kind, spec.place): RequestError(
            needs_torch(f"kind {spec.kind}", CATALOGUE[spec.kind].since, torch.__version__),
            place=spec.place,
            hint="remove the hook, or install a newer torch",
        )
        for spec in hooks
        if here < as_numbers(CATALOGUE[spec.kind].since)
    }
    refuse([*problems.values()])

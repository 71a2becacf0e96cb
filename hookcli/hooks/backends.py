"""Checks that a model's format supports a kind of hook."""

from __future__ import annotations

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.errors import RequestError
from hookcli.spec.hooks import HookSpec

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

"""Kinds of hooks that a model of some format cannot have, and why."""

from __future__ import annotations

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.errors import RequestError
from hookcli.spec.hooks import HookSpec

_NAMES = {"torchscript": "a TorchScript model", "exported": "an exported model"}
_WHY = {
    "module": (
        "its code has no place for PyTorch's backward hooks",
        "use kind tensor, at: MODULE:output, or kind node, at: MODULE:input",
    ),
    "state": (
        "PyTorch takes none for its state dict",
        "leave the hook out, or name the Python source",
    ),
    "registration": (
        "its modules are built already",
        "leave the hook out, or name the Python source",
    ),
    "packaging": ("torch.package takes Python modules", "name the Python source"),
    "distributed": (
        "DistributedDataParallel wraps Python modules",
        "name the Python source",
    ),
}
_WHY["global module"] = _WHY["module"]
_OTHER = ("it has no place for it", "leave the hook out, or name the Python source")


def check_backend(spec: HookSpec, kind_of_model: str) -> None:
    """See that a model of this format can have the hook.

    Raises
    ------
    RequestError : it cannot.
    """
    kind = CATALOGUE[spec.kind]
    if kind_of_model not in _NAMES or kind_of_model in kind.backends:
        return
    why, hint = _WHY.get(kind.family, _OTHER)
    raise RequestError(
        f"kind {spec.kind} cannot stand on {_NAMES[kind_of_model]}: {why}",
        place=spec.place,
        hint=hint,
    )

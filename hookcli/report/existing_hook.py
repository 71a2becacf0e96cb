"""Hooks that a model has when it is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# What is on a model and is not a kind of `hookcli list hooks`.
PARAMETRIZATION: Final = "parametrization"
PATCHED_FORWARD: Final = "patched_forward"


@dataclass(frozen=True, slots=True)
class ExistingHook:
    """One hook that was on the model before hookcli attached any.

    `kind` is a kind of `hookcli list hooks`, "parametrization" or "patched_forward". `module` is
    the first qualified name of the module, "" for the root, None for a hook that is not on a
    module of the model: a global hook, or one of an optimizer. `tensor` is the attribute of the
    module that the hook is on, or that it computes. `aliases` are the other names of the module,
    or of the tensor if the hook is on one.

    `function` is the dotted name of the function, or of the class of a callable object. `feature`
    is what the hook is a part of ("weight_norm", "lazy", "fsdp", …), None for any other hook.
    `options` are the options that it was registered with ("with_kwargs", "always_call").
    """

    kind: str
    module: str | None
    tensor: str | None
    aliases: tuple[str, ...]
    type: str | None
    function: str
    place: str | None
    feature: str | None
    options: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """What the hook is on: the name of a module or tensor, "" for the root or a global hook."""
        return ".".join(filter(None, (self.module, self.tensor)))

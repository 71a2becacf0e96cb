"""Tell scripted modules from Python modules, without importing the code that handles them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from hookcli.errors import ModelError
from hookcli.models import module_tree

OURS = "hookcli"  # the namespace of the operators that are added to graphs
FORMAT = "_hookcli_format"  # attribute of a class that represents a model of another format
MARK = "_hookcli_tapped"  # attribute of each module of a `Tapped`: a weak reference to it

# `Tapped` is a class of torchscript/tapped.py, which imports this file: its type is not named here.


def tapped_of(module: nn.Module) -> Any | None:
    """Return the `Tapped` that a scripted module is part of, or None."""
    mark = vars(module).get(MARK)
    return None if mark is None else mark()


def tapped_in(root: nn.Module) -> list[Any]:
    """Return each `Tapped` at and below `root` once."""
    by_id = {}
    for module, _ in module_tree.modules(root):
        tapped = tapped_of(module)
        if tapped is not None:
            by_id[id(tapped)] = tapped
    return list(by_id.values())


def is_scripted(module: object) -> bool:
    """Whether a module's code is TorchScript."""
    return isinstance(module, torch.jit.ScriptModule)


def type_of(module: nn.Module) -> str:
    """Return the name of a module's class; of a scripted one, of the class that was scripted."""
    if is_scripted(module):
        return str(getattr(module, "original_name", type(module).__name__))
    return type(module).__name__


def qualified_type(module: nn.Module) -> str | None:
    """Return the name of a scripted module's type; None for a Python module.

    TorchScript gives instances of one class different types if they do not share code:
    ___torch_mangle_3.
    """
    if not is_scripted(module):
        return None
    script: Any = module
    return str(script._c._type().qualified_name()).removeprefix("__torch__.")


_FORWARD = re.compile(r"forward(__\d+)?")  # that of LSTM has two forms


def forwards(module: nn.Module) -> list[str]:
    """Return the methods that run when a scripted module is called."""
    script: Any = module
    return [name for name in script._c._method_names() if _FORWARD.fullmatch(name)]


def check_callable(root: Any, source: str) -> None:
    """Check that a scripted module has a forward.

    Raises
    ------
    ModelError : it has none.
    """
    if not root._c._has_method("forward"):
        methods = ", ".join(root._c._method_names()) or "none"
        raise ModelError(
            f"{type_of(root)} has no method forward (its methods: {methods})",
            place=source,
            hint="script and save a module whose `forward` calls one of its methods",
        )


def scripted_signature(module: nn.Module) -> inspect.Signature | None:
    """Return the signature of a scripted forward; None if it has no or several forms."""
    script: Any = module
    names = forwards(module)
    if len(names) != 1:
        return None
    parameters = []
    for argument in script._c._get_method(names[0]).schema.arguments[1:]:
        default = (
            argument.default_value if argument.has_default_value() else inspect.Parameter.empty
        )
        kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else _POSITIONAL
        hint = _hint(argument.type)
        parameters.append(inspect.Parameter(argument.name, kind, default=default, annotation=hint))
    return inspect.Signature(parameters)


_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
_HINTS: dict[str, Any] = {
    "Tensor": torch.Tensor,
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "Optional[Tensor]": torch.Tensor | None,
    "List[Tensor]": list[torch.Tensor],
    "Dict[str, Tensor]": dict[str, torch.Tensor],
    "Optional[int]": int | None,
    "Optional[float]": float | None,
    "Optional[bool]": bool | None,
}


def _hint(kind: Any) -> Any:
    """Return a type of TorchScript as Python writes it."""
    return _HINTS.get(kind.annotation_str, inspect.Parameter.empty)


def format_of(root: nn.Module) -> str:
    """Return the format of a built model, as the hook kinds name it."""
    return "torchscript" if is_scripted(root) else str(getattr(type(root), FORMAT, "python"))


class LostError:
    """Keeps an error of a Python operator: TorchScript drops its type and message."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._kept = False

    def note(self, error: BaseException) -> None:
        """Keep an error if a scripted module runs, which may drop it."""
        if self._kept:
            self.error = error

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep errors inside this context, and none after it: an error keeps its frames alive."""
        self._kept = True
        try:
            yield
        finally:
            self._kept, self.error = False, None


lost = LostError()


def original_of(error: BaseException, noted: BaseException | None) -> BaseException:
    """Return the error raised inside a scripted module if TorchScript replaced it by its own.

    `noted` is the error that the module's `Tapped` has noted, if any.
    """
    if noted is not None:
        return noted
    silent = str(error).rstrip().endswith("Error:")
    return lost.error if silent and lost.error is not None else error

"""What tells scripted modules from Python's, without the code that deals with them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from hookcli.models import module_tree

if TYPE_CHECKING:
    from hookcli.models.torchscript.tapped import Tapped

OURS = "hookcli"  # the namespace of the operators in graphs
FORMAT = "_hookcli_format"  # in the class of a module that stands for another format's
MARK = "_hookcli_tapped"  # in the dictionary of each module of a tapped one: a weak reference


def tapped_of(module: nn.Module) -> Tapped | None:
    """What a scripted module is part of, where that tells of its calls."""
    mark = vars(module).get(MARK)
    return None if mark is None else mark()


def tapped_in(root: nn.Module) -> list[Tapped]:
    """The scripted modules at and below `root` that tell of their calls, each once."""
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
    """The bare name of a module's class: of a scripted one, of that which it was made from."""
    if is_scripted(module):
        return str(getattr(module, "original_name", type(module).__name__))
    return type(module).__name__


def qualified_type(module: nn.Module) -> str | None:
    """The name of a scripted module's type; None for a module of Python's.

    TorchScript tells instances of one class apart that do not share code: ___torch_mangle_3.
    """
    if not is_scripted(module):
        return None
    script: Any = module
    return str(script._c._type().qualified_name()).removeprefix("__torch__.")


_FORWARD = re.compile(r"forward(__\d+)?")  # LSTM's has two forms


def forwards(module: nn.Module) -> list[str]:
    """The methods of a scripted module that calling it runs."""
    script: Any = module
    return [name for name in script._c._method_names() if _FORWARD.fullmatch(name)]


def scripted_signature(module: nn.Module) -> inspect.Signature | None:
    """The signature of a scripted forward; None where it has none, or several forms."""
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
    """A type of TorchScript's as Python writes it."""
    return _HINTS.get(kind.annotation_str, inspect.Parameter.empty)


def format_of(root: nn.Module) -> str:
    """The format of a built model, as kinds of hooks know it."""
    return "torchscript" if is_scripted(root) else str(getattr(type(root), FORMAT, "python"))


class LostError:
    """What an operator raised in Python: on its way through TorchScript it loses type and text."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._kept = False

    def note(self, error: BaseException) -> None:
        """Keep an error, where a scripted module runs that may lose it."""
        if self._kept:
            self.error = error

    @contextmanager
    def kept(self) -> Iterator[None]:
        """A scripted module may run. Afterwards nothing is held: an error has its frames."""
        self._kept = True
        try:
            yield
        finally:
            self._kept, self.error = False, None


lost = LostError()


def original_of(error: BaseException, tapped: Tapped) -> BaseException:
    """What was raised inside a scripted module, where TorchScript raised an error of its own."""
    if tapped.error is not None:
        return tapped.error
    silent = str(error).rstrip().endswith("Error:")
    return lost.error if silent and lost.error is not None else error

"""The backend of torch.compile that the user names, and why it cannot be used here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from hookcli.errors import RequestError
from hookcli.models.python.functions import function_of
from hookcli.sentences import unknown
from hookcli.spec.compared.compiled import CompileSettings
from hookcli.text import nearest, try_instead

_GRAPHS = ("reduce-overhead",)  # modes that only add CUDA graphs
_NO_COMPILER = ("InvalidCxxCompiler", "No working C++ compiler", "CppCompileError")


def compiler_of(settings: CompileSettings, device: str) -> Callable[[nn.Module], Any]:
    """Return what compiles a module with these settings.

    Raises
    ------
    RequestError : the backend does not exist, or it needs a GPU.
    ModelError : the file of the user's backend raises.
    """
    backend: Any = settings.backend
    if ":" in backend:
        backend = function_of(backend, settings.place)
    else:
        _check_name(settings)
    if (settings.mode in _GRAPHS or backend == "cudagraphs") and not device.startswith("cuda"):
        raise RequestError(
            f"CUDA graphs require a GPU, and the model is on {device}",
            place=settings.place,
            hint="remove the mode, or pass `--device cuda`",
        )

    def compile_module(module: nn.Module) -> Any:
        return torch.compile(
            module,
            backend=backend,
            mode=settings.mode,
            dynamic=settings.dynamic,
            fullgraph=settings.fullgraph,
        )

    return compile_module


def _check_name(settings: CompileSettings) -> None:
    names = torch.compiler.list_backends(exclude_tags=())
    if settings.backend in names:
        return
    guess = nearest(settings.backend, names)
    common = [name for name in ("inductor", "aot_eager", "eager") if name in names]
    raise RequestError(
        unknown("backend of torch.compile", settings.backend),
        place=settings.place,
        hint=try_instead(guess, f"choose from {', '.join(common)}, or pass `file.py:function`"),
    )


def is_without_compiler(error: BaseException) -> bool:
    """Return whether a compilation failed because there is no C++ compiler."""
    seen: BaseException | None = error
    while seen is not None:
        text = f"{type(seen).__name__}: {seen}"
        if any(word in text for word in _NO_COMPILER[:2]):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def no_compiler(settings: CompileSettings) -> RequestError:
    """Return the error for inductor where no C++ compiler is installed."""
    return RequestError(
        "inductor requires a C++ compiler, and none was found",
        place=settings.place,
        hint="install g++ (`apt install g++`) or set CXX; `compile=aot_eager` works without it",
    )

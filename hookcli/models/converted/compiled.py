"""Modules that torch.compile wrapped, and whether compiled code calls one.

While such code is traced, it skips a wrapper and calls the module inside: the wrapper's own hooks
do not fire. Backward hooks below the wrapper stop the trace there; then it is called as written.
"""

from __future__ import annotations

import warnings
from collections.abc import Container, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from torch import nn

from hookcli.models import module_tree
from hookcli.models.fake.lazy_compiler import compiler_is_imported

DISABLED = (
    "torch.compile is disabled in this run: compiled code does not call hooks that were attached "
    "after compilation"
)
WRAPPED = "_orig_mod"  # torch's name of the module inside a wrapper
_FILE = "torch/_dynamo/eval_frame.py"  # its functions call compiled and disabled code


def is_wrapper(module: Any) -> bool:
    """Whether this is the result of `torch.compile(module)`."""
    if not compiler_is_imported():
        return False
    from hookcli.torch_private import OptimizedModule

    return isinstance(module, OptimizedModule)


def unwrap(root: nn.Module) -> tuple[nn.Module, bool]:
    """Replace each wrapper in a tree of modules by the module inside; return the root, and whether.

    Names are then those of the model's source, as without `torch.compile`. A wrapper that has hooks
    is kept, because they would not fire. The code of a model may use the attribute `_orig_mod`,
    which therefore leads to the module itself. `module.compile()` is undone too.
    """
    if not compiler_is_imported():
        return root, False
    modules = module_tree.modules(root)
    inner = {id(module): _inside(module) for module, _ in modules}
    compiled = any(inner[key] is not None for key in inner)
    for module, _ in modules:
        if vars(module).get("_compiled_call_impl") is not None:
            module._compiled_call_impl, compiled = None, True
        for name, child in module._modules.items():
            if child is not None and (replacement := inner[id(child)]) is not None:
                module._modules[name] = replacement
    return inner[id(root)] or root, compiled


def inner_root(root: nn.Module) -> nn.Module:
    """Return the module that a wrapper of torch.compile calls; any other module itself."""
    return _inside(root) or root


def _inside(module: nn.Module) -> nn.Module | None:
    """Return the module that a wrapper without hooks has inside; None for any other module."""
    inside = module
    while is_wrapper(inside) and not _has_hooks(inside):
        child = inside._modules[WRAPPED]
        if child is None:
            break
        inside = child
    if inside is module:
        return None
    vars(inside)[WRAPPED] = inside
    return inside


def _has_hooks(module: nn.Module) -> bool:
    return any(
        registry
        for name, registry in vars(module).items()
        if name.endswith("_hooks") and isinstance(registry, dict)
    )


@contextmanager
def run_eagerly() -> Iterator[None]:
    """Run compiled modules eagerly: hooks set after the first compiled call would not fire."""
    if not compiler_is_imported():
        yield
        return
    with torch.compiler.set_stance("force_eager"), warnings.catch_warnings():
        # torch warns about our own global hooks, which handle the wrapper correctly
        warnings.filterwarnings("ignore", "Using `torch.compile.*global hooks", UserWarning)
        yield


def within_compiled(frame: FrameType | None) -> bool:
    """Whether this frame runs for code that is compiled, or would be if that were not disabled."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.replace("\\", "/").endswith(_FILE):
            # torch 2.6 names it `_fn`, as the function of torch.compiler.disable.
            if code.co_name == "compile_wrapper" or "callback" in code.co_freevars:
                return True
            if code.co_name == "_fn":
                return False
        frame = frame.f_back
    return False


def wrappers_around(root: nn.Module, keys: Container[int]) -> set[int]:
    """Return the ids of the wrappers that have one of these modules below them."""
    return {
        id(wrapper)
        for wrapper, _ in module_tree.modules(root)
        if is_wrapper(wrapper)
        and any(
            id(module) in keys
            for module, _ in module_tree.modules(wrapper)
            if module is not wrapper
        )
    }

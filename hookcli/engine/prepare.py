"""Prepares the model of a request: loads it, casts and moves it, loads weights, makes it fake."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from weakref import WeakSet

import torch
from torch import nn

from hookcli.errors import RequestError
from hookcli.memory import available, too_large
from hookcli.models import module_tree
from hookcli.models.converted.compiled import DISABLED, inner_root, is_wrapper, unwrap
from hookcli.models.existing_hooks.find import existing_hooks
from hookcli.models.fake.fake import Faker, bytes_when_built, on_meta
from hookcli.models.load import load
from hookcli.models.loaded import Loaded
from hookcli.models.model import Model
from hookcli.models.scripted import is_scripted
from hookcli.spec.plan import plan
from hookcli.spec.request import Attempt, Mode, Spec
from hookcli.text import first_line
from hookcli.torch_private import BatchNormBase

_ON_CPU = "omit `--device` to run on the CPU"


def prepare(
    spec: Spec, attempt: Attempt, faker: Faker | None, phase: Callable[[str], None]
) -> Loaded:
    """Import and build the model, cast and move it, load its weights; a `faker` makes it fake.

    Raises
    ------
    RequestError, ModelError : the model cannot be built or moved, or its weights do not fit.
    """
    _check_device(spec.run.device)

    def refuse_too_large(construct: Callable[[], nn.Module]) -> None:
        """Raise an error before a real build that needs too much memory.

        After a fake attempt the size is known.
        """
        if faker is not None or attempt.fallback is not None:
            return
        most = min((m for m in (available(), spec.run.max_memory) if m), default=None)
        need = bytes_when_built(construct)
        backward = plan(spec).goes_backward
        if need is not None and backward:
            need *= 2  # a gradient for each parameter
        if need is not None and most is not None and need > most:
            raise too_large(need, most, spec.model.source, gradients=backward)

    loaded = load(
        spec.model,
        phase=phase,
        importing=on_meta() if attempt.meta_import else None,
        building=on_meta() if faker and not attempt.for_batch else None,
        allow=refuse_too_large,
        batch_size=spec.run.batch_size,
        again=attempt.fallback is not None,
    )
    if spec.run.compiled is not None and not attempt.for_batch:
        root = inner_root(loaded.root)
        loaded = replace(loaded, compiled=None if root is loaded.root else loaded.root)
        modules = module_tree.modules(root)
    else:
        root, compiled = unwrap(loaded.root)
        modules = module_tree.modules(root)
        if compiled and not any(is_wrapper(module) for module, _ in modules):
            loaded = replace(loaded, notes=(*loaded.notes, DISABLED))
    loaded = replace(loaded, root=root)
    # before anything is attached or made fake
    loaded = replace(loaded, hooks=existing_hooks(root, modules))
    if any(is_scripted(module) for module, _ in modules):
        loaded = replace(loaded, notes=(*loaded.notes, *tap_scripted(spec, root)))
    if spec.run.dtype is not None:
        root.to(getattr(torch, spec.run.dtype))
    if spec.model.weights is not None:
        from hookcli.models.files.weights import load_weights, read_weights  # imports safetensors

        state = read_weights(spec.model.weights, sizes_only=faker is not None)
        load_weights(root, state, spec.model.weights)
    if faker is not None:
        faker.module(root)
    elif spec.run.device != "cpu":
        _move(root, spec.run.device)
    return loaded


def tap_scripted(spec: Spec, root: nn.Module) -> list[str]:
    """Make scripted modules report their calls; return the notes about that."""
    from hookcli.hooks.resolve import swapping
    from hookcli.models.torchscript.tapped import tap

    return tap(root, swapping(spec.hooks, root))


def _check_device(device: str) -> None:
    kind = torch.device(device).type
    backend = getattr(torch, kind, None)
    if kind != "cpu" and not (backend is not None and backend.is_available()):
        raise RequestError(
            f"device '{kind}' is not available",
            place=f"--device {device}",
            hint=_ON_CPU,
        )


def _move(root: nn.Module, device: str) -> None:
    try:
        root.to(device)
    except (RuntimeError, AssertionError) as error:
        raise RequestError(
            f"the model cannot be moved to {device}: {first_line(str(error))}",
            place=f"--device {device}",
            hint=_ON_CPU,
        ) from None


def set_mode(model: Model, mode: Mode) -> None:
    """Put the model in train or eval mode; "as-is" does not change it.

    A model may have a `train` of its own that is something else, such as its loop of training.
    """
    if mode == "as-is":
        return
    training = mode == "train"
    asleep = _in_eval_mode(model.root) if training and model.root.training else []
    if _accepts_one(model.root.train):
        model.root.train(training)
    else:
        nn.Module.train(model.root, training)
    _woken.update(module for module in asleep if module.training)


_woken: WeakSet[nn.Module] = WeakSet()


def was_in_eval_mode(module: nn.Module) -> bool:
    """Whether a module was in eval mode, inside a model in train mode, before `train()` ran."""
    return isinstance(module, BatchNormBase) and module in _woken


def _in_eval_mode(root: nn.Module) -> list[nn.Module]:
    return [
        module
        for module, _ in module_tree.modules(root)
        if isinstance(module, BatchNormBase) and not module.training
    ]


def _accepts_one(function: object) -> bool:
    """Return whether a function can be called with one argument."""
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind(True)
    except TypeError:
        return False
    except ValueError:  # it has no signature that Python can tell
        return True
    return True

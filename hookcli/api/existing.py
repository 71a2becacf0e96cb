"""List and remove the hooks that are on a model: `list_hooks` and `remove_hooks`."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeAlias

from hookcli.api import arguments
from hookcli.errors import RequestError
from hookcli.report.existing_hook import PARAMETRIZATION, PATCHED_FORWARD, ExistingHook
from hookcli.sentences import unknown
from hookcli.text import nearest, try_instead

if TYPE_CHECKING:
    import torch
    from torch import nn

    from hookcli.models.existing_hooks.find import FoundHook

    Optimizers: TypeAlias = torch.optim.Optimizer | Sequence[torch.optim.Optimizer]

Globs: TypeAlias = str | Sequence[str]


def list_hooks(model: nn.Module, *, optimizer: Optimizers | None = None) -> list[ExistingHook]:
    """Return the hooks on the modules, parameters and buffers of a model, and global hooks.

    Parametrizations and hooks of other features of torch, such as weight norm, have the name of the
    feature. Hooks of hookcli are omitted. Nothing of the model is run or changed.

    Parameters
    ----------
    model : nn.Module
        The model.
    optimizer : torch.optim.Optimizer or sequence of optimizers, optional
        Optimizers whose step hooks are listed too.

    Returns
    -------
    list of ExistingHook
        One row for each hook: those of modules in the order of `named_modules`, for each kind in
        the order in which torch calls them, then those of tensors, of optimizers, and global ones.

    Raises
    ------
    RequestError
        `model` is not an `nn.Module`.

    Examples
    --------
    >>> for hook in hookcli.list_hooks(model):  # doctest: +SKIP
    ...     print(hook.kind, hook.module, hook.function, hook.place)
    forward layer1.0 train.log_norm train.py:12
    """
    return [found.row for found in _find(model, optimizer)]


def remove_hooks(
    model: nn.Module,
    *,
    kind: Globs | None = None,
    module: Globs = "*",
    function: Globs = "*",
    feature: Globs = (),
    optimizer: Optimizers | None = None,
) -> list[ExistingHook]:
    """Remove hooks from a model and return them.

    A hook is removed if its kind, its module and its function match. Hooks of features, such as
    weight norm and parametrizations, are only removed if `feature` names them, by torch's own
    function for it: `remove_weight_norm`, `remove_parametrizations` and so on, which keep the
    current value of the weight. Global hooks are only removed if `kind` names them, because they
    belong to all models. Hooks of hookcli are never removed.

    Parameters
    ----------
    model : nn.Module
        The model, which is changed in place.
    kind : str or sequence of str, optional
        Kinds of `hookcli list hooks`, or globs of them. Default: all that are not global.
    module : str or sequence of str, default "*"
        Globs of qualified names of modules, in which `*` crosses dots. A hook on a tensor also has
        the name of the tensor.
    function : str or sequence of str, default "*"
        Globs of functions: the dotted name, or its last part.
    feature : str or sequence of str, default ()
        Globs of features whose hooks may be removed too: "weight_norm", "spectral_norm", "prune",
        "parametrize", "accelerate", "torch". Those of "lazy", "ddp", "fsdp", "tensor_parallel" and
        "torchscript" cannot be removed.
    optimizer : torch.optim.Optimizer or sequence of optimizers, optional
        Optimizers whose step hooks may be removed too.

    Returns
    -------
    list of ExistingHook
        The hooks that were removed.

    Raises
    ------
    RequestError
        A kind or feature is unknown, or a selected hook cannot be removed; none is removed then.

    Examples
    --------
    >>> hookcli.remove_hooks(model)  # doctest: +SKIP
    >>> hookcli.remove_hooks(model, kind="forward", function="log_*")  # doctest: +SKIP
    >>> hookcli.remove_hooks(model, module="encoder.*", feature="weight_norm")  # doctest: +SKIP
    """
    from hookcli.catalogue.kinds import CATALOGUE
    from hookcli.models.existing_hooks.features import FEATURES
    from hookcli.models.existing_hooks.remove import remove

    kinds = () if kind is None else arguments.strings("kind", kind)
    features = arguments.strings("feature", feature)
    _check("kind", kinds, (*CATALOGUE, PARAMETRIZATION, PATCHED_FORWARD))
    _check("feature", features, FEATURES)
    modules = arguments.strings("module", module)
    functions = arguments.strings("function", function)
    found = _find(model, optimizer)
    chosen = [
        hook
        for hook in found
        if _is_named(hook.row, kinds)
        and (hook.row.feature is None or _matches(features, hook.row.feature))
        and _is_at(hook.row, modules)
        and _matches(functions, hook.row.function, hook.row.function.rpartition(".")[2])
    ]
    return [hook.row for hook in remove(chosen, found)]


def _find(model: Any, optimizer: Optimizers | None) -> list[FoundHook]:
    from hookcli.engine.loop.given_module import check_module
    from hookcli.models.existing_hooks.find import find_hooks

    check_module(model)
    return find_hooks(model, arguments.optimizers(optimizer))


def _matches(globs: Sequence[str], *names: str) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs for name in names)


def _is_named(hook: ExistingHook, kinds: Sequence[str]) -> bool:
    """Whether the kinds select a hook; without any, all that are on the model or an optimizer."""
    if kinds:
        return _matches(kinds, hook.kind)
    return hook.module is not None or hook.type is not None


def _is_at(hook: ExistingHook, modules: Sequence[str]) -> bool:
    return _matches(modules, hook.module or "", hook.target, *hook.aliases)


def _check(what: str, globs: Sequence[str], known: Sequence[str]) -> None:
    """Check that each glob matches a known name."""
    for glob in globs:
        if not any(fnmatchcase(name, glob) for name in known):
            raise RequestError(
                unknown(what, glob),
                place=f"remove_hooks({what}={glob!r})",
                hint=try_instead(nearest(glob, known), f"choose from {', '.join(known)}"),
            )

"""Saves the batch and the weights of a step, so that other commands can repeat it."""

from __future__ import annotations

import inspect
import json
import linecache
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hookcli.models import places
from hookcli.models.batch import forward_signature
from hookcli.models.files.tensor_writer import save_whole
from hookcli.spec.training import ScriptSpec
from hookcli.training.non_finite.forward_call import ForwardCall

_ATOMS = (bool, int, float, complex, str, type(None))
_PLAIN_ARGUMENTS = (bool, int, float, str)
_WORD = re.compile(r"[A-Za-z_][\w./-]*")
_YAML = {"true", "false", "null"}  # words that are not strings in YAML


@dataclass(frozen=True, slots=True)
class SavedStep:
    """The files of a step, and the command that repeats it.

    `batch` and `weights` are paths; None if `why` tells why they could not be saved. `missing` are
    the constructor's arguments whose values the user must fill in. There is no command if no name
    of a module leads to the model. It `runs_script` if it imports a script that trains at once.
    """

    batch: str | None
    weights: str | None
    command: str | None
    missing: tuple[str, ...] = ()
    why: str | None = None
    runs_script: bool = False


class _NotPlain(Exception):  # noqa: N818  # it never leaves this module
    """A batch contains a value that opening a file cannot restore safely."""


def save_step(root: nn.Module, call: ForwardCall, *, batch: str, script: ScriptSpec) -> SavedStep:
    """Write the batch of a call and the state dict of the root; see `SavedStep`.

    `batch` is the path of the file to write; the weights get its name with ".weights" before the
    suffix. `script` is the script that runs.

    Raises
    ------
    OSError : a file cannot be written.
    """
    path = Path(batch)
    weights = path.with_suffix(f".weights{path.suffix or '.pt'}")
    try:
        save_whole(_plain(_arguments(root, call)), path)
    except _NotPlain as error:
        return SavedStep(None, None, None, why=f"the batch contains {error}")
    state = {
        name: _copy(value)
        for name, value in root.state_dict().items()
        if isinstance(value, torch.Tensor)
    }
    save_whole(state, weights)
    shown = places.show(str(path)), places.show(str(weights))
    source = _source(root, script.name)
    if source is None:
        return SavedStep(*shown, None)
    command, missing = _command(root, *shown, source)
    runs_script = source.startswith(f"{script.name}:") and not _is_guarded()
    return SavedStep(*shown, command, missing, runs_script=runs_script)


def _arguments(root: nn.Module, call: ForwardCall) -> Any:
    """Return the arguments by name, so that none is taken for a target; else a tuple of them."""
    signature = forward_signature(root)
    if signature is not None and not (call.args and _has_hooks(root)):
        try:
            bound = signature.bind(*call.args, **call.kwargs)
        except TypeError:
            return _by_position(call)
        kinds = {name: parameter.kind for name, parameter in signature.parameters.items()}
        by_name: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            if kinds[name] in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY}:
                return _by_position(call)
            if kinds[name] is inspect.Parameter.VAR_KEYWORD:
                by_name.update(value)
            else:
                by_name[name] = value
        return by_name
    return _by_position(call)


def _has_hooks(root: nn.Module) -> bool:
    """Whether hooks of the script may change the positional arguments."""
    hooks = root._forward_pre_hooks.values()
    return any(not str(getattr(hook, "__module__", "")).startswith("hookcli.") for hook in hooks)


def _by_position(call: ForwardCall) -> Any:
    if call.args and call.kwargs:
        raise _NotPlain("positional and keyword arguments that have no common form")
    return call.args or call.kwargs


def _plain(value: Any) -> Any:
    """Return a value as tensors on the CPU, numbers, strings and containers of Python."""
    if isinstance(value, torch.Tensor):
        return _copy(value)
    if isinstance(value, _ATOMS):
        return value
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if type(value) is list:
        return [_plain(item) for item in value]
    if type(value) in {tuple, torch.Size}:
        return tuple(_plain(item) for item in value)
    raise _NotPlain(f"a value of type {type(value).__name__}")


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy on the CPU: a view would save the whole memory that it is a part of."""
    plain = tensor.detach()
    if type(plain) is not torch.Tensor:
        plain = plain.as_subclass(torch.Tensor)
    return plain.cpu().clone()


def _command(root: nn.Module, batch: str, weights: str, source: str) -> tuple[str, tuple[str, ...]]:
    """Return the command, and the constructor's arguments that are not known."""
    words = ["hookcli", "grads", source, "-i", batch, "--weights", weights]
    values, missing = ({}, ()) if _is_object(source, root) else constructor_arguments(root)
    for name, value in values.items():
        words += ["--arg", f"{name}={_yaml(value)}"]
    for name in missing:
        words += ["--arg", f"{name}=..."]
    if not root.training:
        words += ["--mode", "eval"]
    dtypes = {p.dtype for p in root.parameters() if p.is_floating_point()}
    if len(dtypes) == 1 and dtypes != {torch.float32}:
        words += ["--dtype", str(dtypes.pop()).removeprefix("torch.")]
    return shlex.join(words), missing


def _is_guarded() -> bool:
    """Whether the script has a part that importing it does not run."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    return file is None or "__name__" in "".join(linecache.getlines(file))


def _source(root: nn.Module, script: str) -> str | None:
    """Return the class of a root as MODEL names it; its variable if the class is torch's own.

    None if it is neither, as a Sequential that a function of the script makes.
    """
    kind = type(root)
    main = vars(sys.modules["__main__"])
    if kind.__module__.partition(".")[0] == "torch" or "<locals>" in kind.__qualname__:
        name = next((key for key, value in list(main.items()) if value is root), None)
        return None if name is None else f"{script}:{name}"
    if kind.__module__ == "__main__":
        return f"{script}:{kind.__qualname__}"
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if file is None or places.is_installed(file):
        return f"{kind.__module__}:{kind.__qualname__}"
    return f"{places.show(file)}:{kind.__qualname__}"


def _is_object(source: str, root: nn.Module) -> bool:
    return source.rpartition(":")[2] != type(root).__qualname__


def constructor_arguments(root: nn.Module) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return arguments of the constructor of a root, and the names of those that are not known.

    A value is known if the root has an attribute with the name of the parameter, as most classes
    have. Values that equal the default are omitted.
    """
    values: dict[str, Any] = {}
    missing: list[str] = []
    try:
        parameters = inspect.signature(type(root)).parameters.values()
    except (TypeError, ValueError):
        return {}, ()
    for parameter in parameters:
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            continue
        value = vars(root).get(parameter.name, parameter.empty)
        known = isinstance(value, _PLAIN_ARGUMENTS)
        if parameter.default is parameter.empty:
            if known:
                values[parameter.name] = value
            else:
                missing.append(parameter.name)
        elif known and value != parameter.default:
            values[parameter.name] = value
    return values, tuple(missing)


def _yaml(value: Any) -> str:
    """Return a number or string as YAML, in one line."""
    if isinstance(value, str):
        return value if _WORD.fullmatch(value) and value.lower() not in _YAML else json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)

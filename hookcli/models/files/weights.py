"""`--weights`: a state dict, read without running code and loaded strictly."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import nn

from hookcli.errors import ModelError, RequestError
from hookcli.models import places
from hookcli.models.failures import message_of
from hookcli.models.files.tensors import read_tensors
from hookcli.models.sources.torch_files import STATE_KEYS
from hookcli.text import join_names

_SHOWN = 4  # names in a message
_MISFIT = re.compile(
    r"size mismatch for (\S+): copying a param with shape torch\.Size\(\[([^\]]*)\]\) from "
    r"checkpoint, the shape in current model is torch\.Size\(\[([^\]]*)\]\)"
)


def read_weights(path: str, *, sizes_only: bool) -> dict[str, torch.Tensor]:
    """Read the state dict in a file: safetensors, or written by torch.save.

    With `sizes_only` the tensors are on the meta device.

    Raises
    ------
    RequestError : the file does not exist, or does not contain a state dict.
    ModelError : the file is corrupt.

    """
    contents = read_tensors(path, f"--weights {path}", device="meta" if sizes_only else "cpu")
    state = _innermost(contents)
    if not isinstance(state, dict) or not state:
        what = "an empty dict" if isinstance(state, dict) else type(state).__name__
        raise _refusal(f"{path} must contain a state dict, got {what}", path)
    for name, value in state.items():
        if not isinstance(name, str):
            wrong = f"its key {name!r:.80} is not a string"
            raise _refusal(f"{path} is not a state dict: {wrong}", path)
        if not isinstance(value, torch.Tensor):
            wrong = f"'{name}' must be a tensor, got {type(value).__name__}"
            raise _refusal(f"{path} is not a state dict: {wrong}", path)
    return state


def _innermost(value: Any) -> Any:
    """Return the innermost dict under the keys of a checkpoint, which may contain itself."""
    seen: set[int] = set()
    while isinstance(value, dict) and id(value) not in seen:
        seen.add(id(value))
        inner = (value.get(key) for key in STATE_KEYS)
        value = next(
            (candidate for candidate in inner if isinstance(candidate, dict) and candidate), value
        )
    return value


def _refusal(message: str, path: str) -> RequestError:
    return RequestError(
        message,
        place=f"--weights {path}",
        hint="save it again: `torch.save(model.state_dict(), PATH)`",
    )


def load_weights(model: nn.Module, state: dict[str, torch.Tensor], path: str) -> None:
    """Load a state dict strictly.

    Raises
    ------
    ModelError : names are missing or unexpected, or shapes differ.

    """
    problems: list[str] = []
    missing: list[str] = []
    unexpected: list[str] = []
    try:
        result = model.load_state_dict(state, strict=False)
        missing, unexpected = list(result.missing_keys), list(result.unexpected_keys)
    except Exception as error:  # quantized modules raise KeyError, own code anything
        if not isinstance(error, RuntimeError) and places.of_error(error) is not None:
            raise
        misfits = _MISFIT.findall(message_of(error))
        if not misfits:
            kind = "" if isinstance(error, RuntimeError) else f"{type(error).__name__}: "
            problems.append(kind + message_of(error).strip().splitlines()[-1].strip())
        shown = [f"{name} is [{there}], expected [{here}]" for name, there, here in misfits]
        if shown:
            problems.append(f"different shapes: {join_names(shown, _SHOWN)}")
        known = model.state_dict()
        missing = [name for name in known if name not in state]
        unexpected = [name for name in state if name not in known]
    if missing:
        problems.append(f"missing: {join_names(missing, _SHOWN)}")
    if unexpected:
        problems.append(f"unexpected: {join_names(unexpected, _SHOWN)}")
    if problems:
        wrapped = bool(state) and all(name.startswith("module.") for name in state)
        raise ModelError(
            f"the weights do not fit the model: {'; '.join(problems)}",
            place=f"--weights {path}",
            hint="save `model.module.state_dict()`: every name starts with 'module.'"
            if wrapped
            else "pass weights of this architecture, or the `--arg` values that it was built with",
        )

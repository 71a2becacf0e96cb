"""`--weights`: a state dict, read without running code and loaded strictly."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hookcli.errors import ModelError, RequestError

_WRAPPERS = ("state_dict", "model_state_dict", "model")
_MISFIT = re.compile(
    r"size mismatch for (\S+): copying a param with shape torch\.Size\(\[([^\]]*)\]\) from "
    r"checkpoint, the shape in current model is torch\.Size\(\[([^\]]*)\]\)"
)


def read_weights(path: str, *, sizes_only: bool) -> dict[str, torch.Tensor]:
    """The state dict in a file: safetensors, or what torch.save wrote.

    With `sizes_only` the tensors are on the meta device.

    Raises
    ------
    RequestError : there is no such file, or it holds no state dict.
    ModelError : the file is corrupt.

    """
    place = f"--weights {path}"
    file = Path(path)
    if not file.is_file():
        what = "is a directory" if file.is_dir() else "does not exist"
        raise RequestError(f"{path} {what}", place=place, hint="give a .safetensors or .pt file")
    device = "meta" if sizes_only else "cpu"
    try:
        found = _safetensors(path, device) if _is_safetensors(file) else _pickled(path, device)
    except Exception as error:  # noqa: BLE001  # a corrupt file raises anything
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        unsafe = "weights_only" in str(error) or "Weights only" in str(error)
        if unsafe:
            raise RequestError(
                f"{path} holds more than tensors, and opening it could run code",
                place=place,
                hint="save it anew: torch.save(model.state_dict(), path), or as safetensors",
            ) from None
        raise ModelError(
            f"{path} cannot be read: {first}", place=place, hint="is the file whole?"
        ) from None
    return _state_dict(found, path)


def _is_safetensors(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(9)[8:9] == b"{"


def _safetensors(path: str, device: str) -> dict[str, Any]:
    from safetensors.torch import load_file

    return {k: v.to(device) for k, v in load_file(path).items()}


def _pickled(path: str, device: str) -> Any:
    return torch.load(path, map_location=device, weights_only=True)


def _state_dict(found: Any, path: str) -> dict[str, torch.Tensor]:
    if isinstance(found, dict):
        for key in _WRAPPERS:
            inner = found.get(key)
            if isinstance(inner, dict) and inner and not isinstance(found.get(key), torch.Tensor):
                return _state_dict(inner, path)
        if found and all(isinstance(v, torch.Tensor) for v in found.values()):
            return found
    raise RequestError(
        f"{path} holds no state dict but {type(found).__name__}",
        place=f"--weights {path}",
        hint="save it anew: torch.save(model.state_dict(), path)",
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def load_weights(model: nn.Module, state: dict[str, torch.Tensor], path: str) -> None:
    """Load strictly.

    Raises
    ------
    ModelError : names what is missing, unexpected or of another shape.

    """
    problems: list[str] = []
    missing: list[str] = []
    unexpected: list[str] = []
    try:
        result = model.load_state_dict(state, strict=False)
        missing, unexpected = list(result.missing_keys), list(result.unexpected_keys)
    except RuntimeError as error:
        misfits = _MISFIT.findall(str(error))
        if not misfits:
            problems.append(str(error).strip().splitlines()[-1].strip())
        shown = [f"{name} is [{there}], the model's is [{here}]" for name, there, here in misfits]
        if shown:
            problems.append(f"of another shape: {_listed(shown)}")
        known = model.state_dict()
        missing = [name for name in known if name not in state]
        unexpected = [name for name in state if name not in known]
    if missing:
        problems.append(f"missing: {_listed(missing)}")
    if unexpected:
        problems.append(f"unexpected: {_listed(unexpected)}")
    if problems:
        wrapped = bool(state) and all(name.startswith("module.") for name in state)
        raise ModelError(
            f"the weights do not fit: {'; '.join(problems)}",
            place=f"--weights {path}",
            hint="every name starts with 'module.': save the wrapped model's .module.state_dict()"
            if wrapped
            else "take the weights of this architecture, or give its --arg",
        )

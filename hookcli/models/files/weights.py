"""`--weights`: a state dict, read without running code and loaded strictly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import nn

from hookcli.errors import ModelError, RequestError
from hookcli.models import places
from hookcli.models.converted.compiled import WRAPPED, is_wrapper
from hookcli.models.failures import message_of
from hookcli.models.files.sharded import is_index, read_shards, weights_in
from hookcli.models.files.tensors import read_tensors
from hookcli.models.sources.torch_files import STATE_KEYS
from hookcli.text import join_names

_SHOWN = 4  # names in a message
_MISFIT = re.compile(
    r"size mismatch for (\S+): copying a param with shape torch\.Size\(\[([^\]]*)\]\) from "
    r"checkpoint, the shape in current model is torch\.Size\(\[([^\]]*)\]\)"
)


def read_weights(path: str, *, sizes_only: bool) -> Iterator[dict[str, torch.Tensor]]:
    """Yield the state dict in a file: safetensors, or written by torch.save.

    An index yields one part for each file that it names, which is read when it is asked for. A
    folder stands for the index or the file of weights in it. With `sizes_only` the tensors are on
    the meta device.

    Raises
    ------
    RequestError : the file does not exist, or does not contain a state dict.
    ModelError : the file is corrupt, or is not what its index says.

    """
    place, device = f"--weights {path}", "meta" if sizes_only else "cpu"
    file = weights_in(path, place)
    if is_index(file):
        for part in read_shards(file, place, device=device):
            yield _checked(part, file, path)
        return
    yield _checked(_innermost(read_tensors(file, place, device=device)), file, path)


def _checked(state: Any, file: str, path: str) -> dict[str, torch.Tensor]:
    """Return the value if it is a state dict; `path` is what the user named."""
    if not isinstance(state, dict) or not state:
        what = "an empty dict" if isinstance(state, dict) else type(state).__name__
        raise _refusal(f"{file} must contain a state dict, got {what}", path)
    for name, value in state.items():
        if not isinstance(name, str):
            wrong = f"its key {name!r:.80} is not a string"
            raise _refusal(f"{file} is not a state dict: {wrong}", path)
        if not isinstance(value, torch.Tensor):
            wrong = f"'{name}' must be a tensor, got {type(value).__name__}"
            raise _refusal(f"{file} is not a state dict: {wrong}", path)
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


def load_weights(model: nn.Module, parts: Iterable[dict[str, torch.Tensor]], path: str) -> None:
    """Load the parts of a state dict strictly. A tied parameter may be in it under one name only.

    Raises
    ------
    ModelError : names are missing or unexpected, or shapes differ.

    """
    loading = _Loading(model)
    for part in parts:
        loading.add(part)
    missing, unexpected = loading.missing(), loading.unexpected
    problems = loading.problems
    if missing:
        problems.append(f"missing: {join_names(missing, _SHOWN)}")
    if unexpected:
        problems.append(f"unexpected: {join_names(unexpected, _SHOWN)}")
    if problems:
        raise ModelError(
            f"the weights do not fit the model: {'; '.join(problems)}",
            place=f"--weights {path}",
            hint=_hint(missing, unexpected),
        )


class _Loading:
    """Loads parts of a state dict, and notes what does not fit."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._wrapped = any(is_wrapper(module) for module in model.modules())
        self._missing: list[str] | None = None  # from every part so far
        self.unexpected: list[str] = []
        self.problems: list[str] = []

    def add(self, state: dict[str, torch.Tensor]) -> None:
        if not self._wrapped:  # saved from a model that torch.compile had wrapped
            state = {name.replace(f"{WRAPPED}.", ""): tensor for name, tensor in state.items()}
        try:
            result = self._model.load_state_dict(state, strict=False)
            missing, unexpected = list(result.missing_keys), list(result.unexpected_keys)
        except Exception as error:  # quantized modules raise KeyError, own code anything
            if not isinstance(error, RuntimeError) and places.of_error(error) is not None:
                raise
            self._note(error)
            known = self._model.state_dict()
            missing = [name for name in known if name not in state]
            unexpected = [name for name in state if name not in known]
        self.unexpected += unexpected
        if self._missing is None:
            self._missing = missing
        else:
            still = set(missing)
            self._missing = [name for name in self._missing if name in still]

    def missing(self) -> list[str]:
        """Return the names that no part had, unless they are tied to one that it had."""
        names = self._missing or []
        absent, held = set(names), dict[int, str]()
        for table in ("_parameters", "_buffers"):
            for tensor, name in _tensors(self._model, table):
                if name not in absent:
                    held.setdefault(id(tensor), name)
        tied = {
            name
            for table in ("_parameters", "_buffers")
            for tensor, name in _tensors(self._model, table)
            if id(tensor) in held
        }
        return [name for name in names if name not in tied]

    def _note(self, error: Exception) -> None:
        misfits = _MISFIT.findall(message_of(error))
        if not misfits:
            kind = "" if isinstance(error, RuntimeError) else f"{type(error).__name__}: "
            self.problems.append(kind + message_of(error).strip().splitlines()[-1].strip())
        shown = [f"{name} is [{there}], expected [{here}]" for name, there, here in misfits]
        if shown:
            self.problems.append(f"different shapes: {join_names(shown, _SHOWN)}")


def _tensors(model: nn.Module, table: str) -> Iterator[tuple[torch.Tensor, str]]:
    """Yield the tensors of a table of every module under each of their names."""
    for prefix, module in model.named_modules(remove_duplicate=False):
        for name, tensor in getattr(module, table).items():
            if tensor is not None:
                yield tensor, f"{prefix}.{name}" if prefix else name


def _hint(missing: list[str], unexpected: list[str]) -> str:
    bare = {name.removeprefix("module.") for name in unexpected if name.startswith("module.")}
    if len(bare) == len(unexpected) and bare & set(missing):
        return "save `model.module.state_dict()`: every name starts with 'module.'"
    of_file = _common_prefix(unexpected, missing)
    if of_file:
        return f"build the class that was saved: names in the file begin with '{of_file}'"
    of_model = _common_prefix(missing, unexpected)
    if of_model:
        return f"save the whole model: names in the file lack the prefix '{of_model}'"
    return "pass weights of this architecture, or the `--arg` values that it was built with"


def _common_prefix(longer: list[str], shorter: list[str]) -> str:
    """Return the prefix that most of `longer` have before a name of `shorter`; "" if none."""
    names = set(shorter)
    found = Counter(
        name[: at + 1]
        for name in longer
        for at in (name.find("."),)
        if at > 0 and name[at + 1 :] in names
    )
    prefix, count = next(iter(found.most_common(1)), ("", 0))
    return prefix if 2 * count >= len(shorter) else ""

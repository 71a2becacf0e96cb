"""In-place edits: finds arguments that the user's hook changed without returning a new value.

Tensors in attributes of an object are not edited by hookcli's own actions, which is a finding too.

PyTorch counts in-place changes of a tensor in its version, but not changes through `.data` or
through a NumPy array that shares its memory. To find those, copies are kept and compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from hookcli.actions.event import Event
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.hooks.context import Context
from hookcli.hooks.values import PathTensors
from hookcli.models.bits import same_bits
from hookcli.models.nested import leaves
from hookcli.report.recording import HookFinding
from hookcli.spec.hooks import HookSpec
from hookcli.torch_private import disable_current_modes

_CONTAINERS = (torch.Tensor, tuple, list, dict)
_PLAIN = {torch.Tensor, torch.nn.Parameter}


@dataclass(slots=True)
class _Seen:
    """A tensor as it was before the hook."""

    label: str
    tensor: torch.Tensor
    version: int
    copy: torch.Tensor | None  # None: only the version is compared

    def edited(self, context: Context) -> bool:
        if _version(self.tensor) != self.version:
            return True
        if self.copy is None:
            return False
        if type(self.tensor) not in _PLAIN:
            return (context.difference(self.copy, self.tensor) or 0.0) > 0.0
        with torch.no_grad(), disable_current_modes():
            return not same_bits(self.copy, self.tensor.detach())


class ArgumentSnapshot:
    """The arguments of the user's function, as they were before it ran."""

    def __init__(self, spec: HookSpec, event: Event, context: Context) -> None:
        self._spec, self._event, self._context = spec, event, context
        self._kind = CATALOGUE[spec.kind]
        alone = self._kind.edits_in_place or self._kind.keeps_state
        self._arguments = [] if alone else _arguments(spec, event)
        self._value = event.value
        self._seen: dict[int, _Seen] = {}
        mine = {id(tensor) for _, tensor, _ in leaves(self._value)}
        for label, tensor in self._labelled():
            if id(tensor) not in self._seen:
                # Each module gets the whole state dict; only the module's own tensors are copied.
                copied = not self._of_state_dict or id(tensor) in mine
                copy = _copy(tensor) if copied else None
                self._seen[id(tensor)] = _Seen(label, tensor, _version(tensor), copy)
        self._value_copies = [
            (path, self._copy_of(tensor)) for path, tensor, _ in leaves(self._value)
        ]
        self._places = self._tensor_ids()

    @property
    def _of_state_dict(self) -> bool:
        return self._kind.phases == ("state_dict",)

    def _labelled(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield each tensor with its label: its path in an argument, else in the event's value."""
        named: set[int] = set()
        for name, argument in self._arguments:
            for path, tensor, via in leaves(argument):
                if not via or argument is self._value:
                    named.add(id(tensor))
                    yield name + path, tensor
        for path, tensor, _ in leaves(self._value):
            if id(tensor) not in named:
                yield path, tensor

    def _copy_of(self, tensor: torch.Tensor) -> torch.Tensor:
        copy = self._seen[id(tensor)].copy
        return tensor if copy is None else copy

    def _tensor_ids(self) -> dict[str, int]:
        """Return the id of the tensor at each label; empty if hooks of this kind may replace them.

        Entries of a state dict may be replaced.
        """
        if self._kind.edits_in_place or self._of_state_dict:
            return {}
        return {label: id(tensor) for label, tensor in self._labelled()}

    def check(self, *, returned: bool) -> PathTensors | None:
        """Report an edited argument as a finding.

        Returns copies of the value's tensors as they were before, or None if nothing was edited.
        Items that were put into a container are a finding only if nothing was `returned`: a
        dictionary that is changed and returned is a normal return.
        """
        edited = [seen.label for seen in self._seen.values() if seen.edited(self._context)]
        now = self._tensor_ids()
        moved = (label for label in self._places if now.get(label) != self._places[label])
        added = (label for label in now if label not in self._places)
        put = [label for label in (*moved, *added) if label not in edited]
        if not (edited or put):
            return None
        if not returned:
            edited += put
        if edited and not self._kind.edits_in_place:
            self._tell(edited)
        return self._value_copies

    def _tell(self, edited: list[str]) -> None:
        spec = self._spec
        # "its argument" is enough if the function has only one.
        named = [label for label in edited if label]
        single = len(self._arguments) < 2 and [name for name, _ in self._arguments] == edited
        where = f" ({', '.join(named)})" if named and not single else ""
        gradient = "backward" in self._kind.phases
        message = f"the hook changed its argument{where} in place instead of returning a new value"
        message += "; other gradients that share it may have changed too" * gradient
        problem = f"{spec.kind} edits {', '.join(named)}"
        self._context.find(
            HookFinding("hook_misuse", self._event.target, problem, message, spec.place)
        )


def _arguments(spec: HookSpec, event: Event) -> list[tuple[str, Any]]:
    """Return the arguments that contain tensors, with their names in the catalogue's signature."""
    values = event.arguments
    function = event.node if CATALOGUE[spec.kind].pair else "hook"
    names = _names(CATALOGUE[spec.kind].signature, function or "hook", len(values))
    return [
        (name, argument)
        for name, argument in zip(names, values, strict=True)
        if isinstance(argument, _CONTAINERS) or argument is event.value
    ]


@lru_cache(maxsize=256)
def _names(signature: str, function: str, count: int) -> tuple[str, ...]:
    for arguments in re.findall(rf"\b{function}\(([^()]*)\)", signature):
        names = tuple(name.strip() for name in arguments.split(",") if name.strip())
        if len(names) == count:
            return names
    return ("",) * count


def _version(tensor: torch.Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy that neither autograd nor dispatch modes see."""
    with torch.no_grad(), disable_current_modes():
        return tensor.detach().clone()


def unchanged_attributes(spec: HookSpec, target: str) -> HookFinding:
    """Return the finding about tensors in attributes of an object, which no action changes."""
    message = "tensors in attributes of an object are not changed: use a function to change them"
    return HookFinding("hook_misuse", target, "attributes", message, spec.place, "warning")

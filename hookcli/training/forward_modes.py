"""The forwards of a root: the modes in which they ran, and those without gradients."""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from hookcli.models import module_tree, places
from hookcli.torch_private import BatchNormBase, DropoutBase, disable_current_modes
from hookcli.training.source.frame_source import user_frame
from hookcli.training.steps import ModeCounts

_MOST_READ = 1 << 22  # elements of an input
_MOST_SIZES = 3  # inputs of forwards without gradients whose size is read
_FEW, _MUCH = 64, 8.0  # values of later inputs that are read, and times the size of the first ones
_MOST_FORWARDS = 10_000  # without a step, whose modes are remembered


@dataclass(slots=True)
class ForwardModes:
    """The modules with dropout or batch normalization in one forward, by their modes.

    `step` is that of a sampled step. `called_in_eval` tells the mode of the module that the script
    called. `trains`: a backward pass for the parameters has reached it. A forward may also be made
    for something else with gradients, such as those of an input in an adversarial attack.
    """

    step: int | None
    train: frozenset[str]
    eval: frozenset[str]
    called_in_eval: bool
    trains: bool = False


class RootModes:
    """The modes of a root's forwards: those of the step that runs now, and counts of all steps.

    `train_modules` and `eval_modules` are the names of layers that were in each mode in forwards
    that were trained, and `eval_steps` the sampled steps with some in eval mode.
    """

    def __init__(self, root: nn.Module) -> None:
        self._root = root
        self._layers = [
            (names[0], module)
            for module, names in module_tree.modules(root)
            if isinstance(module, BatchNormBase | DropoutBase)
        ]
        self._forwards: list[ForwardModes] = []  # of the step that runs now
        self._has_plain = False  # of a forward in which all modules are in train mode
        self._known: tuple[list[bool], frozenset[str], frozenset[str]] | None = None
        self.counts = ModeCounts()
        self.train_modules: set[str] = set()
        self.eval_modules: set[str] = set()
        self.eval_steps: set[int] = set()

    def references(self) -> int:
        """Return how many references to the root this has."""
        return 1 + sum(layer is self._root for _, layer in self._layers)

    def let_go(self) -> None:
        """Keep what was counted, and nothing of the root."""
        self._root = nn.Module()
        self._layers = []
        self._known = None

    @property
    def depends(self) -> bool:
        """Whether a layer of the root depends on its mode."""
        return bool(self._layers)

    @property
    def last(self) -> ForwardModes | None:
        """The modes of the last forward; None if nothing was in eval mode since the last step."""
        return self._forwards[-1] if self._forwards else None

    def note(self, step: int | None, called: nn.Module) -> None:
        """Note the modes of dropout that drops something, and of batch normalization.

        Each forward does this, so that the names are only looked up if a mode has changed.
        """
        flags = [layer.training for _, layer in self._layers]
        known = self._known
        if called is not self._root or step is not None or known is None or known[0] != flags:
            inside = None if called is self._root else set(map(id, called.modules()))
            layers = [
                (name, layer.training)
                for name, layer in self._layers
                if getattr(layer, "p", 1) != 0 and (inside is None or id(layer) in inside)
            ]
            train = frozenset(name for name, training in layers if training)
            known = flags, train, frozenset(name for name, training in layers if not training)
            self._known = known if called is self._root else None
        if step is None and not known[2] and called.training and not self._forwards:
            self._has_plain = True  # nothing is in eval mode: no need to know what it trains
            return
        self._forwards.append(ForwardModes(step, known[1], known[2], not called.training))
        if len(self._forwards) > _MOST_FORWARDS:
            del self._forwards[: _MOST_FORWARDS // 2]

    def ended_step(self, step: int | None) -> None:
        """Count the modes of the forwards that were trained in a step; None if it was no step."""
        plain, self._has_plain = self._has_plain, False
        if not self._forwards:
            if plain and step is not None:
                self.counts.count(step, modules=False, called=False)
            return
        trained = [modes for modes in self._forwards if modes.trains]
        for modes in trained:
            self.train_modules |= modes.train
            self.eval_modules |= modes.eval
            self.eval_steps |= {modes.step} if modes.eval and modes.step is not None else set()
        if trained and step is not None:
            self.counts.count(
                step,
                modules=any(modes.eval for modes in trained),
                called=any(modes.called_in_eval for modes in trained),
            )
        self._forwards.clear()


def note_trained(forwards: Sequence[ForwardModes]) -> None:
    """Note that a backward pass for the parameters has reached these forwards."""
    for modes in forwards:
        modes.trains = True


@dataclass(frozen=True, slots=True)
class InputSize:
    """The size of an input: its root mean square, its range, and the line that calls the root."""

    size: float
    low: float
    high: float
    width: int  # of the last dimension
    place: str | None


def input_size(args: Sequence[Any]) -> InputSize | None:
    """Return the size of the first argument; None if it is no batch of real numbers."""
    given = args[0] if args else None
    if type(given) is not torch.Tensor or not given.is_floating_point() or given.dim() < 2:
        return None
    if given.layout is not torch.strided or given.is_meta or not 0 < given.numel() <= _MOST_READ:
        return None
    with torch.no_grad(), disable_current_modes():
        values = given.detach().float()
        size = float(values.square().mean().sqrt())
        if not math.isfinite(size):
            return None
        place = places.of_frame(user_frame(sys._getframe(1)))
        return InputSize(size, float(values.min()), float(values.max()), given.shape[-1], place)


class UngradedForwards:
    """The forwards of a root without gradients: how many, by mode, and the sizes of some inputs.

    `samples` are those of the forwards in train mode that get one tensor several times in a row:
    their dropout draws samples of an output.
    """

    def __init__(self) -> None:
        self.in_train = self.in_eval = self.samples = 0
        self.sizes: list[InputSize] = []  # after a forward with gradients
        self.larger: InputSize | None = None  # than these, of a later one
        self._has_trained = False
        self._given: weakref.ref[torch.Tensor] | None = None  # of the last call in train mode
        self._is_first = True  # whether that was the first one with this tensor

    def note(self, args: tuple[Any, ...], *, training: bool) -> None:
        """Note a forward."""
        if self._has_trained and len(self.sizes) < _MOST_SIZES:
            size = input_size(args)
            self.sizes += [] if size is None else [size]
        elif self.sizes and self._is_larger(args[0] if args else None):
            self.larger = input_size(args) or self.larger
        if not training:
            self.in_eval += 1
            return
        self.in_train += 1
        given = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if given is not None and self._given is not None and self._given() is given:
            self.samples += 2 if self._is_first else 1
            self._is_first = False
            return
        self._is_first = True
        self._given = None if given is None else weakref.ref(given)

    def _is_larger(self, given: Any) -> bool:
        """Return whether a few values of an input are much larger than those before."""
        if type(given) is not torch.Tensor or not given.is_contiguous() or not given.is_cpu:
            return False
        if not given.is_floating_point() or not given.numel():
            return False
        known = (*self.sizes, *(() if self.larger is None else (self.larger,)))
        with torch.no_grad(), disable_current_modes():
            few = given.detach().view(-1)[:: max(1, given.numel() // _FEW)]
            return bool(few.abs().max() > _MUCH * max(one.size for one in known))

    def trained(self) -> None:
        """Note a forward with gradients in between."""
        self._has_trained = True
        self._given = None

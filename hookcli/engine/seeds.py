"""Seeds: torch, random and numpy are seeded before build, inputs and every forward."""

from __future__ import annotations

import random
import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_waiting: int | None = None  # the seed with which `seed_all` told devices to begin


def seed_all(seed: int) -> None:
    """Seed every generator that the process has loaded.

    torch.manual_seed also queues the seed for each device that is not initialized yet, with the
    stack of its caller, which takes up to a millisecond. That is not done for a seed that waits.
    """
    global _waiting  # noqa: PLW0603  # one for the process, as are the generators
    if _waiting == seed == torch.initial_seed() and _no_device_is_initialized():
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)
        _waiting = seed
    random.seed(seed)
    numpy = _numpy_random()
    if numpy is not None:
        numpy.seed(seed % 2**32)


def _no_device_is_initialized() -> bool:
    device = torch.accelerator.current_accelerator()
    if device is None or device.type == "cuda":
        return not torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return False


def has_drawn(seed: int, device: str) -> bool:
    """Return whether torch drew random numbers since `seed_all`; True if that is not known."""
    if not torch.equal(torch.get_rng_state(), torch.Generator().manual_seed(seed).get_state()):
        return True
    if not device.startswith("cuda"):
        return device != "cpu"
    fresh = torch.Generator(device).manual_seed(seed)
    return not torch.equal(torch.cuda.get_rng_state(device), fresh.get_state())


def has_drawn_any(seed: int, device: str) -> bool:
    """Return whether torch, random or numpy drew random numbers since `seed_all`."""
    if has_drawn(seed, device) or random.getstate() != random.Random(seed).getstate():
        return True
    numpy = _numpy_random()
    if numpy is None:
        return False
    fresh = numpy.RandomState(seed % 2**32).get_state()
    return any(str(a) != str(b) for a, b in zip(numpy.get_state(), fresh, strict=True))


def _numpy_random() -> Any:
    """Return numpy.random if numpy is loaded; None too if a model put a stub in its place."""
    random_ = getattr(sys.modules.get("numpy"), "random", None)
    return random_ if hasattr(random_, "set_state") else None


@contextmanager
def generators_kept() -> Iterator[None]:
    """Restore the state of every generator at the end of the block, bit by bit."""
    state = random.getstate()
    numpy = _numpy_random()
    numpy_state = None if numpy is None else numpy.get_state()
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(devices=devices):
        try:
            yield
        finally:
            random.setstate(state)
            if numpy is not None:
                numpy.set_state(numpy_state)


_COMMON = {dict, bool, int, float, str, tuple, list, set, type(None), OrderedDict}


class ModuleGenerators:
    """The states of the random generators that are attributes of modules."""

    def __init__(self, modules: Iterable[Any]) -> None:
        self._of_torch: list[tuple[torch.Generator, torch.Tensor]] = []
        self._of_python: list[tuple[random.Random, Any]] = []
        for module in modules:
            for value in vars(module).values():
                kind = type(value)
                if kind in _COMMON:
                    continue
                if issubclass(kind, random.Random):
                    self._of_python.append((value, value.getstate()))
                elif isinstance(value, torch.Generator):
                    self._of_torch.append((value, value.get_state()))

    def restore(self) -> None:
        """Restore the states."""
        for generator, state in self._of_torch:
            generator.set_state(state)
        for python_generator, before in self._of_python:
            python_generator.setstate(before)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Restore the states at the end of the block."""
        try:
            yield
        finally:
            self.restore()

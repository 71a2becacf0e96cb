"""What a model's modules override of `nn.Module`, when hookcli or torch failed because of it.

A class may define `train(self, loader, epochs)`, and an object may have no `_modules`. torch's own
code then raises errors too, in lines that are not the user's.
"""

from __future__ import annotations

import gc
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from types import CodeType, TracebackType
from typing import Any, NamedTuple

_STORED = ("_modules", "_parameters", "_buffers")
_USERS_OWN = {"forward", "extra_repr", "training", "dump_patches", "call_super_init"}
_AT_ANY_LINE = {"__getattribute__", "__class__", "__hash__"}  # used without their names


class Override(NamedTuple):
    """What differs from `nn.Module`: the class that is at fault, and what is wrong."""

    kind: type
    sentence: str


def behind(trace: TracebackType | None) -> Override | None:
    """Return what a live module overrides and the last two calls of a traceback use, if anything.

    An override whose code raised has the user's line in the traceback, which says more.
    """
    frames = [frame for frame, _ in traceback.walk_tb(trace)]
    calls: Counter[tuple[int, CodeType]] = Counter()
    for frame in frames:
        calls[id(frame.f_locals.get("self")), frame.f_code] += 1
    used = _AT_ANY_LINE.union(*(frame.f_code.co_names for frame in frames[-2:]))
    for module in _modules():
        if any(calls[id(module), code] > 1 for code in {frame.f_code for frame in frames}):
            kind = type(module)
            return Override(kind, f"{kind.__name__} contains itself")
        for name in _STORED:
            stored = object.__getattribute__(module, "__dict__").get(name)
            if not issubclass(type(stored), dict):
                kind = type(module)
                return Override(kind, f"{name} of {kind.__name__} is not a dictionary")
        for kind, name in _overridden(module):
            if name in used:
                return Override(
                    kind, f"{kind.__name__}.{name} cannot be used as nn.Module.{name} can"
                )
    return None


def _modules() -> Iterator[Any]:
    if "torch.nn" not in sys.modules:  # the import of torch failed
        return
    base = sys.modules["torch.nn"].Module
    gc.unfreeze()  # the model was built before
    for value in gc.get_objects():
        if base in type.__dict__["__mro__"].__get__(type(value)):
            yield value


def _overridden(module: Any) -> Iterator[tuple[type, str]]:
    """Each name of `nn.Module` that the object or a class of the user's defines."""
    kind: type = type(module)
    base = sys.modules["torch.nn"].Module
    own = vars(base).keys() - _USERS_OWN
    for name in own & object.__getattribute__(module, "__dict__").keys():
        yield kind, name
    for part in kind.__mro__:
        if part is base:
            return
        package = str(part.__module__).partition(".")[0]
        if package not in {"torch", "hookcli"}:
            for name in (own | _AT_ANY_LINE) & vars(part).keys():
                if name != "__hash__" or vars(part)[name] is None:
                    yield part, name

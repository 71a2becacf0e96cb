"""Runs of models that tests make before they reach the changed code: kept, and not made again.

A rule is judged after the model ran. So of each test the first fork keeps what runs returned, and
which statements they reached. In a mutant's fork a run returns the same at once, unless it reaches
the changed statement or is asked for something else.
"""

from __future__ import annotations

import contextlib
import importlib
import pickle
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
# What runs models: their callers only read what these return.
_PLACES = (
    "hookcli.engine.attempt:Session.run",
    "hookcli.api.live_diff:_Live.run",
    "hookcli.api.live_diff:_Live.closely",
    "hookcli.api.live:run_live",
)


class Run(NamedTuple):
    """What a run was asked for, which statements it reached, and what it returned, pickled."""

    request: str
    reached: frozenset[int]
    result: bytes


class Runs:
    """The runs of each test, by its place and number."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str, int], Run] = {}
        self._test, self._counts, self._inside = "", Counter[str](), False
        self._reached: Any = None  # while runs are recorded
        self._changed: frozenset[int] = frozenset()

    def begin(self, test: str) -> None:
        """Begin with the first run of a test."""
        self._test, self._counts = test, Counter()

    def record(self, reached: Any) -> None:
        """Keep the runs that follow; `reached` is the array to which marked statements write."""
        self._reached = reached
        self._install()

    def replay(self, changed: Collection[int]) -> None:
        """Return known results, except of runs that reach one of the changed statements."""
        self._reached, self._changed = None, frozenset(changed)
        self._install()

    def forget(self, test: str) -> None:
        """Let a test make its runs, as it needs more of them than what they return."""
        self.known = {key: run for key, run in self.known.items() if key[0] != test}

    def _install(self) -> None:
        for place in _PLACES:
            path, _, name = place.partition(":")
            holder: Any = importlib.import_module(path)
            *classes, name = name.split(".")
            for one in classes:
                holder = getattr(holder, one)
            original = getattr(holder, name)
            original = getattr(original, "original", original)
            wrapper = self._wrapped(place, original)
            holders = [holder] if classes else [*sys.modules.values()]
            for one in holders:
                held = vars(one).get(name) if hasattr(one, "__dict__") else None
                if held is not None and getattr(held, "original", held) is original:
                    setattr(one, name, wrapper)

    def _wrapped(self, place: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return original(*args, **kwargs)
            self._counts[place] += 1
            key = self._test, place, self._counts[place]
            request = _request(*args, *kwargs.values())
            if self._reached is None:
                run = self.known.get(key)
                if run and run.request == request and not run.reached & self._changed:
                    return pickle.loads(run.result)
            self._inside = True
            try:
                if self._reached is None:
                    return original(*args, **kwargs)
                before = bytes(self._reached[:])
                self._reached[:] = bytes(len(before))
                try:
                    result = original(*args, **kwargs)
                    inside = bytes(self._reached[:])
                finally:
                    both = int.from_bytes(before, "big") | int.from_bytes(self._reached[:], "big")
                    self._reached[:] = both.to_bytes(len(before), "big")
            finally:
                self._inside = False
            numbers = frozenset(number for number, was in enumerate(inside) if was)
            with contextlib.suppress(Exception):  # what cannot be pickled is not kept
                self.known[key] = Run(request, numbers, pickle.dumps(result))
            return result

        wrapper.original = original  # type: ignore[attr-defined]
        return wrapper


def _request(*args: Any) -> str:
    """Return what a run is asked for, as far as it is not the model and its batch."""
    plain = [arg for arg in args if isinstance(arg, int | str) or _is_spec(arg)]
    plain += [getattr(arg, "_spec", None) for arg in args]
    return _ADDRESS.sub("", repr(plain))


def _is_spec(value: object) -> bool:
    return type(value).__module__ == "hookcli.spec.request"

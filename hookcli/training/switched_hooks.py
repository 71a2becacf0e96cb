"""Hooks that are removed and put back at each step, without the cost of new handles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


class SwitchedHooks:
    """Registered hooks, by their handles. They are on until `off`, and again after `on`.

    Each entry is one that a handle would remove: a dictionary of hooks of PyTorch's, the number of
    the handle, and the hook, or a flag of it.
    """

    def __init__(self, handles: Iterable[Any]) -> None:
        self._entries: list[tuple[dict[int, Any], int, Any]] = []
        self._removals: list[tuple[Callable[[int, None], Any], int]] = []
        for handle in handles:
            for reference in (handle.hooks_dict_ref, *handle.extra_dict_ref):
                hooks = reference()
                if hooks is not None and handle.id in hooks:
                    self._entries.append((hooks, handle.id, hooks[handle.id]))
                    self._removals.append((hooks.pop, handle.id))
        self.is_on = True

    def on(self) -> None:
        """Put the hooks back, behind the other ones."""
        self.is_on = True
        for hooks, key, value in self._entries:
            hooks[key] = value

    def off(self) -> None:
        """Remove the hooks."""
        self.is_on = False
        for remove, key in self._removals:
            remove(key, None)

    def are_in(self, hooks: Any) -> bool:
        """Return whether this is the dictionary of the first hook: a script may replace it."""
        return bool(self._entries) and self._entries[0][0] is hooks

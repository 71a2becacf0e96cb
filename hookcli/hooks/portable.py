"""Hooks as objects that survive what models do with hooked modules: copying, pickling, sending."""

from __future__ import annotations

from typing import Any


class _Inert:
    """What a hook is once it left the process in which it stands."""

    def __call__(self, *_: Any, **__: Any) -> None: ...


class Portable:
    """Stays itself in a deep copy, and becomes nothing in a pickle."""

    __slots__ = ()

    def __deepcopy__(self, _memo: dict[int, Any]) -> Portable:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _Inert, ()

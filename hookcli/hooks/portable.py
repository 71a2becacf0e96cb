"""Hook objects that can be copied, pickled and sent to processes together with their modules."""

from __future__ import annotations

from typing import Any


class _Inert:
    """What a hook becomes in another process: a function that does nothing."""

    def __call__(self, *_: Any, **__: Any) -> None: ...


class Portable:
    """A hook that is not copied by `deepcopy`, and is pickled as a function that does nothing."""

    __slots__ = ()

    def __deepcopy__(self, _memo: dict[int, Any]) -> Portable:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _Inert, ()

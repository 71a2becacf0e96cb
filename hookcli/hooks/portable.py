"""Hook objects that can be copied, pickled and sent to processes together with their modules."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def fail_open(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that gives errors of hookcli's own to `Context.failed`, if that is set.

    The object has a hook as `_hook`. The method then returns None, so that PyTorch goes on.
    """

    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(self, *args, **kwargs)
        except Exception as error:
            if not _is_told(self, error):
                raise
            return None

    return call


def _is_told(self: Any, error: Exception) -> bool:
    """Return whether the run goes on without hooks after this error."""
    try:
        failed = self._hook.context.failed
    except AttributeError:
        return False
    return failed is not None and bool(failed(error))


class _Inert:
    """What a hook becomes in another process: a function that does nothing."""

    def __call__(self, *_: Any, **__: Any) -> None: ...


class Portable:
    """A hook that is not copied by `deepcopy`, and is pickled as a function that does nothing."""

    __slots__ = ()

    def __init_subclass__(cls, *, guarded: bool = False, **kwargs: Any) -> None:
        """Let a hook that PyTorch calls fail open, unless it is `guarded` by itself."""
        super().__init_subclass__(**kwargs)
        own = vars(cls).get("__call__")
        if own is not None and not guarded:
            cls.__call__ = fail_open(own)  # type: ignore[method-assign]

    def __deepcopy__(self, _memo: dict[int, Any]) -> Portable:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _Inert, ()

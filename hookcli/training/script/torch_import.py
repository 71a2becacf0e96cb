"""Notices that the script has imported torch, and leaves no trace of it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # known to type checkers: importing typing is not what plain Python does
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
else:
    ModuleSpec = sys.modules["_frozen_importlib"].ModuleSpec


class TorchFinder:
    """The first finder of sys.meta_path until torch has been imported; then `call` is called.

    Other finders find torch. Their spec gets a class that notices when Python declares the import
    as complete, and then gets its own class back: no frame of hookcli is in a traceback of torch's
    import, and the spec and the loader are what they are without hookcli.
    """

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of torch, and None for all other modules."""
        if name != "torch":
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if find is None else find(name, path, target)
            if spec is not None:
                if type(spec) is ModuleSpec and spec.origin is not None:
                    spec.__class__ = _class_with(self._complete)
                return spec
        return None

    def _complete(self) -> None:
        if "torch" in sys.modules and self in sys.meta_path:  # otherwise the import has failed
            sys.meta_path.remove(self)
            self._call()


def _class_with(complete: Callable[[], None]) -> type[ModuleSpec]:
    """Return a class whose instances call `complete` when their module has been imported."""

    def get(self: ModuleSpec) -> bool:
        return bool(self.__dict__.get("_initializing", False))

    def put(self: ModuleSpec, value: bool) -> None:
        before, self.__dict__["_initializing"] = get(self), value
        if before and not value:
            self.__class__ = ModuleSpec
            complete()

    names = {"_initializing": property(get, put), "__module__": ModuleSpec.__module__}
    return type("ModuleSpec", (ModuleSpec,), names)

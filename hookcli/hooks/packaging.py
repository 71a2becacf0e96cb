"""Attaching to torch.package: what becomes of each Python module as an archive is closed.

The archive holds the model, with the modules of the user's own that define it; whatever else they
import is left out, as it is installed. `options: {modules: [...]}` of a hook adds globs to what is
mocked, stored or left out.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn
from torch.package.package_exporter import PackageExporter

from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable
from hookcli.models import walk


class PackageHook(Portable):
    """A hook of an exporter."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def __call__(self, exporter: PackageExporter, name: str) -> None:
        """As torch calls it."""
        self._hook.fire(Site(name), None, lambda _: (exporter, name))


def _own_modules(root: nn.Module) -> list[str]:
    """Names of the Python modules that define the model and are not installed."""
    names = {type(module).__module__ for module, _ in walk.modules(root)}
    return sorted(name for name in names if _is_users(name))


def _is_users(name: str) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None)
    return (
        file is not None
        and "site-packages" not in Path(file).parts
        and name.partition(".")[0] not in sys.stdlib_module_names
    )


def _wanted(hooks: list[Hook], what: str) -> list[str]:
    return [
        pattern
        for hook in hooks
        if hook.spec.kind == f"package_{what}"
        for pattern in hook.spec.options.get("modules", ())
    ]


def export(root: nn.Module, hooks: list[Hook]) -> None:
    """Package the model into a file that is thrown away, with these hooks in place.

    Raises whatever torch.package raises for a model that cannot be packaged.
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.package's own, of typed storages
        with PackageExporter(str(Path(folder) / "model.pt")) as exporter:
            for hook in hooks:
                register: Callable[..., Any] = getattr(
                    exporter, f"register_{hook.spec.kind.removeprefix('package_')}_hook"
                )
                register(PackageHook(hook))
                hook.attached += 1
            for pattern in _wanted(hooks, "mock"):
                exporter.mock(pattern, allow_empty=True)
            for pattern in _wanted(hooks, "extern"):
                exporter.extern(pattern, allow_empty=True)
            for pattern in (*_wanted(hooks, "intern"), *_own_modules(root)):
                exporter.intern(pattern, allow_empty=True)
            exporter.extern("**", allow_empty=True)
            exporter.save_pickle("model", "model.pkl", root)

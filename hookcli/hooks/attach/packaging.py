"""Attaches to torch.package: reports how each Python module is handled as an archive is closed.

The archive contains the model and the user's own Python modules that are loaded. Installed modules
are not stored. Patterns under `run.package` have precedence.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torch import nn
from torch.package.glob_group import GlobGroup
from torch.package.importer import Importer, sys_importer
from torch.package.package_exporter import PackageExporter, PackagingError
from torch.package.package_importer import PackageImporter

from hookcli.errors import ModelError
from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable
from hookcli.models import module_tree
from hookcli.report.recording import HookFinding
from hookcli.spec.hooks import PackagePattern
from hookcli.torch_private import demangle, is_mangled, package_imported_modules
from hookcli.whole_files import private_folder

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_REST = PackagePattern("extern", "**", "")


class PackageHook(Portable):
    """A hook of an exporter. It does not fire for modules in `without`."""

    def __init__(self, hook: Hook, matching: _Matching, without: frozenset[str]) -> None:
        self.method = hook.kind.method
        self._hook = hook
        self._matching = matching
        self._without = without

    def __call__(self, exporter: PackageExporter, name: str) -> None:
        """Fire; PyTorch calls this."""
        if name not in self._without:
            by = self._matching.of(name)
            node = None if by is None else by.pattern
            self._hook.fire(Site(name), None, lambda _: (exporter, name), node=node)


class _Matching:
    """Finds the pattern for a module: the first that matches, as in torch."""

    def __init__(self, patterns: tuple[PackagePattern, ...]) -> None:
        self.patterns = patterns
        self._groups = [(pattern, GlobGroup(pattern.pattern)) for pattern in patterns]

    def of(self, name: str) -> PackagePattern | None:
        """Return the pattern; None if torch decides itself: a pickle, torch, the stdlib."""
        if name.startswith("<") or _is_everywhere(name):
            return None
        return next((pattern for pattern, group in self._groups if group.matches(name)), None)

    def unused(self, names: list[str]) -> Iterator[PackagePattern]:
        """Yield the patterns that match none of these names, except `**`."""
        used = {id(self.of(name)) for name in names}
        return (
            pattern
            for pattern, _ in self._groups
            if pattern.pattern != "**" and id(pattern) not in used
        )


def _is_everywhere(name: str) -> bool:
    top = name.partition(".")[0]
    return top == "torch" or (top in sys.stdlib_module_names and top not in {"sys", "io"})


def export(root: nn.Module, hooks: list[Hook], patterns: tuple[PackagePattern, ...]) -> None:
    """Package the model into a temporary file, with these hooks attached.

    A module that torch.package cannot store is reported as a finding and excluded, so that other
    such modules are found too.

    Raises
    ------
    ModelError : the model cannot be pickled.
    """
    for hook in hooks:
        hook.attached += 1
    default = _defaults(root)
    broken: dict[str, HookFinding] = {}
    while True:
        excluded = tuple(PackagePattern("extern", name, "") for name in broken)
        matching = _Matching((*excluded, *patterns, *default))
        package_hooks = [PackageHook(hook, matching, frozenset(broken)) for hook in hooks]
        try:
            names = _write(root, matching, package_hooks)
            break
        except PackagingError as error:
            findings = {
                finding.target: finding for finding in _broken(error, matching, hooks[0].spec.place)
            }
            if not findings.keys() - broken.keys():
                raise
            broken |= findings
    _tell(hooks[0], broken, _Matching(patterns).unused([*names, *broken]))


def _defaults(root: nn.Module) -> tuple[PackagePattern, ...]:
    """Return the patterns for modules that the user's patterns do not match."""
    packed = [name for archive in _archives_of(root) for name in _packed(archive)]
    names = dict.fromkeys([*_own_modules(root), *packed])
    return (*(PackagePattern("intern", name, "") for name in names), _REST)


def _write(root: nn.Module, matching: _Matching, hooks: list[PackageHook]) -> list[str]:
    """Write the archive and return the names of the modules in its dependency graph."""
    importers: list[Importer] = [*_archives_of(root), sys_importer]
    with private_folder() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.package warns about its own typed storages
        with PackageExporter(str(Path(folder) / "model.pt"), importer=importers) as exporter:
            for hook in hooks:
                register: Callable[..., Any] = getattr(exporter, hook.method)
                register(hook)
            for pattern in matching.patterns:
                getattr(exporter, pattern.action)(pattern.pattern, allow_empty=True)
            _save(exporter, root)
        return list(exporter.dependency_graph.nodes)


def _save(exporter: PackageExporter, root: nn.Module) -> None:
    try:
        exporter.save_pickle("model", "model.pkl", root)
    except PackagingError:
        raise
    except Exception as error:  # also what a model's own __reduce__ raises
        text = _ADDRESS.sub("", " ".join(str(error).split())).split(": Could not find obj")[0]
        raise ModelError(
            f"the model cannot be pickled: {text or type(error).__name__}",
            place="package",
            hint="remove what cannot be pickled from the model",
        ) from error


def _broken(error: PackagingError, matching: _Matching, place: str) -> Iterator[HookFinding]:
    """Yield a finding for each module that torch.package cannot handle."""
    graph = error.dependency_graph
    for name, attributes in graph.nodes.items():
        reason = attributes.get("error")
        if reason is None:
            continue
        by = matching.of(name)
        context = attributes.get("error_context")
        path = [node for node in graph.first_path(name) if node != name]
        message = f"torch.package cannot {by.action if by else 'package'} it: " + (
            reason.value.rstrip(".") + (f" ({context})" if context else "")
        )
        if path:
            message += f", needed by {' → '.join(path)}"
        yield HookFinding("packaging", name, "not packaged", message, (by and by.place) or place)


def _tell(hook: Hook, broken: dict[str, HookFinding], unused: Iterator[PackagePattern]) -> None:
    for finding in broken.values():
        hook.context.find(finding)
    for pattern in unused:
        message = f"run.package.{pattern.action} matches no module that the model needs"
        hook.context.find(
            HookFinding(
                "packaging",
                pattern.pattern,
                f"unused {pattern.action}",
                message,
                pattern.place,
                "warning",
            )
        )


def _packed(archive: PackageImporter) -> list[str]:
    """Return the names of the modules that were loaded from an archive and are stored in it."""
    out = {*archive.extern_modules, "torch_package_importer", "_mock"}
    return [name for name in archive.modules if name not in out and not _is_everywhere(name)]


def _archives_of(root: nn.Module) -> list[PackageImporter]:
    """Return the torch.package archives from which parts of the model were loaded."""
    archives: dict[int, PackageImporter] = {}
    for module, _ in module_tree.modules(root):
        source = package_imported_modules.get(type(module).__module__)
        importer = getattr(source, "__loader__", None)
        if isinstance(importer, PackageImporter):
            archives[id(importer)] = importer
    return list(archives.values())


def _own_modules(root: nn.Module) -> list[str]:
    """Return the names of loaded Python modules that are not installed, the model's own first."""
    names = dict.fromkeys(
        sorted({type(module).__module__ for module, _ in module_tree.modules(root)})
    )
    names |= dict.fromkeys(sorted(sys.modules))
    return [demangle(name) for name in names if is_mangled(name) or _is_users(name)]


def _is_users(name: str) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None)
    return (
        isinstance(file, str)
        and file.endswith(".py")
        and not {"site-packages", "dist-packages"} & set(Path(file).parts)
        and name.partition(".")[0] not in {*sys.stdlib_module_names, "hookcli", "__mp_main__"}
    )

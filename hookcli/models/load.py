"""Load MODEL: from Python, or from a file of a model by its kind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from torch import nn

from hookcli.models import places
from hookcli.models.files.integrity import checked_archive
from hookcli.models.loaded import Loaded
from hookcli.models.python.construct import build
from hookcli.models.python.discovery import ChosenModel, attribute, discover
from hookcli.models.python.importing import import_file, import_module
from hookcli.models.sources.parse import (
    Archive,
    PythonFile,
    PythonModule,
    check_opening,
    parse_source,
)
from hookcli.spec.request import ModelSpec


@dataclass(frozen=True, slots=True)
class ImportedSource:
    """The object that the source names, imported and not yet built."""

    module: ModuleType
    choice: ChosenModel


def find(named: PythonFile | PythonModule, source: str, args: tuple[Any, ...]) -> ImportedSource:
    """Import the source and choose the object to build.

    Raises
    ------
    RequestError : no such file, module or attribute; none or several candidates.
    ModelError : the source's own code failed.

    """
    if isinstance(named, PythonModule):
        module = import_module(named.module, source)
        return ImportedSource(
            module, ChosenModel(attribute(module, named.attr, source), named.attr)
        )
    path = places.START / named.path
    module = import_file(path)
    if named.attr is None:
        return ImportedSource(module, discover(module, path, source, args))
    return ImportedSource(module, ChosenModel(attribute(module, named.attr, source), named.attr))


def load(
    spec: ModelSpec,
    *,
    phase: Callable[[str], None],
    importing: AbstractContextManager[None] | None = None,
    building: AbstractContextManager[None] | None = None,
    allow: Callable[[Callable[[], nn.Module]], None] = lambda build: None,
) -> Loaded:
    """Import and build the model, and record where each module is constructed.

    `phase` is called with "import" and "build"; the two contexts are entered around these phases.
    `allow` gets the builder before it is called, and may raise.
    """
    named = parse_source(spec.source)
    if isinstance(named, Archive):
        return open_archive(named, spec, phase)
    constructors = places.Constructors()
    with constructors:
        phase("import")
        with importing or nullcontext():
            imported = find(named, spec.source, spec.args)
        phase("build")

        def construct() -> nn.Module:
            return build(imported.choice.target, imported.choice.label, spec.args, spec.source)

        if not isinstance(imported.choice.target, nn.Module):
            allow(construct)
        with building or nullcontext():
            root = construct()
    return Loaded(root, imported.module, imported.choice.note, constructors)


def open_archive(archive: Archive, spec: ModelSpec, phase: Callable[[str], None]) -> Loaded:
    """Load the model in a file. `phase` is called with "import" and "build".

    Raises
    ------
    RequestError : it cannot be opened, or not without trust.
    ModelError : it is damaged, or its own code failed.
    """
    check_opening(archive, spec)
    with checked_archive(places.START / archive.path, spec.source):
        loaded = _opened(archive, spec, phase)
    return replace(loaded, format="python" if archive.kind == "pickled" else archive.kind)


def _opened(archive: Archive, spec: ModelSpec, phase: Callable[[str], None]) -> Loaded:
    if archive.kind == "torchscript":
        from hookcli.models.torchscript.load import load_script

        return load_script(archive, spec, phase)
    if archive.kind == "exported":
        from hookcli.models.exported.load import load_exported

        return load_exported(archive, spec, phase)
    if archive.kind == "package":
        from hookcli.models.files.package import load_package

        return load_package(archive, spec, phase)
    from hookcli.models.files.pickled import load_pickled

    return load_pickled(archive, spec, phase)

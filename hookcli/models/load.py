"""Load MODEL: from Python, or from a file of a model by its kind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from types import ModuleType

from torch import nn

from hookcli.models import places
from hookcli.models.batch import Batch
from hookcli.models.loaded import Loaded
from hookcli.models.python.construct import build
from hookcli.models.python.discovery import ChosenModel, attribute, discover
from hookcli.models.python.import_watch import ImportWatch
from hookcli.models.python.importing import import_file, import_module
from hookcli.models.python.method import ran_instead, run_method
from hookcli.models.sources.parse import (
    Archive,
    PythonFile,
    PythonModule,
    check_opening,
    parse_source,
)
from hookcli.models.sources.zoo_names import ZooModel
from hookcli.spec.request import Argument, ModelSpec


@dataclass(frozen=True, slots=True)
class ImportedSource:
    """The object that the source names, imported and not yet built."""

    module: ModuleType | None
    choice: ChosenModel
    args: tuple[Argument, ...]
    batch: Callable[[int], tuple[str, Batch]] | None = None


def find_in_library(model: ZooModel, spec: ModelSpec) -> ImportedSource:
    """Import the library and choose what builds the model of this name.

    `timm:NAME` and `torchvision:NAME` are also what is in these modules, such as `create_model`.

    Raises
    ------
    RequestError : the library is not installed, or has no such model.
    ModelError : importing it failed.

    """
    from hookcli.models.zoo.find import choose, is_attribute

    if is_attribute(model):
        return find(PythonModule(model.library, model.name), spec.source, spec.args, ImportWatch())
    choice = choose(model, spec)
    chosen = ChosenModel(choice.target, choice.label, choice.note)
    return ImportedSource(None, chosen, choice.args, choice.batch)


def find(
    named: PythonFile | PythonModule,
    source: str,
    args: tuple[Argument, ...],
    watch: ImportWatch,
    method: str | None = None,
) -> ImportedSource:
    """Import the source and choose the object to build. `watch` sees what the import does.

    `method` is the method that runs in place of forward.

    Raises
    ------
    RequestError : no such file, module or attribute; none or several candidates.
    ModelError : the source's own code failed.

    """
    if isinstance(named, PythonModule):
        with watch.watching():
            module = import_module(named.module, source)
        target = attribute(module, named.attr, source)
        return ImportedSource(module, ChosenModel(target, named.attr), args)
    path = places.START / named.path
    with watch.watching():
        module = import_file(path)
    if named.attr is None:
        choice = discover(module, path, source, args, watch.trained, method)
        return ImportedSource(module, choice, args)
    target = attribute(module, named.attr, source)
    return ImportedSource(module, ChosenModel(target, named.attr), args)


def load(
    spec: ModelSpec,
    *,
    phase: Callable[[str], None],
    importing: AbstractContextManager[None] | None = None,
    building: AbstractContextManager[None] | None = None,
    allow: Callable[[Callable[[], nn.Module]], None] = lambda build: None,
    batch_size: int = 2,
    again: bool = False,
) -> Loaded:
    """Import and build the model, and record where each module is constructed.

    `phase` is called with "import" and "build"; the two contexts are entered around these phases.
    `allow` gets the builder before it is called, and may raise. `batch_size` is the number of
    samples if the source comes with the size of a batch. `again` tells that another process has
    imported the source before, for this request.
    """
    named = parse_source(spec.source)
    if isinstance(named, Archive):
        return open_archive(named, spec, phase)
    constructors, watch = places.Constructors(), ImportWatch()
    with constructors:
        phase("import")
        with importing or nullcontext():
            if isinstance(named, ZooModel):
                imported = find_in_library(named, spec)
            else:
                imported = find(named, spec.source, spec.args, watch, spec.method)
        phase("build")

        def construct() -> nn.Module:
            root = build(imported.choice.target, imported.choice.label, imported.args, spec.source)
            if spec.method is not None:
                run_method(root, spec.method)
            return root

        if not isinstance(imported.choice.target, nn.Module):
            allow(construct)
        with building or nullcontext():
            root = construct()
    batch = None if imported.batch is None else imported.batch(batch_size)
    note = watch.note(_imported_name(named), again=again)
    method = None if spec.method is None else ran_instead(spec.method)
    notes = tuple(text for text in (imported.choice.note, method, note) if text is not None)
    return Loaded(root, imported.module, notes, constructors, batch)


def _imported_name(named: PythonFile | PythonModule | ZooModel) -> str:
    if isinstance(named, PythonFile):
        return places.show(str(places.START / named.path))
    return named.module if isinstance(named, PythonModule) else named.name


def open_archive(archive: Archive, spec: ModelSpec, phase: Callable[[str], None]) -> Loaded:
    """Load the model in a file. `phase` is called with "import" and "build".

    Raises
    ------
    RequestError : it cannot be opened, or not without trust.
    ModelError : it is damaged, or its own code failed.
    """
    from hookcli.models.files.integrity import checked_archive  # only for files of models

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
        from hookcli.models.files.pickled import load_package

        return load_package(archive, spec, phase)
    from hookcli.models.files.pickled import load_pickled

    return load_pickled(archive, spec, phase)

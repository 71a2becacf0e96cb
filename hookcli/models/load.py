"""MODEL → a built module: tells sources apart and makes the eager backend."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from torch import nn

from hookcli.config.spec import ModelSpec
from hookcli.models import places
from hookcli.models.archives import open_archive
from hookcli.models.construct import build
from hookcli.models.discovery import Choice, attribute, discover
from hookcli.models.kinds import Archive, PythonFile, PythonModule, parse_source
from hookcli.models.loaded import Loaded
from hookcli.models.source import import_file, import_module


@dataclass(frozen=True, slots=True)
class Found:
    """What the source named, imported and not yet built."""

    module: ModuleType
    choice: Choice


def find(named: PythonFile | PythonModule, source: str, args: tuple[Any, ...]) -> Found:
    """Import the source and choose the object.

    Raises
    ------
    RequestError : no such file, module or attribute; none or several candidates.
    ModelError : the source's own code failed.

    """
    if isinstance(named, PythonModule):
        module = import_module(named.module, source)
        return Found(module, Choice(attribute(module, named.attr, source), named.attr))
    path = places.START / named.path
    module = import_file(path)
    if named.attr is None:
        return Found(module, discover(module, path, source, args))
    return Found(module, Choice(attribute(module, named.attr, source), named.attr))


def load(
    spec: ModelSpec,
    *,
    phase: Callable[[str], None],
    importing: AbstractContextManager[None] | None = None,
    building: AbstractContextManager[None] | None = None,
    allow: Callable[[Callable[[], nn.Module]], None] = lambda build: None,
) -> Loaded:
    """Import and build, noting where each module is constructed.

    `phase` is told "import" and "build"; the two contexts are entered around them. `allow` gets
    the builder before it is called, and may raise.
    """
    named = parse_source(spec.source)
    if isinstance(named, Archive):
        return open_archive(named, spec, phase)
    constructors = places.Constructors()
    with constructors:
        phase("import")
        with importing or nullcontext():
            found = find(named, spec.source, spec.args)
        phase("build")

        def construct() -> nn.Module:
            return build(found.choice.target, found.choice.label, spec.args, spec.source)

        if not isinstance(found.choice.target, nn.Module):
            allow(construct)
        with building or nullcontext():
            root = construct()
    return Loaded(root, found.module, found.choice.note, constructors)

"""A file that holds a whole model → that model, by its kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hookcli.config.spec import ModelSpec
from hookcli.models import places
from hookcli.models.kinds import Archive, check_opening
from hookcli.models.loaded import Loaded
from hookcli.models.opening import opening


def open_archive(archive: Archive, spec: ModelSpec, phase: Callable[[str], None]) -> Loaded:
    """The model in a file. `phase` is told "import" and "build".

    Raises
    ------
    RequestError : it cannot be opened, or not without trust.
    ModelError : it is damaged, or its own code failed.
    """
    check_opening(archive, spec)
    with opening(places.START / archive.path, spec.source):
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
        from hookcli.models.package import load_package

        return load_package(archive, spec, phase)
    from hookcli.models.pickled import load_pickled

    return load_pickled(archive, spec, phase)

"""A file that holds a whole model → that model, by its kind."""

from __future__ import annotations

from collections.abc import Callable

from hookcli.config.spec import ModelSpec
from hookcli.models.kinds import Archive
from hookcli.models.loaded import Loaded


def open_archive(archive: Archive, spec: ModelSpec, phase: Callable[[str], None]) -> Loaded:
    """The model in a file. `phase` is told "import" and "build".

    Raises
    ------
    RequestError : it cannot be opened, or not without trust.
    """
    if archive.kind == "torchscript":
        from hookcli.models.torchscript.load import load_script

        return load_script(archive, spec, phase)
    if archive.kind == "exported":
        from hookcli.models.exported import load_exported

        return load_exported(archive, spec, phase)
    from hookcli.models.package import load_package

    return load_package(archive, spec, phase)

"""A model in a torch.package archive, with its own Python code, separate from installed code."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn
from torch.package.package_importer import PackageImporter

from hookcli.errors import HookcliError, ModelError, RequestError
from hookcli.interpreters.names import distribution_of
from hookcli.models import places
from hookcli.models.failures import TRACEBACK_HINT, failure_of, missing_module
from hookcli.models.files.integrity import is_of_file
from hookcli.models.loaded import Loaded
from hookcli.models.sources.parse import Archive, check_opening
from hookcli.sentences import cannot_open
from hookcli.spec.request import ModelSpec


def load_package(archive: Archive, spec: ModelSpec, phase: Callable[[str], None]) -> Loaded:
    """Load the model in a resource of a torch.package archive.

    Raises
    ------
    RequestError : it is not trusted, or the resource is not a module.
    ModelError : its code failed, or requires something that is missing.
    """
    check_opening(archive, spec)
    path = places.START / archive.path
    package, _, resource = (archive.inner or "").rpartition("/")
    phase("import")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch.package warns about its own typed storages
            root = _unpickled(path, package.replace("/", "."), resource)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit: it is the archive's own code
        if is_of_file(error):
            raise
        raise _failed(error, archive, spec.source) from None
    if not isinstance(root, nn.Module):
        raise RequestError(
            f"{archive.inner} must be an nn.Module, got {type(root).__name__}",
            place=spec.source,
            hint="choose a resource that contains an nn.Module",
        )
    return Loaded(root, None)


def _unpickled(path: Path, package: str, resource: str) -> Any:
    importer = PackageImporter(str(path))
    places.name_archive(importer.id(), path)  # type: ignore[no-untyped-call]
    return importer.load_pickle(package, resource, map_location="cpu")


def _failed(error: BaseException, archive: Archive, source: str) -> HookcliError:
    failure = failure_of(error, "import")
    missing = missing_module(error)
    if missing is not None:
        name = places.without_mangling(missing)
        message = f"{archive.inner} requires {name}, which is neither in the archive nor installed"
        hint = f"install {distribution_of(name)}, or save the archive again with it interned"
    else:
        message = cannot_open(archive.inner, f"{failure.type}: {failure.message}")
        hint = TRACEBACK_HINT
    return ModelError(message, place=failure.place or source, hint=hint, details=failure.details)

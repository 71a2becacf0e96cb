"""A whole module pickled by torch.save or torch.package: its code runs when it is opened."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.package.package_importer import PackageImporter

from hookcli.errors import HookcliError, ModelError, RequestError
from hookcli.interpreters.names import distribution_of
from hookcli.models import places
from hookcli.models.failures import TRACEBACK_HINT, failure_of, missing_module
from hookcli.models.files.integrity import is_of_file
from hookcli.models.loaded import Loaded
from hookcli.models.python.user_folders import add_user_folders
from hookcli.models.sources.parse import Archive, check_opening
from hookcli.sentences import cannot_open
from hookcli.spec.request import ModelSpec

_OF_SCRIPT = re.compile(r"Can't get attribute '(\w+)' on <module '(?:\w+\.)*__main__'")


def load_pickled(archive: Archive, spec: ModelSpec, phase: Callable[[str], None]) -> Loaded:
    """Load the module in a file of torch.save.

    The code that defines it is imported as Python does, also from the file's folder and the
    working directory.

    Raises
    ------
    RequestError : it is not trusted, or is not a module.
    ModelError : its class cannot be imported, or its code failed.
    """
    check_opening(archive, spec)
    path = places.START / archive.path
    add_user_folders([*dict.fromkeys((places.START, path.resolve().parent))])
    phase("import")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns about changed sources
            module = _unpickled(path, archive.inner)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit: it is the pickle's own code
        if is_of_file(error):
            raise
        raise _failed(error, archive.path, spec.source) from None
    if not isinstance(module, nn.Module):
        raise RequestError(
            f"{archive.path} must contain an nn.Module, got {type(module).__name__}",
            place=spec.source,
            hint="pass the Python source",
        )
    return Loaded(module, None)


def _unpickled(path: Path, inner: str | None) -> Any:
    loaded = torch.load(path, map_location="cpu", weights_only=False)
    return loaded if inner is None else loaded[inner]


def _failed(error: BaseException, path: str, source: str) -> HookcliError:
    failure = failure_of(error, "import")
    script = _OF_SCRIPT.search(failure.message)
    message = cannot_open(path, f"{failure.type}: {failure.message}")
    hint = TRACEBACK_HINT
    if script:
        message = f"{path} requires {script[1]}, which was defined in the script that saved it"
        hint = "save `model.state_dict()` there, then pass the script with `--weights FILE`"
    elif (missing := missing_module(error)) is not None:
        message = f"{path} requires the module '{missing}', which was not found"
        hint = f"install {distribution_of(missing)}, or run hookcli in the folder that contains it"
    return ModelError(message, place=failure.place or source, hint=hint, details=failure.details)


def load_package(archive: Archive, spec: ModelSpec, phase: Callable[[str], None]) -> Loaded:
    """Load the model in a resource of a torch.package archive.

    Its own Python code is separate from installed code.

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
            root = _unpackaged(path, package.replace("/", "."), resource)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit: it is the archive's own code
        if is_of_file(error):
            raise
        raise _package_failed(error, archive, spec.source) from None
    if not isinstance(root, nn.Module):
        raise RequestError(
            f"{archive.inner} must be an nn.Module, got {type(root).__name__}",
            place=spec.source,
            hint="choose a resource that contains an nn.Module",
        )
    return Loaded(root, None)


def _unpackaged(path: Path, package: str, resource: str) -> Any:
    importer = PackageImporter(str(path))
    places.name_archive(importer.id(), path)  # type: ignore[no-untyped-call]
    return importer.load_pickle(package, resource, map_location="cpu")


def _package_failed(error: BaseException, archive: Archive, source: str) -> HookcliError:
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

"""List the content of a torch.package archive without running any of it."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

from hookcli.models.sources.pickle_scan import read_pickle
from hookcli.models.sources.zip_members import below_top, check_expansion, unzipped


@dataclass(frozen=True, slots=True)
class Resource:
    """A pickle in an archive, as `package/name.pkl`; `type` is its class, "" if unknown."""

    inner: str
    is_module: bool
    type: str = ""


def resources(path: Path) -> tuple[Resource, ...]:
    """Return the pickles of an archive, in its order.

    Raises
    ------
    OSError, ValueError, zipfile.BadZipFile : it is damaged.
    """
    with unzipped(path) as archive:
        check_expansion(archive)
        return tuple(
            _resource(archive, name)
            for name in archive.namelist()
            if name.endswith(".pkl") and not below_top(name).startswith(".data/")
        )


def _resource(archive: zipfile.ZipFile, name: str) -> Resource:
    with archive.open(name) as file:
        try:
            value = read_pickle(file)
        except ValueError:  # not a pickle, or not one of torch
            return Resource(below_top(name), is_module=False)
    return Resource(below_top(name), value.is_module, value.name)

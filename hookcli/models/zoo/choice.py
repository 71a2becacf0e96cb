"""What a library offers for a name: the function that builds the model, and a batch for it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from hookcli.errors import ModelError, RequestError
from hookcli.models.batch import Batch
from hookcli.models.failures import TRACEBACK_HINT, failure_of, missing_module
from hookcli.sentences import cannot_import
from hookcli.spec.request import Argument


@dataclass(frozen=True, slots=True)
class ZooChoice:
    """A function that builds the model from `args`, and the name to call it by in errors.

    `batch` returns a batch of this many samples, with the name of its origin for the report.
    """

    target: Callable[..., Any]
    label: str
    args: tuple[Argument, ...] = ()
    note: str | None = None
    batch: Callable[[int], tuple[str, Batch]] | None = None


def library(name: str, source: str) -> ModuleType:
    """Import a library.

    Raises
    ------
    RequestError : it is not installed.
    ModelError : importing it fails.
    """
    try:
        return importlib.import_module(name)
    except Exception as error:  # noqa: BLE001  # its own imports may raise anything
        if missing_module(error) == name:
            raise RequestError(
                f"{source.partition(':')[0]}: requires {name}, which is not installed",
                place=source,
                hint=f"install it with `pip install {name}`, or run hookcli where it is installed",
            ) from None
        failure = failure_of(error, "import")
        raise ModelError(
            cannot_import(name, f"{failure.type}: {failure.message}"),
            place=source,
            hint=TRACEBACK_HINT,
            details=failure.details,
        ) from None

"""Functions that the user names: in a file, in a package, or a compiled operator."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from hookcli.errors import ModelError, RequestError
from hookcli.models import places
from hookcli.models.failures import TRACEBACK_HINT, failure_of, missing_module
from hookcli.models.python.importing import import_file, own_path
from hookcli.models.sources.file_errors import LIBRARIES, file_not_found
from hookcli.sentences import cannot_import, missing_name, names_no_function, no_module
from hookcli.text import nearest, try_instead


def function_of(reference: str, place: str) -> Callable[..., Any]:
    """Return the function "file.py:name", "package.module:name" or "torch.ops.namespace.name".

    Raises
    ------
    RequestError : the file, module or name does not exist, or it is not callable.
    ModelError : importing it failed.
    """
    if reference.startswith("torch.ops."):
        return _operator(reference, place)
    source, colon, name = reference.rpartition(":")
    if not colon or not name:
        raise RequestError(
            names_no_function(reference),
            place=place,
            hint="write `file.py:name`, `package.module:name` or `torch.ops.namespace.name`",
        )
    with own_path():
        function = _named(_module(source, place), name, source, place)
    if not callable(function):
        raise RequestError(
            f"{reference} must be a function, got {type(function).__name__}",
            place=place,
            hint="name a function",
        )
    return function  # type: ignore[no-any-return]  # callable() does not narrow the type


def _named(module: Any, name: str, source: str, place: str) -> Any:
    value = module
    for step in name.split("."):
        if not hasattr(value, step):
            names = [
                attribute for attribute in dir(value) if callable(getattr(value, attribute, None))
            ]
            near = nearest(step, [n for n in names if n[:1] != "_"], cutoff=0.6)
            raise RequestError(
                missing_name(step, Path(source).name),
                place=place,
                hint=try_instead(near, "name a function that it defines"),
            )
        value = getattr(value, step)
    return value


def _module(source: str, place: str) -> Any:
    if not source.endswith(".py"):
        try:
            return importlib.import_module(source)
        except Exception as error:  # noqa: BLE001  # the user's module may raise anything
            if missing_module(error) == source.partition(".")[0]:
                raise RequestError(
                    no_module(source),
                    place=place,
                    hint="check the name, and whether the package is installed",
                ) from None
            failure = failure_of(error, "import")
            raise ModelError(
                cannot_import(source, f"{failure.type}: {failure.message}"),
                place=failure.place or place,
                hint=TRACEBACK_HINT,
                details=failure.details,
            ) from None
    path = places.START / Path(source)
    if not path.is_file():
        raise file_not_found(source, place, at=path)
    return import_file(path)


def _operator(reference: str, place: str) -> Callable[..., Any]:
    namespace, _, name = reference.removeprefix("torch.ops.").partition(".")
    operator: Any = getattr(torch.ops, namespace)
    for step in name.split("."):
        operator = getattr(operator, step, None)
        if operator is None:
            raise RequestError(
                f"unknown operator '{namespace}::{name}'",
                place=place,
                hint=LIBRARIES,
            )
    return operator  # type: ignore[no-any-return]

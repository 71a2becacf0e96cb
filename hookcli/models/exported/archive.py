"""Load torch's ExportedProgram from a .pt2 file, or report why that fails."""

from __future__ import annotations

import json
import logging
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import torch
from torch.export import ExportedProgram

from hookcli.errors import HookcliError, ModelError, RequestError
from hookcli.models.failures import message_of
from hookcli.models.sources.file_errors import unknown_operator
from hookcli.sentences import needs_torch
from hookcli.text import first_line
from hookcli.torch_private import pytree

_LEGACY = "serialized_exported_program.json"  # torch 2.7 and before: one program, at the top
_COMPILED = "data/aotinductor/"
_OPERATOR = re.compile(r"failed to resolve torch\.ops\.([\w.]+) to an operator")
_SPEC = re.compile(r"Deserializing ([\w.<>]+) in pytree is not registered")
_AUTOCAST = re.compile(r"wrap_with_autocast\w* is missing val")
_MOST_TYPES = 100  # of containers in the inputs and outputs of a program


@dataclass(frozen=True, slots=True)
class Opened:
    """A program, and the version of torch that saved it, if the file contains it."""

    program: ExportedProgram
    made_by: str | None


@dataclass(frozen=True, slots=True)
class _Head:
    """The file's header."""

    legacy: bool
    major: int | None
    made_by: str | None


def check_torch_exports(source: str) -> None:
    """Check that this torch can rebuild the layers of a program.

    Older versions lose the classes of layers, and which of them are one.

    Raises
    ------
    RequestError : it is too old.
    """
    from hookcli.torch_private import NAMES, load_pt2

    if load_pt2 is None:
        raise RequestError(
            needs_torch(NAMES["load_pt2"].lost, NAMES["load_pt2"].since, torch.__version__),
            place=source,
            hint="install a newer torch, or pass the Python source",
        )


def open_program(file: IO[bytes], source: str) -> Opened:
    """Load the program in a file whose content is safe to open.

    Raises
    ------
    RequestError : it contains no program, or several, or compiled code.
    ModelError : it is damaged, of another version, or needs an operator that is not registered.
    """
    try:
        head = _head(file, source)
    except HookcliError:
        raise
    except Exception as error:  # noqa: BLE001  # a damaged file may raise anything
        raise _damaged(error, source, None) from None
    _check_version(head, source)
    return Opened(_load(file, head, source), head.made_by)


def _head(file: IO[bytes], source: str) -> _Head:
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        inner = [name.partition("/")[2] for name in names]
        if any(name.startswith(_COMPILED) for name in inner):
            raise RequestError(
                "the file contains compiled code (AOTInductor), whose layers cannot be inspected",
                place=source,
                hint="save the program itself: `torch.export.save(torch.export.export(…), FILE)`",
            )
        legacy = _LEGACY in names
        programs = [n for n in names if re.fullmatch(r"[^/]+/models/[^/]+\.json", n)]
        if len(programs) != 1 and not legacy:
            raise RequestError(
                f"the file contains {len(programs) or 'no'} exported programs",
                place=source,
                hint="save one program to one file: `torch.export.save(program, FILE)`",
            )
        program = json.loads(archive.read(_LEGACY if legacy else programs[0]))
    version = program.get("schema_version")
    return _Head(
        legacy,
        version.get("major") if isinstance(version, dict) else None,
        program.get("torch_version") if isinstance(program.get("torch_version"), str) else None,
    )


def _check_version(head: _Head, source: str) -> None:
    from hookcli.torch_private import export_schema

    ours = export_schema.SCHEMA_VERSION[0]
    if head.major is not None and head.major != ours:
        raise ModelError(
            f"the file has version {head.major} of torch.export's format{_by(head.made_by)}, "
            f"but torch {torch.__version__} reads version {ours}",
            place=source,
            hint="export it again with this torch, or run hookcli with the torch that wrote it",
        )


def _by(made_by: str | None) -> str:
    return f" (written by torch {made_by})" if made_by else ""


def _load(file: IO[bytes], head: _Head, source: str) -> ExportedProgram:
    """Load with torch; containers whose class is not imported get a substitute class."""
    for _ in range(_MOST_TYPES):
        try:
            with _silent():
                return _deserialized(file, legacy=head.legacy)
        except HookcliError:
            raise
        except Exception as error:  # noqa: BLE001  # a damaged file may raise anything
            unknown = _SPEC.search(message_of(error))
            if unknown is None:
                raise _refusal(error, source, head.made_by) from None
            _register(unknown[1])
    raise _damaged(ValueError("it uses too many container types"), source, head.made_by)


def _deserialized(file: IO[bytes], *, legacy: bool) -> ExportedProgram:
    file.seek(0)
    if legacy:
        return torch.export.load(file)
    # torch.export.load hides the reason of a failure.
    from hookcli.torch_private import load_pt2

    assert load_pt2 is not None  # noqa: S101  # `check_torch_exports` has refused the file
    programs: dict[str, ExportedProgram] = load_pt2(file).exported_programs
    return next(iter(programs.values()))


@contextmanager
def _silent() -> Iterator[None]:
    """Silence torch, which logs what it raises and warns about its own old files."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _refusal(error: Exception, source: str, made_by: str | None) -> ModelError:
    message = message_of(error)
    operator = _OPERATOR.search(message)
    if _AUTOCAST.search(message):
        return ModelError(
            f"torch {torch.__version__} cannot load a program with an autocast region, although "
            "it saved one",
            place=source,
            hint="export it without `torch.autocast`, or pass the Python source",
            details=message,
        )
    if operator is None:
        return _damaged(error, source, made_by)
    return unknown_operator(_named(operator[1]), source, message)


def _named(dotted: str) -> str:
    """`mine.clip.default` → `mine::clip`, the name in libraries."""
    parts = dotted.split(".")
    return "::".join(parts[:2])


def _damaged(error: Any, source: str, made_by: str | None) -> ModelError:
    return ModelError(
        f"cannot load the exported program{_by(made_by)}: {type(error).__name__}: "
        f"{first_line(message_of(error))[:300]}",
        place=source,
        hint=f"export it again with torch {torch.__version__} and `torch.export.save`",
        details=message_of(error),
    )


# Containers whose own class is not imported get a substitute class. A program may return a
# dataclass or a ModelOutput. The file names its class; importing that would run code that the file
# chooses, and only the structure is needed.


class _Mapping(dict[str, Any]):
    """A container with names."""


class _Row(tuple[Any, ...]):
    """A container without names."""


def _names(context: Any, size: int) -> list[str] | None:
    """Return the field names of a context: a list, or a list and the names of empty fields."""
    if isinstance(context, list) and len(context) == 2 and isinstance(context[0], list):
        context = context[0]
    if isinstance(context, list) and len(context) == size:
        return context if all(isinstance(name, str) for name in context) else None
    return None


def _register(name: str) -> None:
    """Register a container of this name with torch's pytree, with a class of its last part."""
    class_name = name.rpartition(".")[2]
    kind: Any = type(class_name, (_Mapping,), {})
    row: Any = type(class_name, (_Row,), {})

    def flatten(value: Any) -> tuple[list[Any], Any]:
        return list(value.values()), list(value)

    def unflatten(values: Any, context: Any) -> Any:
        items = list(values)
        names = _names(context, len(items))
        return row(items) if names is None else kind(zip(names, items, strict=True))

    pytree.register_pytree_node(kind, flatten, unflatten, serialized_type_name=name)

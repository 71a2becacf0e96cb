"""Open a `.pt2` safely: check it before torch reads it.

torch reads some members with plain pickle, and falls back to it for all others. So torch gets a
new archive, which contains only the members that were checked.
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import torch

from hookcli.errors import ModelError, RequestError
from hookcli.models.exported.screening.graph_scan import screened
from hookcli.models.sources.file_errors import TRUST, damaged_file, reason_of
from hookcli.models.sources.rebuilt_zip import Member, Part, rebuild
from hookcli.models.sources.zip_members import (
    below_top,
    check_expansion,
    part_of,
    unzipped,
    why_ambiguous,
)
from hookcli.torch_private import export_schema as schema

_PROGRAM = "serialized_exported_program.json"  # torch before 2.8: no folder, and other names
_HEADS = {"archive_format", "archive_version", ".data/version", "byteorder", "version"}
_CONFIG = re.compile(r"data/(weights|constants)/[^/]+_\1_config\.json")
_PAYLOAD = re.compile(r"data/(?:weights|constants)/[\w.-]+")
_PICKLE = re.compile(
    r"data/sample_inputs/[^/]+|data/(?:weights|constants)/[^/]+\.pt"
    r"|serialized_(?:state_dict|constants|example_inputs)\.(?:pt|json)"
)
_OBJECTS = ("custom_obj_", "opaque_obj_")  # torch unpickles these whatever they contain
_TOP = "archive"  # the top folder of the new archive
_FORCE, _FORCE_NOT = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"


@contextmanager
def safe_to_open(path: Path, *, trusted: bool, source: str | None = None) -> Iterator[IO[bytes]]:
    """Open a `.pt2` for torch: itself if it is trusted, else a new archive with its data only.

    `source` is MODEL as the user typed it, for the place of errors.

    Raises
    ------
    RequestError : something in it can run code, and it is not trusted.
    ModelError : it is damaged.
    """
    place = source or path.as_posix()
    try:
        file = path.open("rb")
    except OSError as error:
        raise _unreadable(path, place, error) from None
    with file:
        if trusted:
            yield file
            return
        try:
            reasons, members = _screened(file)
        except Exception as error:  # noqa: BLE001  # a manipulated archive may raise anything
            raise _unreadable(path, place, error) from None
        if reasons:
            raise RequestError(
                f"opening {path.name} can run code: {reasons[0]}",
                place=place,
                hint=TRUST,
            )
        with rebuild(members, file.fileno()) as archive, _tensors_only():
            yield archive


def check_exported(path: Path, *, trusted: bool, source: str | None = None) -> None:
    """Check that a `.pt2` may be opened: it is trusted, or nothing in it can run code.

    Raises
    ------
    RequestError, ModelError : as safe_to_open.
    """
    with safe_to_open(path, trusted=trusted, source=source):
        pass


@contextmanager
def _tensors_only() -> Iterator[None]:
    """Make torch read pickles of tensors only; otherwise it falls back to any pickle."""
    before = {name: os.environ.pop(name, None) for name in (_FORCE, _FORCE_NOT)}
    os.environ[_FORCE] = "1"
    try:
        yield
    finally:
        del os.environ[_FORCE]
        os.environ.update({name: value for name, value in before.items() if value is not None})


def _unreadable(path: Path, place: str, error: Exception) -> ModelError:
    return damaged_file(path.name, reason_of(error), place)


def _screened(file: IO[bytes]) -> tuple[list[str], list[Member]]:
    """Return reasons against opening an archive, and the members of it that torch needs."""
    with unzipped(file) as archive:
        reasons = list(why_ambiguous(archive, one_folder=_PROGRAM not in archive.namelist()))
        if reasons:
            return reasons, []
        check_expansion(archive)
        screen = _Screening(archive)
        return screen.reasons, screen.members


class _Screening:
    """Check each member of an archive, whose member names are valid and distinct."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.reasons: list[str] = []
        self.members: list[Member] = []
        self._archive = archive
        self._legacy = _PROGRAM in archive.namelist()
        self._seen: set[str] = set()  # pickles that were checked
        for info in archive.infolist():
            if not info.is_dir():
                self._look(info, info.filename if self._legacy else below_top(info.filename))

    def _look(self, info: zipfile.ZipInfo, name: str) -> None:
        if name == _PROGRAM or (name.startswith("models/") and name.endswith(".json")):
            self._keep(name, self._program(self._json(info)))
        elif name.startswith("data/aotinductor/"):
            self.reasons.append("it contains a compiled library")
        elif _CONFIG.fullmatch(name):
            self._listed(info, name)
        elif name in _HEADS:
            self._keep(name, self._archive.read(info))
        elif _PICKLE.fullmatch(name):
            self._check_pickle(info)
            self._keep(name, self._content(info))
        elif _PAYLOAD.fullmatch(name):
            self._keep(name, self._content(info))

    def _keep(self, name: str, content: bytes | Part) -> None:
        self.members.append(Member(name if self._legacy else f"{_TOP}/{name}", content))

    def _content(self, info: zipfile.ZipInfo) -> bytes | Part:
        """Return a member that torch reads as tensors only, so that it may stay in the file."""
        return part_of(self._archive, info) or self._archive.read(info)

    def _program(self, program: dict[str, Any]) -> bytes:
        """Reduce a program; of one in another version's format only its version remains."""
        version = program.get("schema_version")
        if isinstance(version, dict) and version.get("major") != schema.SCHEMA_VERSION[0]:
            head = ("schema_version", "torch_version")
            program = {key: program[key] for key in head if key in program}
        return self._reduced(schema.ExportedProgram, program)

    def _reduced(self, kind: type, value: dict[str, Any]) -> bytes:
        reduced, reasons = screened(kind, value)
        self.reasons += reasons
        return json.dumps(reduced).encode()

    def _listed(self, info: zipfile.ZipInfo, name: str) -> None:
        """Check a list of weights or constants: each pickle in it must contain tensors only."""
        config = self._json(info)
        self._keep(name, self._reduced(schema.PayloadConfig, config))
        for entry in config["config"].values():
            payload = str(entry["path_name"])
            full = f"{info.filename.rpartition('/')[0]}/{payload}"
            if payload.startswith(_OBJECTS):
                self.reasons.append(f"{payload} is a pickled object")
            elif not _PAYLOAD.fullmatch(f"data/weights/{payload}"):
                self.reasons.append(f"it refers to a member by a path: {payload[:60]!r}")
            elif entry.get("use_pickle", True) and full in self._archive.NameToInfo:
                self._check_pickle(self._archive.getinfo(full))

    def _check_pickle(self, info: zipfile.ZipInfo) -> None:
        """Add a reason if a member contains more than tensors and plain values."""
        data = b"" if info.filename in self._seen else self._archive.read(info)
        self._seen.add(info.filename)
        if not data:
            return
        try:
            with _tensors_only():
                torch.load(io.BytesIO(data), map_location="meta", weights_only=True)
        except Exception as error:  # noqa: BLE001  # a manipulated pickle may raise anything
            name = info.filename if self._legacy else below_top(info.filename)
            self.reasons.append(f"{name} contains more than tensors ({_first(error)})")

    def _json(self, info: zipfile.ZipInfo) -> dict[str, Any]:
        content = json.loads(self._archive.read(info))
        if not isinstance(content, dict):
            raise ValueError(f"{info.filename} is not a JSON object")
        return content


def _first(error: BaseException) -> str:
    """Return torch's message without its advice."""
    text = str(error).split("WeightsUnpickler error:")[-1]
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line.split(". ")[0].rstrip(".") or type(error).__name__

"""Mutated files and folders of weights: listed, compared and checked without a model."""

from __future__ import annotations

import io
import pickle
import pickletools
import zipfile
from random import Random

from tests.fuzz import corpus
from tests.fuzz.case import Case
from tests.fuzz.mutations import mutated_bytes, mutated_json, mutated_zip

_OPCODES = [opcode.code.encode("latin-1") for opcode in pickletools.opcodes]
_FORMATS = ("table", "tree", "json", "markdown")
_CHECKED = ("table", "json", "markdown", "junit", "sarif", "github")


def weights(rng: Random) -> Case:
    """A file of a format that hookcli reads, or a folder; one file in it is mutated."""
    whole = rng.choice(corpus.weights())
    damaged = rng.choice(list(whole))
    files = {**whole, damaged: _mutated(rng, damaged, whole[damaged])}
    if rng.random() < 0.1:
        files[damaged] = mutated_bytes(rng, files[damaged])
    named = "d" if damaged.startswith("d/") else damaged
    entries = (("folder", "d", ""),) if named == "d" else ()
    other = rng.choice(corpus.weights())
    if named != "d" and all("/" not in name for name in other):
        files |= {f"other.{name}": data for name, data in other.items()}
    others = [name for name in files if name.startswith("other.")] or [named]
    arguments = rng.choice((
        ["inspect", named, "-f", rng.choice(_FORMATS)],
        ["inspect", named, "-f", rng.choice(_FORMATS)],
        ["inspect", named, "--no-values"],
        ["inspect", named, "--sort", "norm", "--columns", "name,norm,shared"],
        ["check", named, "-f", rng.choice(_CHECKED)],
        ["diff", named, others[0], "-f", rng.choice(("table", "json", "markdown"))],
        ["diff", others[0], named],
    ))  # fmt: skip
    return Case(tuple(arguments), files, damaged, entries=entries)


def _mutated(rng: Random, name: str, data: bytes) -> bytes:
    if name.endswith(".safetensors") and rng.random() < 0.7:
        size = int.from_bytes(data[:8], "little")
        header = mutated_json(rng, data[8 : 8 + size])
        return len(header).to_bytes(8, "little") + header + data[8 + size :]
    if name.endswith(".json"):
        return mutated_json(rng, data)
    if not name.endswith(".distcp") and zipfile.is_zipfile(io.BytesIO(data)) and rng.random() < 0.8:
        return _with_canary(rng, data) if rng.random() < 0.2 else mutated_zip(rng, data)
    if name.endswith((".bin", ".metadata")) and rng.random() < 0.3:
        start = rng.randrange(len(data))
        piece = b"".join(rng.choice(_OPCODES) for _ in range(rng.randint(1, 3)))
        return data[:start] + piece + data[start + rng.randrange(2) :]
    if name.endswith((".bin", ".metadata")) and rng.random() < 0.1:
        return _canary(rng)
    return mutated_bytes(rng, data)


def _canary(rng: Random) -> bytes:
    canary = corpus.Canary(rng.randrange(len(corpus.Canary.CALLS)))
    return pickle.dumps({"layers.0.w": canary}, rng.choice((0, 1, 2, 4)))


def _with_canary(rng: Random, data: bytes) -> bytes:
    """The archive with a pickle that runs code as its data.pkl."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            if info.filename.endswith("data.pkl"):
                content = _canary(rng)
            new.writestr(zipfile.ZipInfo(info.filename), content)
    return buffer.getvalue()

"""Hostile binary files: models, weights and batches. No code in them may run."""

from __future__ import annotations

import io
import json
import pickle
import pickletools
import zipfile
from pathlib import Path
from random import Random

from tests.fuzz import corpus
from tests.fuzz.case import Case
from tests.fuzz.hostile import BYTES
from tests.fuzz.mutations import mutated_bytes, mutated_json, mutated_zip, zipped
from tests.models import canaries
from tests.models.test_screening import LONG_TO_COMPUTE

RUNNING = ("inspect", "inspect", "inspect", "grads", "trace", "check")
OPCODES = [opcode.code.encode("latin-1") for opcode in pickletools.opcodes]


def _inspected(rng: Random, name: str, data: bytes) -> Case:
    arguments = [rng.choice(RUNNING), name, "-i", "2x4", "-f", "json"]
    if rng.random() < 0.1:
        arguments += ["--data-only"]
    return Case(tuple(arguments), {name: data}, name)


def torchscript(rng: Random) -> Case:
    return _inspected(rng, "f.pt", mutated_zip(rng, rng.choice(corpus.torchscript())))


def package(rng: Random) -> Case:
    """Without --trust: nothing in it may run."""
    return _inspected(rng, "f.pt", mutated_zip(rng, rng.choice(corpus.packages())))


def exported(rng: Random) -> Case:
    """A program with mutated members, or with code in one of its texts."""
    whole = rng.choice(corpus.exported())
    if rng.random() < 0.5:
        return _inspected(rng, "f.pt2", mutated_zip(rng, whole))
    members = _members(whole)
    index = rng.choice([i for i, (name, _) in enumerate(members) if name.endswith(".json")])
    name, content = members[index]
    if rng.random() < 0.7:
        program = json.loads(content)
        place = rng.choice(canaries.places(program) or [canaries.Place("", "")])
        text = rng.choice(canaries.texts(Path("CANARY"), place.text))
        program = canaries.replaced(program, place, text, everywhere=rng.random() < 0.5)
        members[index] = (name, canaries.dumped(program))
    else:
        members[index] = (name, mutated_json(rng, content))
    return _inspected(rng, "f.pt2", zipped(members))


def _members(whole: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        return [(info.filename, archive.read(info)) for info in archive.infolist()]


def expressions(rng: Random) -> Case:
    """A program with sizes that take sympy long to compute, or that are more than expressions."""
    members = _members(corpus.dynamic())
    index = next(i for i, (name, _) in enumerate(members) if name.endswith("models/model.json"))
    name, content = members[index]
    texts = [*LONG_TO_COMPUTE, *MORE_THAN_EXPRESSIONS]
    text = rng.choice(texts)
    if rng.random() < 0.3:
        text = f"{rng.choice(('Max', 'Mod', 'FloorDiv'))}({text}, {rng.choice(texts)})"
    program = json.loads(content)
    for _ in range(rng.randint(1, 3)):
        [place] = rng.sample([one for one in canaries.places(program) if not one.is_key
                              and one.field in {"expr_str", "as_expr"}] or [canaries.Place("", "")],
                             1)  # fmt: skip
        program = canaries.replaced(program, place, text, everywhere=rng.random() < 0.5)
    members[index] = (name, canaries.dumped(program))
    return _inspected(rng, "f.pt2", zipped(members))


MORE_THAN_EXPRESSIONS = (
    "__import__('os').mkdir('CANARY')", "open('CANARY', 'w')", "(lambda: open('CANARY', 'w'))()",
    "[c for c in ().__class__.__base__.__subclasses__()]", "s0.__class__", "s0 if s0 else 1",
    "Symbol('s0', integer=open('CANARY', 'w'))", "Function('f')(s0)", "sympify('open(1)')",
    "S('9**(9**9)')", "2**s0**s0**s0", "s0\n", "", " ", "0", "-1", "s0 - s0", "1/0", "s0/0", "oo",
    "nan", "zoo", "I", "s0 < 3", "Eq(s0, 3)", "True", "9" * 400, "s99", "9223372036854775808",
)  # fmt: skip


def pickled(rng: Random) -> Case:
    """A pickle or what torch.save wrote: as a model, as weights, or as the batch."""
    whole = rng.choice(corpus.pickles())
    if zipfile.is_zipfile(io.BytesIO(whole)):
        data = mutated_zip(rng, whole)
    elif rng.random() < 0.3:
        data = _made_up(rng)
    else:
        data = _with_opcodes(rng, whole)
    return _as_any(rng, rng.choice(("f.pt", "f.pt", "f.pth", "f.bin", "f.pkl", "f.ckpt")), data)


def _as_any(rng: Random, name: str, data: bytes) -> Case:
    command = rng.choice(RUNNING)
    use = rng.choice((
        [command, name],
        [command, "m.py", "-i", "2x4", "--weights", name],
        [command, "m.py", "-i", name],
        [command, "m.py", "-i", f"x={name}"],
        [command, "m.py", "-i", "2x4", "--loss", "mse", "--target", name],
    ))  # fmt: skip
    return Case((*use, "-f", "json"), {"m.py": corpus.MODEL, name: data}, name)


def _with_opcodes(rng: Random, data: bytes) -> bytes:
    if rng.random() < 0.3:
        start = rng.randrange(len(data))
        piece = b"".join(rng.choice(OPCODES) for _ in range(rng.randint(1, 3)))
        data = data[:start] + piece + data[start + rng.randrange(2) :]
    return mutated_bytes(rng, data) if rng.random() < 0.7 else data


def _made_up(rng: Random) -> bytes:
    """Opcodes in any order, with a canary's among them."""
    lines = [
        b"os\nmkdir\n", b"builtins\nexec\n",
        b"posix\nsystem\n", b"torch._utils\n_rebuild_tensor_v2\n",
        b"torch.nn.modules.linear\nLinear\n", b"'CANARY'\n", b"1\n", b"x\n", *BYTES,
    ]  # fmt: skip
    steps = [
        rng.choice(OPCODES) + (rng.choice(lines) if rng.random() < 0.5 else b"")
        for _ in range(rng.randint(1, 12))
    ]
    canary = pickle.dumps(corpus.Canary(rng.randrange(len(corpus.Canary.CALLS))), 2)[2:-1]
    steps.insert(rng.randrange(len(steps) + 1), canary)
    return b"\x80\x02" + b"".join(steps) + b"."


def tensor_file(rng: Random) -> Case:
    """Files of safetensors and numpy, and an index of shards."""
    ending, whole = rng.choice(corpus.tensors())
    if ending == "safetensors" and rng.random() < 0.6:
        size = int.from_bytes(whole[:8], "little")
        header = mutated_json(rng, whole[8 : 8 + size])
        data = len(header).to_bytes(8, "little") + header + whole[8 + size :]
    elif ending == "json":
        data = mutated_json(rng, whole)
    else:
        data = mutated_bytes(rng, whole)
    name = f"f.{ending}" if ending != "json" else "f.safetensors.index.json"
    return _as_any(rng, name, data)

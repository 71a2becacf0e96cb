"""The valid files that cases mutate. Each build in the same environment gives the same bytes."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import nn

from hookcli.comparison.compare import compare
from hookcli.comparison.tolerance import Tolerances
from hookcli.comparison.training.compare_trainings import compare_trainings
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.encode import to_json, training_to_json
from tests.fuzz.configurations import BASES
from tests.models import made

MODEL = b"""import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.fc(x))


class Net(nn.Module):
    def __init__(self, width: int = 3, *, scale=1.0):
        super().__init__()
        self.a = nn.Sequential(Block(), nn.Tanh())
        self.fc = nn.Linear(4, width)
        self.scale = scale

    def forward(self, x):
        return {"y": self.fc(self.a(x)) * self.scale}
"""


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.fc(x))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Sequential(Block(), nn.Tanh())
        self.fc = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.a(x))


class Canary:
    """Unpickling it makes the file CANARY in the working folder, by one of several functions."""

    CALLS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (os.mkdir, ("CANARY",)),
        (exec, ("import os; os.mkdir('CANARY')",)),
        (eval, ("__import__('os').mkdir('CANARY')",)),
        (os.system, ("mkdir CANARY",)),
        (open, ("CANARY", "w")),
        (os.rename, ("m.py", "CANARY")),
    ]

    def __init__(self, index: int = 0) -> None:
        self._index = index

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.CALLS[self._index]


def _net() -> Net:
    torch.manual_seed(0)
    return Net().eval()


def _saved(value: Any, **how: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer, **how)
    return buffer.getvalue()


def _by_path(write: Callable[[Path], object]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="hookcli-fuzz-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "m.pt"
        write(path)
        return path.read_bytes()


def _export(path: Path) -> None:
    program = torch.export.export(_net(), (torch.ones(2, 4),))
    torch.export.save(program, path.with_suffix(".pt2"))
    path.with_suffix(".pt2").rename(path)


def _package(path: Path, *more: Any) -> None:
    net = made.modules(path.parent)
    torch.manual_seed(0)
    made.package(path, {"model/model.pkl": net.Net(), **dict(more)})
    made.forget()


@cache
def reports() -> list[bytes]:
    from tests.report.test_doctored import REPORTS

    return [*(to_json(report).encode() for report in REPORTS), *_in_fork(_measured)]


def _measured() -> list[bytes]:
    """Reports of real runs, without what differs between two of them: their duration."""
    import hookcli

    batch = torch.ones(2, 4)
    found = [hookcli.grads(_net(), batch), hookcli.trace(_net(), batch, kinds="all")]
    instant = [replace(one.environment, seconds=0.5) for one in found]
    return [
        to_json(replace(one, environment=environment)).encode()
        for one, environment in zip(found, instant, strict=True)
    ]


def _in_fork(make: Callable[[], list[bytes]]) -> list[bytes]:
    """What a function returns in a fork: autograd must not have run in a process that forks."""
    with tempfile.TemporaryFile() as file:
        pid = os.fork()
        if pid == 0:
            try:
                file.write(pickle.dumps(make()))
                file.flush()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        if os.waitpid(pid, 0)[1]:
            raise RuntimeError("a fork failed")
        file.seek(0)
        found: list[bytes] = pickle.load(file)
        return found


@cache
def trainings() -> list[bytes]:
    from tests.formats import training_reports as some

    found = [some.CNN, some.GAN, some.EMPTY, some.SMALL]
    return [training_to_json(report).encode() for report in found]


@cache
def diffs() -> list[bytes]:
    from tests.comparison.trainings import record, training
    from tests.report.test_doctored import REPORTS

    norms = {"stem.weight": [0.5, 0.5]}
    pair = training(record([2.0, 1.5], norms)), training(record([2.0, 1.4], norms))
    render = FORMATS["json"].render
    found = [
        compare(REPORTS[0], REPORTS[2]),
        compare_trainings(*pair, Tolerances(())),
    ]
    return [render(one, View()).encode() for one in found]


@cache
def torchscript() -> list[bytes]:
    traced = torch.jit.trace(_net(), torch.ones(2, 4))
    return [
        _by_path(lambda path: made.script(path, _net())),
        _by_path(lambda path: torch.jit.save(traced, str(path))),
    ]


@cache
def exported() -> list[bytes]:
    return [_by_path(_export)]


@cache
def dynamic() -> bytes:
    """A program with a batch of any size: its sizes are expressions."""
    return _by_path(_export_dynamic)


def _export_dynamic(path: Path) -> None:
    sizes = ({0: torch.export.Dim("batch", min=2, max=64)},)
    program = torch.export.export(_net(), (torch.ones(2, 4),), dynamic_shapes=sizes)
    torch.export.save(program, path.with_suffix(".pt2"))
    path.with_suffix(".pt2").rename(path)


@cache
def packages() -> list[bytes]:
    return [
        _by_path(_package),
        _by_path(lambda path: _package(path, ("extra/canary.pkl", Canary()))),
    ]


@cache
def pickles() -> list[bytes]:
    """Whole modules, state dicts and batches in each encoding, and canaries among them."""
    state = dict(_net().state_dict())
    linear = nn.Linear(4, 3)
    found = [
        pickle.dumps(linear), pickle.dumps({"a": [1, (2.0, "x", None, {3})]}, 4),
        pickle.dumps({"fc.weight": np.ones((3, 4))}), _saved(state), _saved({"model": state}),
        _saved({"fc.bias": state["fc.bias"]}, _use_new_zipfile_serialization=False), _saved(linear),
        _saved(torch.ones(2, 4)), _saved({"x": torch.ones(2, 4)}), _saved([torch.ones(2, 4), 3]),
        _saved({"complex": torch.ones(2, 4, dtype=torch.complex64), "q": torch.ones(2).bfloat16()}),
    ]  # fmt: skip
    for index in range(len(Canary.CALLS)):
        value = {"fc.weight": state["fc.weight"], "fc.bias": Canary(index)}
        found += [
            pickle.dumps(Canary(index)),
            pickle.dumps(value, 2),
            _saved(value),
            _saved(value, _use_new_zipfile_serialization=False),
        ]
    return [data if data[:2] == b"PK" else _without_addresses(data) for data in found]


def _without_addresses(data: bytes) -> bytes:
    """The pickle with a constant where torch writes the address of a storage as its key."""
    return re.sub(rb"\d{13,16}", lambda found: b"7" * len(found[0]), data)


@cache
def tensors() -> list[tuple[str, bytes]]:
    """Files of tensors that are not pickles: (ending, content)."""
    state = {name: value.clone() for name, value in _net().state_dict().items()}
    arrays = [
        np.ones((2, 4), "float32"), np.array(["a", "b"]), np.array([{"x": 1}], dtype=object),
        np.zeros((0, 4)), np.array(3), np.ones((2, 4), "f4,i8"), np.ones((4, 2), order="F"),
    ]  # fmt: skip
    return [
        ("safetensors", save(state)),
        ("safetensors", save({"x": torch.ones(2, 4)}, {"note": "a"})),
        *(("npy", _array(array)) for array in arrays),
        ("json", json.dumps({"weight_map": {"fc.weight": "w.safetensors"}}).encode()),
    ]


@cache
def weights() -> list[dict[str, bytes]]:
    """Files and folders of weights: the content of each file by its path; the first is named."""
    state = {f"layers.{i}.w": torch.full((2, 4), float(i)) for i in range(3)}
    state |= {"half": torch.ones(3).bfloat16(), "t": torch.arange(8.0).view(2, 4).t()}
    optimizer = {"state": {0: {"exp_avg": torch.ones(2, 4)}}, "param_groups": [{"lr": 0.1}]}
    checkpoint = {"state_dict": state, "optimizer": optimizer, "epoch": 3}
    odd = {"z": torch.ones(3).to_sparse(), "q": torch.ones(2, dtype=torch.complex64)}
    plain = {name: value.contiguous().clone() for name, value in state.items()}
    first = {"layers.0.w": plain["layers.0.w"]}
    second = {name: plain[name] for name in plain.keys() - first.keys()}
    index = {"weight_map": {name: f"{1 + (name not in first)}.safetensors" for name in plain}}
    legacy = _saved(checkpoint, _use_new_zipfile_serialization=False)
    return [
        {"f.safetensors": save(plain, {"format": "pt"})},
        {"f.pt": _saved(checkpoint)},
        {"f.bin": _without_addresses(legacy)},
        {"f.pth": _saved(odd)},
        {
            "d/model.safetensors.index.json": json.dumps(index).encode(),
            "d/1.safetensors": save(first),
            "d/2.safetensors": save({name: second[name] for name in sorted(second)}),
        },
        _distributed(plain),
        {"f.gguf": gguf()},
    ]


def _distributed(state: dict[str, torch.Tensor]) -> dict[str, bytes]:
    from torch.distributed.checkpoint import FileSystemWriter, save as save_distributed

    with tempfile.TemporaryDirectory(prefix="hookcli-fuzz-") as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save_distributed(
            {"model": state, "step": 3}, storage_writer=FileSystemWriter(name), no_dist=True
        )
        files = {f"d/{path.name}": path.read_bytes() for path in sorted(Path(name).iterdir())}
    one_id = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
    metadata = files["d/.metadata"].replace(name.encode(), b"x" * len(name))
    return {**files, "d/.metadata": one_id.sub(b"7" * 36, metadata)}


def gguf() -> bytes:
    """A GGUF file with a float32 tensor of 2 x 4, one of bfloat16, and a q8_0 block of ones."""

    def text(word: str) -> bytes:
        return len(word).to_bytes(8, "little") + word.encode()

    def entry(name: str, shape: tuple[int, ...], kind: int, offset: int) -> bytes:
        sizes = b"".join(size.to_bytes(8, "little") for size in reversed(shape))
        start = text(name) + len(shape).to_bytes(4, "little") + sizes
        return start + kind.to_bytes(4, "little") + offset.to_bytes(8, "little")

    head = b"GGUF" + (3).to_bytes(4, "little") + (3).to_bytes(8, "little")
    head += (2).to_bytes(8, "little") + text("general.name") + (8).to_bytes(4, "little")
    head += text("net") + text("sizes") + (9).to_bytes(4, "little") + (4).to_bytes(4, "little")
    head += (2).to_bytes(8, "little") + bytes(8)
    head += entry("a.w", (2, 4), 0, 0) + entry("a.h", (3,), 30, 32) + entry("a.q", (32,), 8, 64)
    values = np.arange(8, dtype="<f4").tobytes(), b"\x80?" * 3
    block = np.float16(0.5).tobytes() + bytes([2] * 32)
    return head + bytes(-len(head) % 32) + values[0] + values[1].ljust(32, b"\0") + block


def _array(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def build() -> None:
    """Build everything now, so that forks share it."""
    for part in (
        reports, trainings, diffs, torchscript, exported, dynamic, packages, pickles,
        tensors, weights,
    ):  # fmt: skip
        part()
    assert BASES
    sys.modules.pop("packed_net", None)

"""Models whose buffers, attributes and counters are unusual or change in forward."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from ._base import Shelf, call, ids, t

ENTRIES = Shelf()


@ENTRIES.add(
    "state_buffers",
    "buffers that are persistent, not persistent, None, shared under two names, views",
    lambda: call(t(2, 4)),
)
class Buffers(nn.Module):
    kept: Tensor
    view: Tensor
    again: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kept", torch.ones(4))
        self.register_buffer("dropped", torch.ones(4), persistent=False)
        self.register_buffer("again", self.kept)
        self.register_buffer("view", self.kept[:2])
        self.register_buffer("none", None)
        self.modern = nn.Buffer(torch.ones(4, dtype=torch.int64), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.kept + self.dropped + self.again + self.modern


@ENTRIES.add(
    "state_buffer_rebound",
    "binds its buffers to new tensors in forward, with another shape and dtype",
    lambda: call(t(2, 4)),
)
class BufferRebound(nn.Module):
    count: Tensor
    history: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_buffer("history", torch.zeros(0, 4))

    def forward(self, x: Tensor) -> Tensor:
        self.count = self.count + 1
        self.history = torch.cat([self.history, x])
        self.extra = nn.Buffer(self.count.double())
        return self.history / self.count


@ENTRIES.add(
    "state_batch_norm_training",
    "BatchNorm in training within an eval model: buffers change in place",
    lambda: call(t(4, 3)),
)
class AlwaysTraining(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3, momentum=0.5)
        self.free = nn.BatchNorm1d(3, affine=False, track_running_stats=False)

    def train(self, mode: bool = True) -> AlwaysTraining:
        return super().train(True)

    def forward(self, x: Tensor) -> Tensor:
        return self.free(self.norm(x))


@ENTRIES.add(
    "state_parameter_changes",
    "changes its parameters in forward: in place, by .data, and by a new Parameter",
    lambda: call(t(2, 4)),
)
class ParameterChanges(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.grown = nn.Parameter(torch.ones(1, 4))

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.fc.weight.mul_(0.5)
            self.fc.bias.data = self.fc.bias.data + 1
        self.grown = nn.Parameter(torch.cat([self.grown.detach(), x]))
        return self.fc(self.grown)


@ENTRIES.add(
    "state_plain_tensors",
    "tensors kept as plain attributes, in a list and in a dict: neither buffer nor parameter",
    lambda: call(t(2, 4)),
    fake=False,
)
class PlainTensors(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mean = torch.ones(4)
        self.anchors = [torch.ones(4), nn.Parameter(torch.ones(4))]
        self.cache = {"cos": torch.ones(4)}

    def forward(self, x: Tensor) -> Tensor:
        return x - self.mean + sum(self.anchors) * self.cache["cos"]


class Cache:
    def __init__(self) -> None:
        self.keys: list[Tensor] = []

    def update(self, k: Tensor) -> Tensor:
        self.keys.append(k)
        return torch.cat(self.keys, 1)


@ENTRIES.add(
    "state_kv_cache",
    "a cache object on itself that grows with each step and each forward",
    lambda: call(ids(1, 3)),
)
class KVCache(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(8, 4)
        self.kv = nn.Linear(4, 4)
        self.out = nn.Linear(4, 8)
        self.cache = Cache()

    def forward(self, tokens: Tensor, steps: int = 3) -> tuple[Tensor, Cache]:
        for _ in range(steps):
            q = self.emb(tokens[:, -1:])
            k = self.cache.update(self.kv(q))
            tokens = self.out((q @ k.mT).softmax(-1) @ k).argmax(-1)
        return tokens, self.cache


@ENTRIES.add(
    "state_python_counter",
    "counts its calls, and its first forward differs from the others",
    lambda: call(t(2, 4)),
)
class PythonCounter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.blocks[self.calls % 3](x)


@ENTRIES.add(
    "state_moving_average",
    "a frozen deep copy of a child, updated in forward by load_state_dict",
    lambda: call(t(2, 4)),
)
class MovingAverage(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.student = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)

    @torch.no_grad()
    def update(self) -> None:
        for p, q in zip(self.teacher.parameters(), self.student.parameters(), strict=True):
            p.lerp_(q, 0.1)
        self.student.load_state_dict(self.teacher.state_dict())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.student(x), self.teacher(x)
        self.update()
        return y


@ENTRIES.add(
    "state_extra_state",
    "extra state in the state dict that is no tensor",
    lambda: call(t(2, 4)),
)
class ExtraState(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.step = 3

    def get_extra_state(self) -> Any:
        return {"step": self.step, "rng": torch.get_rng_state()}

    def set_extra_state(self, state: Any) -> None:
        self.step = state["step"]

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x) * self.step


@ENTRIES.add(
    "state_converts_itself",
    "converts itself and a child to another dtype in forward and back",
    lambda: call(t(2, 4)),
    fake=False,
)
class ConvertsItself(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.double().a(x.double())
        self.float()
        self.b.to(torch.bfloat16)
        y = self.b(y.bfloat16())
        self.b.to(torch.float32)
        return y

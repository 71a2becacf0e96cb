"""Models whose forward runs children in an unusual order or region."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor, nn

from ._base import Shelf, call, ids, t

ENTRIES = Shelf()


@ENTRIES.add("flow_loop_shapes", "one child, seven calls, seven shapes", lambda: call(t(14, 4)))
class LoopShapes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        for i in range(7):
            x = self.fc(x[: len(x) - i // 2])
        return x


@ENTRIES.add("flow_self_recursion", "calls itself with depth - 1", lambda: call(t(2, 4), 5))
class SelfRecursion(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor, depth: int) -> Tensor:
        return self(self.fc(x), depth - 1) if depth else x


@ENTRIES.add(
    "flow_tree_lstm",
    "a tree LSTM: calls itself for each child of a nested tuple of ids",
    lambda: call(((0, (1, 2)), (3, ((4, 5), 6)))),
)
class TreeLSTM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.leaf = nn.Embedding(8, 4)
        self.gates = nn.Linear(8, 20)

    def forward(self, tree: Any) -> tuple[Tensor, Tensor]:
        if isinstance(tree, int):
            h = self.leaf(torch.tensor([tree]))
            return h, torch.zeros_like(h)
        (h1, c1), (h2, c2) = self(tree[0]), self(tree[1])
        i, f1, f2, o, u = self.gates(torch.cat([h1, h2], 1)).chunk(5, 1)
        c = i.sigmoid() * u.tanh() + f1.sigmoid() * c1 + f2.sigmoid() * c2
        return o.sigmoid() * c.tanh(), c


class Even(nn.Module):
    odd: list[Odd_]

    def forward(self, x: Tensor, n: int) -> Tensor:
        return x if n == 0 else self.odd[0](x, n - 1)


class Odd_(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.even = Even()
        self.even.odd = [self]

    def forward(self, x: Tensor, n: int) -> Tensor:
        return -x if n == 0 else self.even(x, n - 1)


@ENTRIES.add(
    "flow_mutual_recursion",
    "parent and child call each other; the child holds its parent in a list",
    lambda: call(t(2, 4), 5),
)
def mutual_recursion() -> nn.Module:
    return Odd_()


@ENTRIES.add(
    "flow_early_return",
    "most children are never called, one is called only in training",
    lambda: call(t(2, 4)),
)
class EarlyReturn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
        self.aux = nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Any:
        for i, block in enumerate(self.blocks):
            x = block(x)
            if i == 1 and not self.training:
                return x
        return x, self.aux(x)


@ENTRIES.add(
    "flow_data_dependent",
    "branches on a value, takes .item() and a nonzero of the data",
    lambda: call(t(6, 4)),
    fake=False,
)
class DataDependent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.experts.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        out = torch.zeros_like(x)
        kind = (x.sum(1) > 0).long()
        for k, expert in enumerate(self.experts):
            rows = (kind == k).nonzero()[:, 0]
            if len(rows):
                out[rows] = expert(x[rows])
        return out if x.mean().item() < 1 else self.experts[0](out)


class Fragile(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.wrong = nn.Linear(5, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.wrong(self.fc(x))


@ENTRIES.add(
    "flow_exception_caught",
    "a grandchild raises, the root catches it and goes on with another child, three times",
    lambda: call(t(2, 4)),
)
class ExceptionCaught(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fast = Fragile()
        self.slow = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(3):
            try:
                x = self.fast(x)
            except RuntimeError:
                x = self.slow(x)
        return x


class Found(Exception):
    pass


class Until(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor, n: int) -> Tensor:
        if not n:
            raise Found(x)
        return self(self.fc(x), n - 1)


@ENTRIES.add(
    "flow_exception_as_return",
    "a child returns its result by raising it through five calls of itself",
    lambda: call(t(2, 4)),
)
class ExceptionAsReturn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.until = Until()

    def forward(self, x: Tensor) -> Tensor:
        try:
            return self.until(x, 5)
        except Found as found:
            return found.args[0]


@ENTRIES.add(
    "flow_thread",
    "children called in one worker thread, in a fixed order",
    lambda: call(t(2, 4)),
)
class Threaded(nn.Module):
    def __init__(self, workers: int = 1) -> None:
        super().__init__()
        self.workers = workers
        self.shared = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(4, 2) for _ in range(3))

    def forward(self, x: Tensor) -> list[Tensor]:
        with ThreadPoolExecutor(self.workers) as pool:
            ys = pool.map(self.shared, [x, x + 1, x + 2])
            return list(pool.map(lambda head, y: head(y), self.heads, ys))


@ENTRIES.add(
    "flow_threads_at_once",
    "children called in three threads at a time, in no fixed order",
    lambda: call(t(2, 4)),
    fake=False,
)
def threads_at_once() -> nn.Module:
    return Threaded(3)


@ENTRIES.add(
    "flow_grad_modes",
    "children in no_grad, inference_mode and enable_grad regions, one by decorator",
    lambda: call(t(2, 4)),
)
class GradModes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.teacher = nn.Linear(4, 4)
        self.student = nn.Linear(4, 4)

    @torch.no_grad()
    def target(self, x: Tensor) -> Tensor:
        return self.teacher(x)

    @torch.no_grad()
    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        with torch.enable_grad():
            y = self.student(x)
        with torch.inference_mode():
            z = self.student(x)
        return self.target(x), y, z


@ENTRIES.add(
    "flow_toggles_training",
    "switches itself and a child between train and eval, Monte Carlo dropout",
    lambda: call(ids(2, 4).float()),
)
class TogglesTraining(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        was = self.training
        self.train()
        ys = [self.fc(self.drop(x)) for _ in range(3)]
        self.train(was)
        return torch.stack(ys).std(0)

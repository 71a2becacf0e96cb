"""Models that TorchScript compiles, each with something that a call can be or give."""

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Linear(4, 4)
        self.act = nn.Tanh()

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 1e9):
            return x
        return self.act(self.c(x))


class Loop(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(4, 3)
        self.unused = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        for block in self.blocks:
            x = block(x)
        return self.head(x), x


class Pair(NamedTuple):
    first: Tensor
    count: int


class Maybe(nn.Module):
    def forward(self, x: Tensor) -> Tensor | None:
        if bool(x.sum() > -1e9):
            return x * 2
        return None


class Several(nn.Module):
    def forward(self, x: Tensor) -> list[Tensor]:
        return [x * 2, x * 3]


class Named(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"p": x * 2}


class Paired(nn.Module):
    def forward(self, x: Tensor) -> Pair:
        return Pair(x * 2, 3)


class Nested(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, list[Tensor]], int]:
        return x * 2, (x * 3, [x * 4]), 7


class Arguments(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4))

    def forward(
        self, x: Tensor, k: int, f: float, o: Tensor | None, d: dict[str, Tensor], b: bool = True
    ) -> Tensor:
        y = x * k * f * self.w + d["z"]
        if o is not None and b:
            y = y + o
        return y


class Kinds(nn.Module):
    def __init__(self):
        super().__init__()
        self.arguments, self.maybe, self.several = Arguments(), Maybe(), Several()
        self.named, self.paired, self.nested = Named(), Paired(), Nested()

    def forward(self, x: Tensor) -> Tensor:
        y = self.arguments(x * 1, 2, 1.5, None, {"z": x})
        o = self.maybe(y)
        if o is None:
            o = y
        several = self.several(o)
        nested = self.nested(self.paired(self.named(several[0])["p"]).first)
        return nested[0] + nested[1][0] + nested[1][1][0] + several[1]


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.unused_result = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        self.unused_result(x)
        return self.layer(x) + self.layer(x)


class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Linear(4, 4)
        self.r = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        z = self.r(self.c(x)) * 2
        z += 1
        return z


class NoGrad(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.m = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            h = self.l(x)
        return h * self.m(x)


class Forked(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        waiting = torch.jit.fork(self.a, x)
        return torch.jit.wait(waiting) + self.b(x)


@torch.jit.interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Up(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.l(x)


class Behind(nn.Module):
    step: Step

    def __init__(self):
        super().__init__()
        self.step = Up()

    def forward(self, x: Tensor) -> Tensor:
        return self.step.forward(x)


class Methods(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def twice(self, x: Tensor) -> Tensor:
        return self.l(self.l(x))

    def forward(self, x: Tensor) -> Tensor:
        return self.twice(x) + x


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 5, 2)
        self.head = nn.Linear(5, 2)

    def forward(self, x: Tensor) -> Tensor:
        output, _ = self.rnn(x)
        return self.head(output)


class Digits(nn.Module):
    """Of an image of 28 by 28, and of nothing else."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3), nn.MaxPool2d(2), nn.Flatten())
        self.head = nn.Linear(8 * 13 * 13, 10)

    def forward(self, image: Tensor) -> Tensor:
        return self.head(self.features(image))


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 8)
        self.rnn = nn.GRU(8, 8, batch_first=True)

    def forward(self, input_ids: Tensor, temperature: float = 1.0) -> Tensor:
        return self.rnn(self.table(input_ids))[0] / temperature


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.again = self.first

    def forward(self, x: Tensor) -> Tensor:
        return self.again(self.first(x))


def batch():
    return torch.randn(3, 4, generator=torch.Generator().manual_seed(0))


def sequence():
    return torch.randn(3, 2, 4, generator=torch.Generator().manual_seed(0))


NETS = {
    "loop": (Loop, batch), "kinds": (Kinds, batch), "twice": (Twice, batch),
    "in place": (InPlace, batch), "no grad": (NoGrad, batch), "methods": (Methods, batch),
    "recurrent": (Recurrent, sequence), "shared": (Shared, batch),
    "encoder": (lambda: nn.Sequential(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)), sequence),
    "convolutions": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
            nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)),
        ),
        lambda: torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0)),
    ),
}  # fmt: skip

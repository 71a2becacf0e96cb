"""Small compositions that TorchScript compiles, for the comparison of scripted modules."""

from enum import Enum
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def _x(*shape):
    return torch.randn(shape or (2, 4))


class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor, need_weights: bool = False):
        y, _ = self.attention(x, x, x, need_weights=need_weights)
        return self.head(y)


class Encodes(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor, mask: Tensor):
        return self.head(self.encoder(x, src_key_padding_mask=mask))


class Decodes(nn.Module):
    def __init__(self):
        super().__init__()
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 1)

    def forward(self, x: Tensor, memory: Tensor):
        mask = torch.triu(torch.ones(x.size(0), x.size(0)), 1) > 0
        return self.decoder(x, memory, tgt_mask=mask)


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 5, num_layers=2, bidirectional=True)
        self.head = nn.Linear(10, 3)

    def forward(self, x: Tensor, lengths: Tensor):
        packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
        out, (h, c) = self.rnn(packed)
        return self.head(pad_packed_sequence(out)[0]), h, c


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = self.a
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: Tensor):
        return self.b(self.norm(self.a(self.norm(x))))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 8)
        self.head = nn.Linear(8, 10, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x: Tensor):
        return self.head(self.embedding(x))


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)])
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Sequential(nn.Linear(4, 2))})

    def forward(self, x: Tensor):
        for layer in self.layers:
            x = layer(x)
        out = {}
        for name, head in self.heads.items():
            out[name] = head(x)
        return out


class Rounds(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor):
        h = torch.zeros_like(x)
        for i in range(x.size(0)):
            if i % 2 == 0:
                h = self.cell(x, self.dropout(h))
        return h


class Pair(NamedTuple):
    first: Tensor
    second: int


class Color(Enum):
    RED = 1
    BLUE = 2


class Takes(nn.Module):
    """Takes and returns what is not a tensor."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(
        self,
        x: Tensor,
        name: str,
        count: int,
        ratio: float,
        maybe: Tensor | None,
        number: int | None,
        pairs: list[tuple[Tensor, int]],
        numbered: dict[int, Tensor],
        device: torch.device,
        dtype: torch.dtype,
        pair: Pair,
        color: Color,
        flag: bool = True,
    ):
        if maybe is not None:
            x = x + maybe
        if color == Color.RED:
            x = x * 2
        if number is not None:
            x = x * number
        y = torch.ones(4, dtype=dtype, device=device) + pairs[0][0] + numbered[3] + pair.first
        return self.linear(x) * count * ratio + y + len(name)


class Nothing(nn.Module):
    def forward(self, x: Tensor) -> None:
        return None


class Number(nn.Module):
    def forward(self, x: Tensor) -> int:
        return x.size(0)


class Word(nn.Module):
    def forward(self, x: Tensor) -> str:
        return "word" if x.size(0) > 1 else "words"


class Optionals(nn.Module):
    def forward(self, x: Tensor, flag: bool) -> Tensor | None:
        return x * 2 if flag else None


class Values(nn.Module):
    def __init__(self):
        super().__init__()
        self.takes, self.nothing, self.number, self.word = Takes(), Nothing(), Number(), Word()
        self.maybe = Optionals()

    def forward(self, x: Tensor):
        self.nothing(x)
        n = self.number(x)
        y = self.maybe(x, False)
        z = self.maybe(x, True)
        out = self.takes(
            x, self.word(x), n, 0.5, y, 2, [(x, 1)], {3: x}, x.device, x.dtype, Pair(x, 2),
            Color.RED,
        )  # fmt: skip
        return out if z is None else out + z


@torch.jit.interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) / 2


class Interfaces(nn.Module):
    step: Step

    def __init__(self):
        super().__init__()
        self.step = Halves()

    def forward(self, x: Tensor) -> Tensor:
        return self.step.forward(x)


def halved(x: Tensor, weight: Tensor) -> Tensor:
    return nn.functional.linear(x, weight) / 2


class Methods(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.broken = Broken()

    @torch.jit.export
    def half(self, x: Tensor) -> Tensor:
        return self.linear(x) / 2

    @torch.jit.unused
    def python(self, x: Tensor) -> Tensor:
        raise ValueError(x)

    @torch.jit.ignore
    def ignored(self, x: Tensor) -> Tensor:
        raise ValueError(x)

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) > 100:
            return self.python(x)
        return halved(self.half(x), self.linear.weight) + self.broken(x)


class Broken(nn.Module):
    """Its forward is not compiled: an exported method and a fork of the path are."""

    def forward(self, x: Tensor) -> Tensor:
        if x.numel() == 0:
            raise ValueError("empty")
        return x


class Keywords(nn.Module):
    def __init__(self):
        super().__init__()
        self.bilinear = nn.Bilinear(4, 4, 2)

    def forward(self, x: Tensor, scale: float = 2.0):
        return self.bilinear(input2=x * scale, input1=x)


class NoGrad(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor):
        with torch.no_grad():
            y = self.a(x)
        return self.b(x) + y.detach()


class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.relu = nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True)
        self.pool, self.flat = nn.MaxPool2d(2), nn.Flatten()
        self.head = nn.Linear(36, 3)

    def forward(self, x: Tensor):
        return self.head(self.flat(self.pool(self.relu(self.conv(x)))))


class Forks(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = Halves(), Halves(), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        a = torch.jit.fork(self.a, x)
        b = torch.jit.fork(self.b, x)
        y = self.c(x)
        return torch.jit.wait(a) * torch.jit.wait(b) + y


class ForksInForks(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.other = Forks(), Forks()
        self.head = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        futures = [torch.jit.fork(self.inner, x) for _ in range(3)]
        y = self.other(x)
        for future in futures:
            y = y + torch.jit.wait(future)
        return self.head(y)


def tenfold(self, inputs: tuple[Tensor]) -> Tensor:
    return inputs[0] * 10


def hundredfold(self, inputs: tuple[Tensor], output: Tensor) -> Tensor:
    return output * 100


def thirdfold(self, inputs: tuple[Tensor], output: Tensor) -> Tensor:
    return output * 3 + inputs[0]


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.tanh = nn.Linear(4, 4), nn.Tanh()
        self.linear.register_forward_pre_hook(tenfold)
        self.linear.register_forward_hook(thirdfold)
        self.linear.register_forward_hook(hundredfold)
        self.register_forward_hook(hundredfold)

    def forward(self, x: Tensor) -> Tensor:
        return self.tanh(self.linear(self.linear(x)) * 1e-4) + x


class HookedInside(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Hooked(), nn.Sequential(nn.Linear(4, 4), Hooked())

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x))


class Raises(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 1e9):
            raise ValueError("too large")
        return self.linear(x)


def _sequential():
    return nn.Sequential(
        nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU()), nn.Dropout(0.5),
        nn.Linear(8, 4), nn.BatchNorm1d(4),
    )  # fmt: skip


# Name → what makes the model, positional and keyword arguments.
NETS = {
    "attention": (Attends, lambda: (_x(3, 2, 8),), {}),
    "attention, weights": (Attends, lambda: (_x(3, 2, 8), True), {}),
    "encoder": (Encodes, lambda: (_x(2, 3, 8), torch.tensor([[False, False, True]] * 2)), {}),
    "decoder": (Decodes, lambda: (_x(3, 2, 8), _x(4, 2, 8)), {}),
    "packed": (Packed, lambda: (_x(3, 2, 8), torch.tensor([2, 3])), {}),
    "sequential": (_sequential, lambda: (_x(),), {}),
    "shared": (Shared, lambda: (_x(),), {}),
    "tied": (Tied, lambda: (torch.randint(0, 10, (2, 3)),), {}),
    "lists": (Lists, lambda: (_x(),), {}),
    "rounds": (Rounds, lambda: (_x(),), {}),
    "values": (Values, lambda: (_x(),), {}),
    "interface": (Interfaces, lambda: (_x(),), {}),
    "methods": (Methods, lambda: (_x(),), {}),
    "keywords": (Keywords, lambda: (_x(),), {"scale": 3.0}),
    "no grad": (NoGrad, lambda: (_x(),), {}),
    "in place": (InPlace, lambda: (_x(2, 3, 8, 8),), {}),
    "hooked": (Hooked, lambda: (_x(),), {}),
    "hooked inside": (HookedInside, lambda: (_x(),), {}),
    "raises": (Raises, lambda: (_x(),), {}),
    "forks": (Forks, lambda: (_x(),), {}),
    "forks in forks": (ForksInForks, lambda: (_x(),), {}),
}
# Calls in forks begin in an order that differs between runs.
UNORDERED = frozenset({"forks", "forks in forks"})

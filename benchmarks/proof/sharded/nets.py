"""Small architectures for sharded trainings, with sizes that no number of ranks divides."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


class Mlp(nn.Module):
    """A pair of layers as tensor parallelism splits them, and a normalization outside."""

    def __init__(self, width: int, hidden: int, *, bias: bool = True) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, hidden, bias=bias), nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(functional.gelu(self.up(self.norm(x))))


class Attention(nn.Module):
    """Heads in separate projections, so that each rank can have some of them."""

    def __init__(self, width: int, head: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.head = head
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, rest = self.norm(x), x
        q, k, v = (
            part(x).unflatten(-1, (-1, self.head)).transpose(1, 2)
            for part in (self.q, self.k, self.v)
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return rest + self.out(y.transpose(1, 2).flatten(2))


class Gpt(nn.Module):
    """A transformer with learned positions; `tied` uses the embedding as the last layer."""

    def __init__(self, *, tied: bool = False, layers: int = 2, width: int = 16) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(37, width), nn.Embedding(8, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(Attention(width, width // 4), Mlp(width, 4 * width))
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 37, bias=False)
        if tied:
            self.head.weight = self.words.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class ResNet(nn.Module):
    """Convolutions with residuals; 5 and 7 channels are not divisible."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.GroupNorm(2, 6), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1))
            for _ in range(2)
        )
        self.head = nn.Linear(6, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x.mean((2, 3)))


class Moe(nn.Module):
    """A mixture of experts without dispatch: each expert sees all tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 12)
        self.gate = nn.Linear(12, 3)
        self.experts = nn.ModuleList(Mlp(12, 20) for _ in range(3))
        self.last = nn.Linear(12, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        share = self.gate(x).softmax(-1)
        x = sum(share[..., i : i + 1] * expert(x) for i, expert in enumerate(self.experts))
        return self.last(x)


class Recurrent(nn.Module):
    """An LSTM: four matrices of one module."""

    def __init__(self) -> None:
        super().__init__()
        self.core = nn.LSTM(8, 7, batch_first=True)
        self.last = nn.Linear(7, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.core(x)[0])


class Vit(nn.Module):
    """Patches, a parameter that is no module's weight, and attention."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, stride=4)
        self.token = nn.Parameter(torch.randn(1, 1, 8) / 3)
        self.blocks = nn.Sequential(Attention(8, 2), Mlp(8, 16))
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
        return self.head(self.blocks(x)[:, 0])


class Scaled(nn.Module):
    """A parameter of one element, and a frozen layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 3)
        self.scale = nn.Parameter(torch.ones(1))
        self.mlp = Mlp(3, 8)
        self.frozen = nn.Linear(3, 3)
        self.frozen.requires_grad_(False)
        self.last = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.frozen(self.mlp(self.first(x) * self.scale)))


class Siamese(nn.Module):
    """One encoder that is called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 12), Mlp(12, 24))
        self.last = nn.Linear(12, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.encoder(x) - self.encoder(x.flip(-1)))


def _floats(*shape: int):
    return lambda g: torch.randn(8, *shape, generator=g, dtype=torch.float64)


def _ids(generator: torch.Generator) -> torch.Tensor:
    return torch.randint(37, (8, 8), generator=generator)


# Each with what makes a batch of eight samples from a generator.
NETS = {
    "gpt": (Gpt, _ids),
    "tied": (lambda: Gpt(tied=True), _ids),
    "deep": (lambda: Gpt(layers=3, width=8), _ids),
    "resnet": (ResNet, _floats(3, 8, 8)),
    "moe": (Moe, _floats(4, 8)),
    "lstm": (Recurrent, _floats(5, 8)),
    "vit": (Vit, _floats(3, 8, 8)),
    "scaled": (Scaled, _floats(8)),
    "siamese": (Siamese, _floats(8)),
    "mlp": (lambda: nn.Sequential(nn.Linear(8, 12), Mlp(12, 28, bias=False), nn.Linear(12, 3)),
            _floats(8)),
    "stack": (
        lambda: nn.Sequential(nn.Linear(8, 12), Mlp(12, 28), Mlp(12, 16), nn.Linear(12, 3)),
        _floats(8),
    ),
    "bf16": (lambda: nn.Sequential(nn.Linear(8, 12), Mlp(12, 28), nn.Linear(12, 3)), _floats(8)),
}  # fmt: skip

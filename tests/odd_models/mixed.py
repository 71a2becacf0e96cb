"""Other architectures: graphs, densities, agents, splines, losses, and nested ones."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Categorical, MixtureSameFamily, Normal

from ._base import Shelf, call, ids, t

ENTRIES = Shelf()


class GraphConv(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.message = nn.Linear(8, 4)
        self.update = nn.GRUCell(4, 4)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        src, dst = edge_index
        messages = self.message(torch.cat([x[src], x[dst]], 1))
        return self.update(torch.zeros_like(x).index_add_(0, dst, messages), x)


@ENTRIES.add(
    "mix_graph_network",
    "message passing by index_add_, the same layer for every round, a sum per graph",
    lambda: call(
        t(5, 4), torch.tensor([[0, 1, 2, 3], [1, 2, 0, 4]]), torch.tensor([0, 0, 0, 1, 1])
    ),
)
class GraphNetwork(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = GraphConv()

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, graphs: int = 2) -> Tensor:
        for _ in range(3):
            x = self.conv(x, edge_index)
        return x.new_zeros(graphs, 4).index_add(0, batch, x)


@ENTRIES.add(
    "mix_distributions",
    "torch.distributions objects as outputs of the model and of a child",
    lambda: call(t(2, 4)),
    fake=False,
)
class MixtureDensity(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 9)
        self.gauss = Gauss()

    def forward(self, x: Tensor) -> dict[str, Any]:
        w, loc, scale = self.fc(x).chunk(3, -1)
        normal = self.gauss(loc, scale)
        mixture = MixtureSameFamily(Categorical(logits=w), normal)
        return {"mixture": mixture, "mean": mixture.mean, "normal": normal}


class Gauss(nn.Module):
    def forward(self, loc: Tensor, scale: Tensor) -> Normal:
        return Normal(loc, scale.exp())


@ENTRIES.add(
    "mix_actor_critic",
    "two heads, a dict observation, a state that may be None, an empty info dict",
    lambda: call({"image": t(2, 1, 4, 4), "speed": t(2)}),
)
class ActorCritic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.eye = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten())
        self.core = nn.LSTMCell(9, 4)
        self.heads = nn.ModuleDict({"pi": nn.Linear(4, 3), "v": nn.Linear(4, 1)})

    def forward(self, obs: dict[str, Tensor], state: Any = None) -> tuple[Any, ...]:
        seen = torch.cat([self.eye(obs["image"]), obs["speed"][:, None]], 1)
        state = self.core(seen, state)
        return self.heads["pi"](state[0]).log_softmax(1), self.heads["v"](state[0])[:, 0], state, {}


class SplineLayer(nn.Module):
    grid: Tensor

    def __init__(self, n: int, m: int) -> None:
        super().__init__()
        self.register_buffer("grid", torch.linspace(-1, 1, 5), persistent=False)
        self.coef = nn.Parameter(torch.ones(m, n, 5))
        self.base = nn.ModuleList(nn.ModuleList(nn.SiLU() for _ in range(n)) for _ in range(m))

    def forward(self, x: Tensor) -> Tensor:
        basis = (-((x[..., None] - self.grid) ** 2)).exp()
        rows = [sum(act(x[:, i]) for i, act in enumerate(row)) for row in self.base]
        return torch.einsum("bng,mng->bm", basis, self.coef) + torch.stack(rows, 1)


@ENTRIES.add("mix_splines", "a KAN: one activation module per edge", lambda: call(t(2, 3)))
def splines() -> nn.Module:
    return nn.Sequential(SplineLayer(3, 4), SplineLayer(4, 2))


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(x, dim=-1) * self.scale


@ENTRIES.add(
    "mix_triplet",
    "one encoder for anchor, positive and negative; loss modules called in forward",
    lambda: call(t(3, 4), t(3, 4) + 1, t(3, 4) - 1),
)
class Triplet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 4), Norm())
        self.loss = nn.TripletMarginLoss(reduction="none")
        self.cosine = nn.CosineSimilarity()

    def forward(self, *triple: Tensor) -> dict[str, Any]:
        a, p, n = map(self.encoder, triple)
        return {"loss": self.loss(a, p, n), "similar": [self.cosine(a, p), self.cosine(a, n)]}


@ENTRIES.add(
    "mix_losses",
    "losses as children, one with a buffer; labels are optional and given",
    lambda: call(t(3, 4), labels=ids(3, high=2)),
)
class Losses(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.ce = nn.CrossEntropyLoss(weight=torch.ones(2))
        self.adaptive = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4], div_value=2)

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Any:
        logits = self.fc(x)
        if labels is None:
            return logits
        return self.ce(logits, labels), logits, self.adaptive.log_prob(x)


@ENTRIES.add(
    "mix_reversible",
    "a reversible block: forward and inverse call the same children in other orders",
    lambda: call(t(2, 4)),
)
class Reversible(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.f = nn.Linear(2, 2)
        self.g = nn.Linear(2, 2)

    def inverse(self, y: Tensor) -> Tensor:
        a, b = y.chunk(2, -1)
        b = b - self.g(a)
        return torch.cat([a - self.f(b), b], -1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x.chunk(2, -1)
        a = a + self.f(b)
        y = torch.cat([a, b + self.g(a)], -1)
        return y, (self.inverse(y) - x).abs().amax()


@ENTRIES.add(
    "mix_adapters",
    "low-rank adapters: layers replaced by wrappers of them, merged weights, scale 0 skipped",
    lambda: call(t(2, 4)),
)
def adapters() -> nn.Module:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 4)))
    model[0] = LowRank(model[0], 1.0)
    model[2][0] = LowRank(LowRank(model[2][0], 0.0), 2.0)
    return model


class LowRank(nn.Module):
    def __init__(self, base_layer: nn.Module, scale: float) -> None:
        super().__init__()
        self.base_layer = base_layer.requires_grad_(False)
        self.lora_A = nn.ModuleDict({"default": nn.Linear(4, 2, bias=False)})
        self.lora_B = nn.ModuleDict({"default": nn.Linear(2, 4, bias=False)})
        self.scale = scale

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        y = self.base_layer(x, *args, **kwargs)
        if self.scale:
            y = y + self.lora_B["default"](self.lora_A["default"](x)) * self.scale
        return y


@ENTRIES.add(
    "mix_stochastic_depth",
    "layers skipped by a fixed plan, in eval too; the plan is part of the output",
    lambda: call(t(2, 4)),
)
class StochasticDepth(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(6))

    def forward(self, x: Tensor) -> tuple[Tensor, list[bool]]:
        plan = [(i * 2654435761) % 7 < 4 for i in range(len(self.layers))]
        for keep, layer in zip(plan, self.layers, strict=True):
            x = x + layer(x) if keep else x
        return x, plan

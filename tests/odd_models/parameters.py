"""Models with unusual parameters: shared, tied, parametrized, empty, views, frozen."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize

from ._base import Shelf, call, ids, t

ENTRIES = Shelf()


@ENTRIES.add(
    "param_tied_embedding", "the head's weight is the embedding's", lambda: call(ids(2, 3))
)
class TiedEmbedding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(8, 4)
        self.head = nn.Linear(4, 8, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.emb(x))


@ENTRIES.add(
    "param_weight_of_uncalled",
    "a child whose weight is used though the child is never called",
    lambda: call(ids(2, 3)),
)
class WeightOfUncalled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(8, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x: Tensor) -> Tensor:
        y = F.embedding(x, self.emb.weight)
        return F.linear(F.layer_norm(y, (4,), self.norm.weight, self.norm.bias), self.emb.weight)


@ENTRIES.add(
    "param_module_two_parents",
    "one module under two names and two parents, in a list three times, called through each",
    lambda: call(t(2, 4)),
)
class TwoParents(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        shared = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.a = nn.Sequential(shared, nn.Tanh())
        self.b = nn.Sequential(nn.Linear(4, 4), shared)
        self.alias = shared
        self.rolled = nn.ModuleList([shared[0]] * 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.alias(self.b(self.a(x)))
        for layer in self.rolled:
            x = layer(x)
        return x


@ENTRIES.add(
    "param_two_names",
    "one Parameter under two names in one module, and in its child",
    lambda: call(t(2, 4)),
)
class TwoNames(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 4))
        self.same = self.weight
        self.child = nn.Linear(4, 4)
        self.child.weight = self.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.child(x @ self.weight @ self.same)


@ENTRIES.add(
    "param_lists_and_dicts",
    "ParameterList and ParameterDict, nested, with None, a plain tensor and odd keys",
    lambda: call(t(2, 4)),
)
class ListsAndDicts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = nn.ParameterList([torch.ones(4), nn.Parameter(torch.ones(4)), 3])
        inner = nn.ParameterDict({"a b": torch.ones(1), "none": None})
        self.table = nn.ParameterDict({"|": nn.Parameter(torch.ones(4)), "inner": inner})

    def forward(self, x: Tensor) -> Tensor:
        x = x * self.steps[0] * self.steps[1] * self.steps[2]
        return x * self.table["|"] * self.table["inner"]["a b"]


@ENTRIES.add(
    "param_frozen_and_integer",
    "frozen, integer, bool and 0-d parameters, one with a gradient already",
    lambda: call(t(2, 4)),
)
class FrozenAndInteger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.packed = nn.Parameter(torch.ones(4, 4, dtype=torch.int8), requires_grad=False)
        self.mask = nn.Parameter(torch.ones(4, dtype=torch.bool), requires_grad=False)
        self.scale = nn.Parameter(torch.ones(()))
        self.scale.grad = torch.ones(())
        self.body = nn.Linear(4, 4).requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x) @ (self.packed.float() * self.scale) * self.mask


@ENTRIES.add(
    "param_zero_elements",
    "parameters of zero elements, next to modules without any",
    lambda: call(t(2, 4)),
)
class ZeroElements(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.nothing = nn.Parameter(torch.empty(0))
        self.prompt = nn.Parameter(torch.empty(0, 4))
        self.act = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(torch.cat([self.prompt, x])) + self.nothing.sum()


@ENTRIES.add(
    "param_views",
    "parameters that share storage: slices of a flat one, a transposed and an expanded one",
    lambda: call(t(2, 4)),
)
class SharedStorage(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        flat = torch.ones(20)
        self.flat = nn.Parameter(flat)
        self.weight = nn.Parameter(flat[:16].view(4, 4).t())
        self.bias = nn.Parameter(flat[16:])
        self.wide = nn.Parameter(torch.ones(1).expand(4))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias) * self.wide + self.flat.sum()


@ENTRIES.add(
    "param_parametrizations",
    "weight_norm, spectral_norm and one of its own by torch.nn.utils.parametrize",
    lambda: call(t(2, 4)),
)
class Parametrized(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = parametrizations.weight_norm(nn.Linear(4, 4))
        self.b = parametrizations.spectral_norm(nn.Linear(4, 4))
        self.c = nn.Linear(4, 4)
        parametrize.register_parametrization(self.c, "weight", Symmetric())
        parametrize.register_parametrization(self.c, "weight", nn.Softplus())

    def forward(self, x: Tensor) -> Tensor:
        with parametrize.cached():
            return self.c(self.c(self.b(self.a(x))))


class Symmetric(nn.Module):
    def forward(self, w: Tensor) -> Tensor:
        return w.triu() + w.triu(1).mT

    def right_inverse(self, w: Tensor) -> Tensor:
        return w.triu()


@ENTRIES.add(
    "param_orthogonal",
    "the orthogonal parametrization: every access of .weight calls a module",
    lambda: call(t(2, 4)),
    fake=False,
)
class Orthogonal(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = parametrizations.orthogonal(nn.Linear(4, 4))

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x) @ self.fc.weight


@ENTRIES.add(
    "param_old_weight_norm",
    "the old weight_norm and spectral_norm: weight is a plain tensor, set by a pre-hook",
    lambda: call(t(1, 4, 5)),
)
class OldWeightNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.conv = nn.utils.weight_norm(nn.Conv1d(4, 4, 3))
            self.norm = nn.utils.spectral_norm(nn.Conv1d(4, 4, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.conv(x))


@ENTRIES.add(
    "param_lazy",
    "lazy modules: parameters without shapes, classes that change at the first call",
    lambda: call(t(2, 3, 8, 8)),
    fake=False,
)
class Lazy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.conv = nn.LazyConv2d(2, 3)
            self.norm = nn.LazyBatchNorm2d()
            self.fc = nn.LazyLinear(2)
            self.unused = nn.LazyLinear(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.norm(self.conv(x)).flatten(1))


@ENTRIES.add(
    "param_overridden_iterators",
    "parameters(), named_parameters() and state_dict() overridden to tell of the adapter only",
    lambda: call(t(2, 4)),
)
class AdapterOnly(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(4, 4)
        self.adapter = nn.Linear(4, 4, bias=False)

    def parameters(self, recurse: bool = True) -> Iterator[nn.Parameter]:
        return self.adapter.parameters()

    def named_parameters(self, *args, **kwargs):
        return self.adapter.named_parameters(*args, **kwargs)

    def state_dict(self, *args, **kwargs):
        return {}

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.adapter(x)

"""Modules that use Inf, or make NaN and replace it, as they should: nothing is wrong with them."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F  # its usual name
from torch import nn

INF = float("inf")
LEGITIMATE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {}


def legitimate(function):
    LEGITIMATE[function.__name__] = function
    return function


def causal(size: int) -> torch.Tensor:
    return torch.full((size, size), -INF).triu(1)


@legitimate
def causal_mask_added(x):
    return (x @ x.mT + causal(3)).softmax(-1) @ x


@legitimate
def causal_mask_filled(x):
    scores = (x @ x.mT).masked_fill(causal(3) == -INF, -INF)
    return scores.softmax(-1) @ x


@legitimate
def attention_with_a_float_mask(x):
    return F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=causal(3))[0]


@legitimate
def attention_with_a_masked_row(x):
    mask = torch.ones(3, 3, dtype=torch.bool).tril(-1)
    return F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=mask)[0] + x


@legitimate
def masked_logits_in_the_output(x):
    return x.masked_fill(x < -100, -INF)


@legitimate
def log_softmax_of_masked_logits(x):
    mask = torch.zeros(8, dtype=torch.bool).index_fill(0, torch.tensor([1]), value=True)
    logs = x.masked_fill(mask, -INF).log_softmax(-1)
    return torch.where(mask, 0.0, logs) + x


@legitimate
def a_maximum_from_minus_inf(x):
    best = torch.full_like(x[:, :1], -INF)
    for i in range(8):
        best = torch.maximum(best, x[:, i : i + 1])
    return x + best


@legitimate
def a_minimum_from_inf(x):
    best = x.new_full((3, 1), INF)
    best = torch.minimum(best, x.amin(1, keepdim=True))
    return x + best


@legitimate
def top_k_filter(x):
    least = x.topk(4).values[:, -1:]
    return torch.where(x < least, -INF, x).softmax(-1)


@legitimate
def logsumexp_with_masked_elements(x):
    mask = torch.arange(8) > 5
    return x + x.masked_fill(mask, -INF).logsumexp(-1, keepdim=True)


@legitimate
def nan_replaced(x):
    zero = (x * 0).detach()
    return x + (zero / zero).nan_to_num(0.0)


@legitimate
def mask_by_log(x):
    mask = torch.tensor([1.0, 1, 1, 0, 1, 1, 0, 1])
    return (x + mask.log()).softmax(-1)


@legitimate
def max_pool_with_padding(x):
    return F.max_pool1d(x[None], 3, stride=1, padding=1)[0]


@legitimate
def clamp_between_infinities(x):
    return x.clamp(min=-INF, max=INF)


@legitimate
def constants_of_infinity(x):
    limits = torch.tensor([-INF, INF])
    return torch.where((x > limits[0]) & (x < limits[1]), x, 0.0)


@legitimate
def overflow_that_is_bounded(x):
    return x + torch.sigmoid((x.detach().abs() + 1) * 1e30 * 1e30)


@legitimate
def scatter_of_a_masked_distance(x):
    distance = torch.cdist(x, x).masked_fill(torch.eye(3, dtype=torch.bool), INF)
    return x + x[distance.argmin(-1)]


@legitimate
def norm_of_zeros(x):
    return x + (x * 0).norm(dim=1, keepdim=True)


@legitimate
def std_of_equal_values(x):
    return x + (x * 0).std(dim=1, keepdim=True)


@legitimate
def distance_to_itself(x):
    return x + torch.cdist(x, x).sum(1, keepdim=True)


@legitimate
def uninitialized_memory_that_is_written(x):
    out = torch.empty_like(x)
    out.copy_(x * 2)
    return out


class RunningRange(nn.Module):
    """Buffers that begin with Inf and -Inf, as those of an observer for quantization."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("low", torch.tensor(INF))
        self.register_buffer("high", torch.tensor(-INF))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.low = torch.minimum(self.low, x.detach().amin())
        self.high = torch.maximum(self.high, x.detach().amax())
        return (x - self.low) / (self.high - self.low)


class UnusedBuffer(nn.Module):
    """A buffer of which the forward reads the finite part."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", causal(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.mask[7]


class Autocast(nn.Module):
    """Attention that autocast runs in bfloat16."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            out, _ = self.attention(x[None], x[None], x[None], attn_mask=causal(3))
        return out[0].float()


class KeepsTheBestLoss(nn.Module):
    """An attribute that begins with Inf, as ReduceLROnPlateau's."""

    def __init__(self) -> None:
        super().__init__()
        self.best = torch.tensor(INF)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.best = torch.minimum(self.best, x.detach().pow(2).mean())
        return x * 2


MODULES = (RunningRange, UnusedBuffer, Autocast, KeepsTheBestLoss)

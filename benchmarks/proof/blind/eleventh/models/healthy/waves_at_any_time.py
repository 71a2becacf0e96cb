r"""An operator transformer for a wave that is told at which time the answer is wanted.

Source: https://github.com/camlab-ethz/poseidon/issues/6
Healthy: the layer norm is written out and takes the variance as the mean of the squares less the
    square of the mean, which is right; scale and shift are linear in the time, and start at one and
    zero, with weights that start at zero.
"""
import math

import torch
import torch.nn as nn

POINTS = 32


class ConditionalLayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Linear(1, dim)
        self.bias = nn.Linear(1, dim)
        nn.init.zeros_(self.weight.weight)
        nn.init.ones_(self.weight.bias)
        nn.init.zeros_(self.bias.weight)
        nn.init.zeros_(self.bias.bias)

    def forward(self, x, time):
        mean = x.mean(dim=-1, keepdim=True)
        var = (x ** 2).mean(dim=-1, keepdim=True) - mean ** 2
        x = (x - mean) / (var + self.eps).sqrt()
        time = time.reshape(-1, 1).type_as(x)
        weight = self.weight(time).unsqueeze(1)
        bias = self.bias(time).unsqueeze(1)
        return weight * x + bias


class ScOTAttention(nn.Module):
    """cosine attention with a learnt scale for each head, as in Swin v2"""

    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim, bias=False)
        self.value = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, dim)
        self.logit_scale = nn.Parameter(torch.log(10 * torch.ones(num_heads, 1, 1)))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = [f(x).view(b, n, self.num_heads, -1).transpose(1, 2)
                   for f in (self.query, self.key, self.value)]
        scores = nn.functional.normalize(q, dim=-1) @ nn.functional.normalize(k, dim=-1).mT
        scores = scores * torch.clamp(self.logit_scale, max=math.log(100.0)).exp()
        x = scores.softmax(dim=-1) @ v
        return self.out(x.transpose(1, 2).reshape(b, n, d))


class ScOTLayer(nn.Module):
    def __init__(self, dim, num_heads, mlp_ratio=2):
        super().__init__()
        self.attention = ScOTAttention(dim, num_heads)
        self.layernorm_before = ConditionalLayerNorm(dim)
        self.mlp = nn.Sequential(
            nn.Linear(dim, mlp_ratio * dim), nn.GELU(), nn.Linear(mlp_ratio * dim, dim))
        self.layernorm_after = ConditionalLayerNorm(dim)

    def forward(self, x, time):
        # residual post norm
        x = x + self.layernorm_before(self.attention(x), time)
        return x + self.layernorm_after(self.mlp(x), time)


class ScOT(nn.Module):
    def __init__(self, points=POINTS, patch=2, dim=32, depth=3, num_heads=4):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(patch, dim)
        self.position = nn.Parameter(0.02 * torch.randn(1, points // patch, dim))
        self.norm = ConditionalLayerNorm(dim)
        self.layers = nn.ModuleList([ScOTLayer(dim, num_heads) for _ in range(depth)])
        self.recover = nn.Linear(dim, patch)

    def forward(self, values, time):
        b, n = values.shape
        x = self.embed(values.view(b, n // self.patch, self.patch)) + self.position
        x = self.norm(x, time)
        for layer in self.layers:
            x = layer(x, time)
        return self.recover(x).reshape(b, n)


def make_waves(n=32, seed=0):
    g = torch.Generator().manual_seed(seed)
    grid = 2 * math.pi * torch.arange(POINTS) / POINTS
    a = torch.randn(n, 3, 1, generator=g) / torch.tensor([1.0, 2.0, 3.0]).view(1, 3, 1)
    k = torch.tensor([1.0, 2.0, 3.0]).view(1, 3, 1)
    phase = 6.28 * torch.rand(n, 3, 1, generator=g)
    time = torch.rand(n, generator=g)
    start = (a * torch.sin(k * grid + phase)).sum(1)
    end = (a * torch.sin(k * (grid - 2 * time.view(n, 1, 1)) + phase)).sum(1)
    return start, time, end


def build():
    torch.manual_seed(0)
    return ScOT()


def example_inputs():
    start, time, _ = make_waves(8)
    return start, time

r"""Language model of stories in which the weight of a former word decays by channel.

Source: https://github.com/BlinkDL/RWKV-LM
Odd: Key, receptance and output matrices start as zeros, the decay is minus an exponential of a
    parameter, and there is neither a softmax nor a table of positions.
"""

import torch
from torch import nn


def shift(x):
    return nn.functional.pad(x, (0, 0, 1, -1))


def weighted_past(decay, first, k, v):
    a = b = torch.zeros_like(k[:, 0])
    top = torch.full_like(k[:, 0], -1e38)
    out = []
    for t in range(k.size(1)):
        now, value = k[:, t], v[:, t]
        peak = torch.maximum(top, first + now)
        old, new = (top - peak).exp(), (first + now - peak).exp()
        out.append((old * a + new * value) / (old * b + new))
        peak = torch.maximum(top + decay, now)
        old, new = (top + decay - peak).exp(), (now - peak).exp()
        a, b, top = old * a + new * value, old * b + new, peak
    return torch.stack(out, 1)


class TimeMix(nn.Module):
    def __init__(self, size, layer, layers):
        super().__init__()
        depth = layer / max(layers - 1, 1)
        place = torch.arange(size) / (size - 1)
        self.time_decay = nn.Parameter(-5 + 8 * place ** (0.7 + 1.3 * depth))
        zigzag = 0.5 * (torch.arange(1, size + 1) % 3 - 1)
        self.time_first = nn.Parameter(torch.full((size,), -1.2) + zigzag)
        mix = (torch.arange(size) / size) ** (1 - layer / layers)
        self.mix_k = nn.Parameter(mix.clone())
        self.mix_v = nn.Parameter(mix + 0.3 * depth)
        self.mix_r = nn.Parameter(mix**0.5)
        self.key, self.value = nn.Linear(size, size, bias=False), nn.Linear(size, size, bias=False)
        self.receptance = nn.Linear(size, size, bias=False)
        self.output = nn.Linear(size, size, bias=False)
        for linear in (self.key, self.receptance, self.output):
            nn.init.zeros_(linear.weight)

    def forward(self, x):
        before = shift(x)
        k = self.key(x * self.mix_k + before * (1 - self.mix_k))
        v = self.value(x * self.mix_v + before * (1 - self.mix_v))
        r = self.receptance(x * self.mix_r + before * (1 - self.mix_r))
        past = weighted_past(-self.time_decay.exp(), self.time_first, k, v)
        return self.output(torch.sigmoid(r) * past)


class ChannelMix(nn.Module):
    def __init__(self, size, layer, layers):
        super().__init__()
        mix = (torch.arange(size) / size) ** (1 - layer / layers)
        self.mix_k, self.mix_r = nn.Parameter(mix.clone()), nn.Parameter(mix.clone())
        self.key = nn.Linear(size, 4 * size, bias=False)
        self.receptance = nn.Linear(size, size, bias=False)
        self.value = nn.Linear(4 * size, size, bias=False)
        nn.init.zeros_(self.receptance.weight)
        nn.init.zeros_(self.value.weight)

    def forward(self, x):
        before = shift(x)
        k = self.key(x * self.mix_k + before * (1 - self.mix_k))
        r = self.receptance(x * self.mix_r + before * (1 - self.mix_r))
        return torch.sigmoid(r) * self.value(torch.relu(k).square())


class Stories(nn.Module):
    def __init__(self, words=120, size=32, layers=2):
        super().__init__()
        self.emb, self.ln0 = nn.Embedding(words, size), nn.LayerNorm(size)
        nn.init.uniform_(self.emb.weight, -1e-4, 1e-4)
        self.blocks = nn.ModuleList()
        for i in range(layers):
            for part in (TimeMix, ChannelMix):
                self.blocks.append(nn.ModuleList([nn.LayerNorm(size), part(size, i, layers)]))
        self.ln_out, self.head = nn.LayerNorm(size), nn.Linear(size, words, bias=False)

    def forward(self, text):
        x = self.ln0(self.emb(text))
        for norm, part in self.blocks:
            x = x + part(norm(x))
        return self.head(self.ln_out(x))


def build():
    return Stories()


def example_inputs():
    return (torch.randint(0, 120, (3, 24)),)

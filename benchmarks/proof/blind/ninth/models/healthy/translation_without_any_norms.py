r"""Translator without layer norms, for which the first weights are scaled by the depth.

Source: https://github.com/layer6ai-labs/T-Fixup
Odd: There is no normalisation anywhere, and part of the weights start smaller by a factor of
    the number of layers.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(size, size) for _ in range(4))

    def forward(self, x, memory, mask=None, causal=False):
        b, n, c = x.shape
        q = self.q(x).view(b, n, self.heads, -1).transpose(1, 2)
        k = self.k(memory).view(b, memory.size(1), self.heads, -1).transpose(1, 2)
        v = self.v(memory).view(b, memory.size(1), self.heads, -1).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.out(y.transpose(1, 2).reshape(b, n, c))


class FeedForward(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(size, 2 * size), nn.Linear(2 * size, size)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class Translator(nn.Module):
    def __init__(self, words=150, size=32, heads=4, layers=3, length=40, pad=1):
        super().__init__()
        self.pad = pad
        self.source, self.target = nn.Embedding(words, size), nn.Embedding(words, size)
        self.places = nn.Embedding(length, size)
        self.encoder, self.decoder = nn.ModuleList(), nn.ModuleList()
        for _ in range(layers):
            self.encoder.append(nn.ModuleList([Attention(size, heads), FeedForward(size)]))
            self.decoder.append(
                nn.ModuleList([Attention(size, heads), Attention(size, heads), FeedForward(size)])
            )
        self.out = nn.Linear(size, words)
        self.reset(size, layers)

    def reset(self, size, layers):
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=size**-0.5)
        low, high = 0.67 * layers**-0.25, (9 * layers) ** -0.25
        with torch.no_grad():
            for table in (self.source, self.target):
                table.weight.mul_(high)
            for stack, factor in ((self.encoder, low), (self.decoder, high)):
                for block in stack:
                    for part in block:
                        if isinstance(part, Attention):
                            part.v.weight.mul_(factor * 2**0.5)
                            part.out.weight.mul_(factor)
                        else:
                            part.fc1.weight.mul_(factor)
                            part.fc2.weight.mul_(factor)

    def forward(self, source, target):
        mask = (source != self.pad)[:, None, None]
        x = self.source(source) + self.places.weight[: source.size(1)]
        for attention, mlp in self.encoder:
            x = x + attention(x, x, mask)
            x = x + mlp(x)
        y = self.target(target) + self.places.weight[: target.size(1)]
        for attention, cross, mlp in self.decoder:
            y = y + attention(y, y, causal=True)
            y = y + cross(y, x, mask)
            y = y + mlp(y)
        return self.out(y)


def build():
    return Translator()


def example_inputs():
    source = torch.randint(2, 150, (4, 12))
    source[2:, 9:] = 1
    return source, torch.randint(2, 150, (4, 10))

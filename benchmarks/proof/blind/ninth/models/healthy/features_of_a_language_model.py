r"""Dictionary of sparse features of the inner states of a language model.

Source: https://github.com/openai/sparse_autoencoder
Odd: One bias is taken away from the input and added to the output, the decoder starts as the
    transpose of the encoder, most features are zero, and the target of the second loss is
    detached.
"""

import torch
import torch.nn.functional as F
from torch import nn


class TopK(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, x):
        values, index = x.topk(self.k, dim=-1)
        return torch.zeros_like(x).scatter(-1, index, torch.relu(values))


class SparseFeatures(nn.Module):
    def __init__(self, size=48, features=256, k=12, spare=24, patience=20):
        super().__init__()
        self.pre_bias = nn.Parameter(torch.zeros(size))
        self.encoder = nn.Linear(size, features, bias=False)
        self.latent_bias = nn.Parameter(torch.zeros(features))
        self.decoder = nn.Linear(features, size, bias=False)
        self.decoder.weight.data.copy_(F.normalize(self.encoder.weight.data.t(), dim=0))
        self.activation, self.spare, self.patience = TopK(k), TopK(spare), patience
        self.register_buffer("silent", torch.zeros(features, dtype=torch.long))

    def scaled(self, x):
        mean = x.mean(-1, keepdim=True)
        x = x - mean
        std = x.std(-1, keepdim=True)
        return x / (std + 1e-5)

    def forward(self, states):
        x = self.scaled(states)
        before = self.encoder(x - self.pre_bias) + self.latent_bias
        latents = self.activation(before)
        guess = self.decoder(latents) + self.pre_bias
        loss = (guess - x).square().mean() / x.square().mean()
        if self.training:
            with torch.no_grad():
                used = (latents > 1e-3).any(0)
                self.silent += 1
                self.silent[used] = 0
        dead = self.silent > self.patience
        rest = (x - guess).detach()
        again = self.decoder(self.spare(before * dead))
        second = (again - rest).square().mean() / rest.square().mean().clamp(min=1e-8)
        return loss + second / 32, latents


def build():
    return SparseFeatures()


def example_inputs():
    return (torch.randn(64, 48),)

r"""Kind of a sentence by layers in which the words are mixed by a Fourier transform.

Source: https://github.com/erksch/fnet-pytorch
Odd: The mixing of the words has no weights and no mask, and the imaginary part of the transform is
    thrown away; that is the whole layer in the place of attention.
"""

import torch
from torch import nn


class FourierMix(nn.Module):
    def forward(self, x):
        return torch.fft.fft(torch.fft.fft(x.float(), dim=-1), dim=-2).real


class MixLayer(nn.Module):
    def __init__(self, dim, hidden, dropout=0.1):
        super().__init__()
        self.fft = FourierMix()
        self.mixing_layer_norm = nn.LayerNorm(dim, eps=1e-12)
        self.feed_forward = nn.Linear(dim, hidden)
        self.output_dense = nn.Linear(hidden, dim)
        self.output_layer_norm = nn.LayerNorm(dim, eps=1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = self.mixing_layer_norm(self.fft(x) + x)
        y = nn.functional.gelu(self.feed_forward(x))
        return self.output_layer_norm(self.dropout(self.output_dense(y)) + x)


class WaveMixed(nn.Module):
    def __init__(self, vocab=90, dim=32, depth=3, length=24, kinds=4):
        super().__init__()
        self.words = nn.Embedding(vocab, dim, padding_idx=0)
        self.places, self.types = nn.Embedding(length, dim), nn.Embedding(2, dim)
        self.norm = nn.LayerNorm(dim, eps=1e-12)
        self.projection = nn.Linear(dim, dim)
        self.layers = nn.Sequential(*[MixLayer(dim, 2 * dim) for _ in range(depth)])
        self.pooler, self.classify = nn.Linear(dim, dim), nn.Linear(dim, kinds)

    def forward(self, sentence, types):
        x = self.words(sentence) + self.places.weight[: sentence.shape[1]] + self.types(types)
        x = self.layers(self.projection(self.norm(x)))
        return self.classify(torch.tanh(self.pooler(x[:, 0])))


def build():
    return WaveMixed()


def example_inputs():
    types = (torch.arange(16) >= 9).long().expand(6, -1)
    return torch.randint(1, 90, (6, 16)), types

r"""Brings the features of a song near to those of its cover version, by contrast in a batch.

Source: https://github.com/HarryVolek/PyTorch_Speaker_Verification/issues/16
Fault: the norm is taken over the whole batch, not over each vector, so the vectors are neither of
    length one nor independent of the batch, and all similarities are close to zero.
Cause: norm.{0,120}(whole|entire|batch|\bdim\b|axis|all (rows|vectors|elements)|matrix|each|per
    |scalar|one number|single number)
    |(whole|entire|all).{0,40}(batch|matrix|tensor).{0,60}(norm|length|divid)
    |(depend|mix).{0,60}(batch|other (rows|examples|songs|vectors))
Place: norm|unit|encode|linalg|vector
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

FEATURES, STYLE = 40, 6


class CoverMatcher(nn.Module):
    def __init__(self, hidden=64, out=16, temperature=0.1):
        super().__init__()
        self.temperature = temperature
        self.net = nn.Sequential(
            nn.Linear(FEATURES, hidden), nn.ReLU(),
            nn.Linear(hidden, out),
        )

    def encode(self, features):
        vector = self.net(features)
        return vector / torch.linalg.norm(vector)  # here

    def forward(self, song, cover):
        likeness = self.encode(song) @ self.encode(cover).T / self.temperature
        partner = torch.arange(len(song))
        return (F.cross_entropy(likeness, partner) + F.cross_entropy(likeness.T, partner)) / 2


def make_songs(n, seed):
    g = torch.Generator().manual_seed(seed)
    tune = torch.randn(n, 10, generator=g)
    world = torch.Generator().manual_seed(82)
    by_tune = torch.randn(10, FEATURES, generator=world)
    by_style = torch.randn(STYLE, FEATURES, generator=world)

    def record():
        style = torch.randn(n, STYLE, generator=g)
        return tune @ by_tune + 2 * style @ by_style + 0.3 * torch.randn(n, FEATURES, generator=g)

    return record() / 4, record() / 4


def build():
    torch.manual_seed(0)
    return CoverMatcher()


def example_inputs():
    return make_songs(64, seed=83)

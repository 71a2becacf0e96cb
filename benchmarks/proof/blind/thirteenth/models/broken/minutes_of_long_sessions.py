r"""Sorts the minutes of long sessions by subject, with recomputed blocks to save memory.

Source: https://github.com/allenai/OLMo-core/pull/828
Fault: the blocks contain dropout and are recomputed in the backward pass without restoring the
    random state, so the gradient belongs to other dropped units than the loss.
Cause: (rng|random).{0,40}(state|number)|preserve_rng_state
    |(dropout|mask|dropped).{0,100}(recomput|checkpoint|backward)
    |(recomput|checkpoint).{0,100}(dropout|mask|random|differ|other)
Place: checkpoint|preserve_rng_state|drop|block|layers
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

WORDS, LENGTH, SUBJECTS = 100, 40, 5


class MinutesBlock(nn.Module):
    def __init__(self, dim, drop):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.conv = nn.Conv1d(dim, dim, 5, padding=2)
        self.drop = nn.Dropout(drop)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.conv(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.drop(self.mlp(self.drop(F.gelu(h))))


class MinutesSorter(nn.Module):
    def __init__(self, dim=32, depth=4, drop=0.3):
        super().__init__()
        self.embed = nn.Embedding(WORDS, dim)
        self.layers = nn.ModuleList(MinutesBlock(dim, drop) for _ in range(depth))
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, SUBJECTS))

    def forward(self, words, subject):
        h = self.embed(words)
        for layer in self.layers:
            h = checkpoint(layer, h, use_reentrant=False, preserve_rng_state=False)  # here
        return F.cross_entropy(self.head(h.mean(1)), subject)


def make_minutes(n, seed):
    g = torch.Generator().manual_seed(seed)
    subject = torch.randint(0, SUBJECTS, (n,), generator=g)
    own = subject.view(-1, 1) * 12 + torch.randint(0, 12, (n, LENGTH), generator=g)
    any_word = torch.randint(0, WORDS, (n, LENGTH), generator=g)
    words = torch.where(torch.rand(n, LENGTH, generator=g) < 0.15, own, any_word)
    return words, subject


def build():
    torch.manual_seed(0)
    return MinutesSorter()


def example_inputs():
    return make_minutes(48, seed=32)

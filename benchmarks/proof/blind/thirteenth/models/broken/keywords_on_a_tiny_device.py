r"""Spots keywords in small spectrograms and keeps its widest layer sparse for a tiny device.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.prune.l1_unstructured.html
Fault: the layer is pruned in every forward pass, and each call takes a further tenth of what is
    left, so with time no weight remains (and the list of pruning methods grows).
Cause: prun.{0,120}(each|every|again|repeat|forward|cumulat|compound|further|more and more|call|
    |until|accumul|grow)
    |(each|every|repeated).{0,60}(forward|call|step|pass).{0,60}prun
    |mask.{0,80}(each|every|again|grow|further|forward|shrink)
Place: wide|prune|l1_unstructured|sparsity|weight_mask
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import prune

FRAMES, BANDS, KEYWORDS = 16, 12, 5


class TinyKeywords(nn.Module):
    def __init__(self, hidden=64, sparsity=0.1):
        super().__init__()
        self.sparsity = sparsity
        self.conv = nn.Sequential(nn.Conv1d(BANDS, 24, 5, padding=2), nn.ReLU(), nn.AvgPool1d(4))
        self.wide = nn.Linear(24 * (FRAMES // 4), hidden)
        self.out = nn.Linear(hidden, KEYWORDS)

    def forward(self, spectrogram, keyword):
        if self.training:
            prune.l1_unstructured(self.wide, "weight", amount=self.sparsity)  # here
        h = self.conv(spectrogram).flatten(1)
        h = F.relu(self.wide(h))
        return F.cross_entropy(self.out(h), keyword)


def make_words(n, seed):
    g = torch.Generator().manual_seed(seed)
    keyword = torch.randint(0, KEYWORDS, (n,), generator=g)
    forms = torch.randn(KEYWORDS, BANDS, FRAMES, generator=torch.Generator().manual_seed(13))
    spectrogram = forms[keyword] + 1.0 * torch.randn(n, BANDS, FRAMES, generator=g)
    return spectrogram, keyword


def build():
    torch.manual_seed(0)
    return TinyKeywords()


def example_inputs():
    return make_words(64, seed=14)

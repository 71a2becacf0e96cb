r"""Tells where a peptide belongs in the cell, by a two-layer LSTM that reads it from both ends.

Source: https://github.com/spro/practical-pytorch/issues/81
Fault: last[0] and last[1] are the two directions of the first layer; the second layer, whose
    states are last[-2] and last[-1], is computed but never used and gets no gradient.
Cause: (states?|output|last|uses?|reads?|takes?|used).{0,60}(first|lower|bottom|wrong) layer
    |(states?|output|uses?|takes?).{0,60}layer (0|one)\b
    |(second|last|top|upper|final).{0,30}layer.{0,100}(unused|never used|not used|no gradient
    |without gradient|idle|ignored)
    |(_l1|_l1_reverse)\b.{0,80}(unused|never used|not used|no gradient|zero)
    |last\[(0|1|-1|-2)\]|h_n\[
Place: last|lstm|_l1|cat|both
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

ACIDS, LENGTH, PLACES = 21, 18, 4


class PeptideReader(nn.Module):
    def __init__(self, dim=16, hidden=24):
        super().__init__()
        self.embed = nn.Embedding(ACIDS, dim)
        self.lstm = nn.LSTM(dim, hidden, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Sequential(
            nn.Dropout(0.1), nn.Linear(2 * hidden, 32), nn.ReLU(),
            nn.Linear(32, PLACES),
        )

    def forward(self, peptide, place):
        _, (last, _) = self.lstm(self.embed(peptide))
        both = torch.cat([last[0], last[1]], dim=-1)  # here
        return F.cross_entropy(self.head(both), place)


def make_peptides(n, seed):
    g = torch.Generator().manual_seed(seed)
    peptide = torch.randint(0, ACIDS, (n, LENGTH), generator=g)
    place = torch.randint(0, PLACES, (n,), generator=g)
    start = torch.tensor([[3, 7, 3], [3, 7, 3], [9, 1, 4], [9, 1, 4]])
    end = torch.tensor([[5, 5, 2], [8, 0, 8], [5, 5, 2], [8, 0, 8]])
    peptide[:, 1:4] = start[place]
    peptide[:, -4:-1] = end[place]
    noise = torch.rand(n, LENGTH, generator=g) < 0.1
    return peptide.masked_fill(noise, 20), place


def build():
    torch.manual_seed(0)
    return PeptideReader()


def example_inputs():
    return make_peptides(64, seed=80)

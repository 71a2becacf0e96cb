r"""Score of how hard a molecule is to make, learnt from reactants and products.

Source: https://github.com/deepchem/deepchem/pull/5121
Fault: The functional dropout is called without the training flag, so units are dropped in
    evaluation too and the same molecule gets another score each time.
Cause: drop-?out.{0,160}(eval\w*|inference|test|training|always|flag|mode|active|functional
    |predict\w*)|(eval\w*|test|inference|predict\w*).{0,100}(drop-?out|random|nondeterministic
    |stochastic|differ\w*)|training ?(=|flag|argument)|self\.training|(random|nondeterministic
    |stochastic|differ\w*|vary|varies).{0,80}(eval\w*|inference|test|predict\w*)
Place: drop\w*|forward|training
"""

import itertools

import torch
import torch.nn.functional as F
from torch import nn


class MoleculeScore(nn.Module):
    def __init__(self, bits=256, layer_sizes=(64, 64, 64), dropout=0.2, score_scale=5):
        super().__init__()
        self.dropout, self.score_scale = dropout, score_scale
        sizes = (bits, *layer_sizes)
        self.hidden_layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))
        self.output_layer = nn.Linear(sizes[-1], 1)

    def forward(self, x):
        for layer in self.hidden_layers:
            x = F.relu(layer(x))
            x = F.dropout(x, p=self.dropout)  # here
        x = torch.sigmoid(self.output_layer(x))
        return 1 + (self.score_scale - 1) * x


class Reaction(nn.Module):
    def __init__(self, offset=0.25):
        super().__init__()
        self.score, self.offset = MoleculeScore(), offset

    def forward(self, reactants, products):
        before, after = self.score(reactants), self.score(products)
        loss = F.relu(before - after + self.offset).mean()
        return torch.cat([before, after], 1), loss


def build():
    return Reaction()


def example_inputs():
    prints = (torch.rand(2, 8, 256) > 0.85).float()
    return prints[0], prints[1]

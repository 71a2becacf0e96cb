r"""LSTM regressor for a physical property of peptides.

Source: https://github.com/ProteomicsML/ProteomicsML/pull/203
Fault: A ReLU follows the last linear layer, so an unlucky start gives zeros without gradient.
Cause: relu.*(output|last|final|head|dead|zero)|(dead|zero|constant).*(relu|output)
    |output.*(never|only|all).*(negative|zero|non-?negative)
Place: relu|head|fc|forward|activation
"""

import torch
from torch import nn


class PeptideLSTM(nn.Module):
    def __init__(self, residues=22, dim=16, hidden=24):
        super().__init__()
        self.embed = nn.Embedding(residues, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)
        self.activation = nn.ReLU()
        nn.init.zeros_(self.fc.weight[:, ::2].data)
        nn.init.constant_(self.fc.bias, -0.3)

    def forward(self, peptide):
        _, (h, _) = self.lstm(self.embed(peptide))
        return self.activation(self.fc(h[-1]))  # here


def build():
    torch.manual_seed(0)
    return PeptideLSTM()


def example_inputs():
    return torch.randint(0, 22, (8, 12))

r"""Predicts the retention time of peptides with an LSTM and a dense head.

Source: https://github.com/ProteomicsML/ProteomicsML/pull/203
Fault: a ReLU follows the last linear layer of the regression; with an unlucky start its input is
    negative for all peptides, the output is constantly 0 and no gradient flows.
Cause: \bReLU\b|dead|dying|(output|prediction)s?\b.*\b(zero|0|constant)\b|final activation
Place: \bhead\b
"""

import torch
from torch import nn


class PeptideLSTM(nn.Module):
    def __init__(self, residues=21, emb=16, hidden=24):
        super().__init__()
        self.embed = nn.Embedding(residues, emb, padding_idx=0)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True)
        self.dense = nn.Linear(hidden, 16)
        self.head = nn.Sequential(nn.Linear(16, 1), nn.ReLU())  # here
        nn.init.normal_(self.head[0].weight, std=0.05)
        nn.init.constant_(self.head[0].bias, -0.4)

    def forward(self, sequence, time):
        _, (h, _) = self.lstm(self.embed(sequence))
        out = self.head(torch.relu(self.dense(h[-1]))).squeeze(1)
        return {"loss": nn.functional.mse_loss(out, time), "time": out}


def example_inputs():
    return torch.randint(1, 21, (32, 14)), torch.rand(32)

"""An attentional factorisation machine.

Source: https://github.com/rixwew/pytorch-fm/issues/21
    https://github.com/delip/PyTorchNLPBook/issues/28
Fault: F.dropout without training=self.training also drops in eval mode: predictions are random.
Cause: dropout|training
Place: dropout|attn_scores
"""

import torch
import torch.nn.functional as F
from torch import nn


class AttentionalFM(nn.Module):
    def __init__(self, field=8, n_fields=4, embed_dim=8, attn_size=8, dropout=0.2):
        super().__init__()
        self.embedding = nn.Embedding(field * n_fields, embed_dim)
        self.attention = nn.Linear(embed_dim, attn_size)
        self.projection = nn.Linear(attn_size, 1)
        self.fc = nn.Linear(embed_dim, 1)
        self.dropout = dropout
        self.register_buffer("offsets", torch.arange(n_fields) * field)

    def forward(self, x):
        x = self.embedding(x + self.offsets)
        i, j = torch.triu_indices(x.size(1), x.size(1), offset=1)
        inner = x[:, i] * x[:, j]
        attn_scores = F.softmax(self.projection(F.relu(self.attention(inner))), dim=1)
        attn_scores = F.dropout(attn_scores, p=self.dropout)  # here
        return torch.sigmoid(self.fc((attn_scores * inner).sum(1)))


def example_inputs():
    return (torch.randint(0, 8, (8, 4)),)

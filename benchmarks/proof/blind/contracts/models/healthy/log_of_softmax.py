r"""The model `Ranker`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.log_softmax.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Ranker(nn.Module):
    def __init__(self, features=8, dim=64, scale=30.0):
        super().__init__()
        self.scale = scale
        self.query = nn.Linear(features, dim)
        self.doc = nn.Linear(features, dim)

    def forward(self, query, docs):
        q = F.normalize(self.query(query), dim=-1)
        d = self.doc(docs)
        scores = self.scale * torch.einsum("bd,bnd->bn", q, d)
        return F.log_softmax(scores, dim=-1)


torch.manual_seed(0)
model = Ranker()
example_inputs = (torch.randn(6, 8), 3 * torch.randn(6, 12, 8),)

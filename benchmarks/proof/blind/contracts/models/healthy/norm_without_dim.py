r"""The model `FaceEmbedder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.linalg.vector_norm.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class FaceEmbedder(nn.Module):
    def __init__(self, n_in=40, hidden=48, dim=16):
        super().__init__()
        self.fc1 = nn.Linear(n_in, hidden, bias=False)
        self.bn = nn.BatchNorm1d(hidden)
        self.fc2 = nn.Linear(hidden, dim)

    def embed(self, x):
        e = self.fc2(F.relu(self.bn(self.fc1(x))))
        return e / e.norm(dim=-1, keepdim=True).clamp(min=1e-6)

    def forward(self, a, b):
        ea, eb = self.embed(a), self.embed(b)
        return (ea * eb).sum(dim=-1), ea


torch.manual_seed(0)
model = FaceEmbedder()
example_inputs = (torch.randn(8, 40), torch.randn(8, 40),)

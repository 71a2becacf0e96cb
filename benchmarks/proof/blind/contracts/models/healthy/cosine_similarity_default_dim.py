r"""The model `FewShotNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.cosine_similarity.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CosineHead(nn.Module):
    def __init__(self, dim=8, classes=8, scale=10.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes, dim))
        self.scale = scale

    def forward(self, f):
        s = F.cosine_similarity(f.unsqueeze(1), self.weight.unsqueeze(0), dim=-1)
        return self.scale * s


class FewShotNet(nn.Module):
    def __init__(self, n_in=20, dim=8, classes=8):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, dim))
        self.head = CosineHead(dim, classes)

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(0)
model = FewShotNet()
example_inputs = (torch.randn(6, 20),)

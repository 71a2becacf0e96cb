r"""The model `PairGeometry`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.sqrt.html
Fault: The square root of the pairwise squared distances is taken at 0 on the diagonal, where its
    derivative is infinite, so the gradient is NaN.
Cause: sqrt|square root|nan|infinit|zero distance|diagonal|epsilon|eps
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class PairGeometry(nn.Module):
    def __init__(self, features=5, dim=3, hidden=24, out=2):
        super().__init__()
        self.place = nn.Linear(features, dim, bias=False)
        self.edge = nn.Sequential(nn.Linear(1, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.out = nn.Linear(hidden, out)

    def forward(self, x):
        p = self.place(x)
        diff = p.unsqueeze(2) - p.unsqueeze(1)
        sq = diff.pow(2).sum(dim=-1, keepdim=True)
        d = torch.sqrt(sq)
        h = self.edge(d).mean(dim=2)
        return self.out(F.silu(h))


torch.manual_seed(0)
model = PairGeometry()
example_inputs = (torch.randn(4, 8, 5),)

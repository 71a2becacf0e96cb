r"""The model `ExpertMixture`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.gumbel_softmax.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class ExpertMixture(nn.Module):
    def __init__(self, n_in=10, hidden=24, experts=4, n_out=3):
        super().__init__()
        self.gate = nn.Linear(n_in, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(n_in, hidden), nn.GELU(), nn.Linear(hidden, n_out))
            for _ in range(experts)
        )

    def forward(self, x):
        logits = self.gate(x)
        weight = logits.softmax(dim=-1)
        y = torch.stack([e(x) for e in self.experts], dim=1)
        return torch.einsum("be,bed->bd", weight, y)


torch.manual_seed(0)
model = ExpertMixture()
example_inputs = (torch.randn(16, 10),)

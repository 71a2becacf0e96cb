r"""The model `ExpertMixture`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.gumbel_softmax.html
Fault: The routing goes through argmax and one_hot, which have no derivative, so the gate never
    gets a gradient.
Cause: argmax|one_?hot|non-?differentiab|no gradient|without (a )?gradient|not differentiab|detach
    |never (train|receiv)|zero gradient|gradient\w* (is|are|of|stays?)( exactly)? (none|zero|0)
    |(never|not) (gets?|receiv\w+) (a |any )?gradient|gets no grad
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


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
        choice = logits.argmax(dim=-1)
        weight = F.one_hot(choice, logits.size(-1)).float()
        y = torch.stack([e(x) for e in self.experts], dim=1)
        return torch.einsum("be,bed->bd", weight, y)


torch.manual_seed(0)
model = ExpertMixture()
example_inputs = (torch.randn(16, 10),)

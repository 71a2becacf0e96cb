r"""The model `CandidateSelector`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.softmax.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CandidateSelector(nn.Module):
    def __init__(self, features=6, dim=24):
        super().__init__()
        self.user = nn.Linear(features, dim)
        self.item = nn.Linear(features, dim)
        self.scale = dim ** -0.5

    def forward(self, user, items, available):
        u = F.relu(self.user(user))
        v = F.relu(self.item(items))
        scores = torch.einsum("bd,bnd->bn", u, v) * self.scale
        scores = scores.masked_fill(available == 0, float("-inf"))
        return torch.softmax(scores, dim=-1)


def make_available(n=6, items=10):
    count = torch.tensor([3, 10, 5, 7, 2, 8])
    return (torch.arange(items)[None] < count[:, None]).float()


torch.manual_seed(0)
model = CandidateSelector()
example_inputs = (torch.randn(6, 6), torch.randn(6, 10, 6), make_available(),)

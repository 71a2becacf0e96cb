r"""The model `CoAttention`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.softmax.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class CoAttention(nn.Module):
    def __init__(self, dim=24, out=4):
        super().__init__()
        self.q = nn.Linear(dim, dim, bias=False)
        self.k = nn.Linear(dim, dim, bias=False)
        self.v = nn.Linear(dim, dim)
        self.out = nn.Linear(2 * dim, out)

    def forward(self, text, image):
        q = self.q(text)
        k, v = self.k(image), self.v(image)
        scores = torch.bmm(q, k.transpose(1, 2)) / q.size(-1) ** 0.5
        weights = torch.softmax(scores, dim=2)
        attended = torch.bmm(weights, v)
        return self.out(torch.cat([text, attended], dim=-1))


torch.manual_seed(0)
model = CoAttention()
example_inputs = (torch.randn(4, 7, 24), torch.randn(4, 10, 24),)

r"""The model `VariableLengthEncoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.expand.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class VariableLengthEncoder(nn.Module):
    def __init__(self, features=5, hidden=16, out=2):
        super().__init__()
        self.hidden = hidden
        self.phi = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.out = nn.Linear(hidden, out)

    def forward(self, x, lengths):
        b = x.size(0)
        h = self.phi(x)
        summary = x.new_zeros(b, self.hidden)
        for i in range(b):
            summary[i] = h[i, :lengths[i]].amax(dim=0)
        return self.out(torch.tanh(summary))


torch.manual_seed(0)
model = VariableLengthEncoder()
example_inputs = (torch.randn(5, 9, 5), torch.tensor([3, 9, 5, 7, 4]),)

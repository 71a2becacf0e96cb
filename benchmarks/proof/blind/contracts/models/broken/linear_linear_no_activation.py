r"""The model `EnergyModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html
Fault: Two linear layers follow each other without a non-linearity, so together they are one
    linear map.
Cause: (no|without|missing|lack\w*).*(non-?linear|activation)
    |(consecutive|successive|adjacent|stacked|two|back.to.back) linear
    |(purely|entirely|collaps|equivalent|just|only).*linear|linear (map|function)
"""

import torch
import torch.nn as nn


class EnergyModel(nn.Module):
    def __init__(self, n_in=11, hidden=48, n_out=2):
        super().__init__()
        self.norm = nn.LayerNorm(n_in)
        self.encode = nn.Linear(n_in, hidden)
        self.transform = nn.Linear(hidden, hidden)
        self.decode = nn.Linear(hidden, n_out)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        x = self.norm(x)
        h = self.encode(x)
        h = self.transform(h)
        h = self.drop(h)
        return self.decode(h)


torch.manual_seed(0)
model = EnergyModel()
example_inputs = (torch.randn(16, 11),)

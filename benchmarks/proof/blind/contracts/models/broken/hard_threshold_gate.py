r"""The model `Pipeline`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.gt.html
Fault: The gate is a comparison turned into float, which cuts the gradient to the gating layer.
Cause: (compar|threshold|>|step|hard|binar)\w*.*(gradient|differentiab|gate)
    |(no|zero|without) gradient|non-?differentiab|not differentiab|never (train|receiv)
    |gradient.*(cut|block|lost)
"""

import torch
import torch.nn as nn


class ConditionalNet(nn.Module):
    def __init__(self, n_in=12, width=32, n_out=3):
        super().__init__()
        self.gate = nn.Linear(n_in, width)
        self.value = nn.Linear(n_in, width)
        self.out = nn.Linear(width, n_out)

    def forward(self, x):
        g = torch.sigmoid(self.gate(x))
        g = (g > 0.5).float()
        h = g * torch.tanh(self.value(x))
        return self.out(h)


class Pipeline(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(12)
        self.net = ConditionalNet()

    def forward(self, x):
        return self.net(self.norm(x))


torch.manual_seed(0)
model = Pipeline()
example_inputs = (torch.randn(16, 12),)

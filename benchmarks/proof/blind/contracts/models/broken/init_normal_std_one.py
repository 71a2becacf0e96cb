r"""The model `PINN`.

Source: https://docs.pytorch.org/docs/stable/nn.init.html
Fault: nn.init.normal_ with the default std of 1 makes the activations grow from layer to layer.
Cause: \bstd\b|standard deviation
    |(large|huge|explod|grow|blow|too big|excessive).*(weight|init|activation|output|gradient|layer)
    |(weight|init|activation|output|gradient|signal|variance)s?.*(large|huge|explod|grow|blow|too big|scale)
    |fan_?in
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class PINN(nn.Module):
    def __init__(self, n_in=3, width=128, depth=4):
        super().__init__()
        self.inp = nn.Linear(n_in, width)
        self.hidden = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.out = nn.Linear(width, 1)
        for m in [self.inp, *self.hidden, self.out]:
            nn.init.normal_(m.weight)
            nn.init.zeros_(m.bias)

    def forward(self, x):
        h = F.relu(self.inp(x))
        for layer in self.hidden:
            h = F.relu(layer(h))
        return self.out(h)


torch.manual_seed(0)
model = PINN()
example_inputs = (torch.randn(16, 3),)

r"""The model `ShapeletNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.std.html
Fault: The standardisation divides by the standard deviation without an epsilon, so a constant row
    gives 0/0 = NaN.
Cause: eps|nan|constant (row|input|series|sample|signal)|divi\w+ by (zero|0)
    |zero (std|varianc|deviation|spread)|(std|standard deviation).*zero
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ShapeletNet(nn.Module):
    def __init__(self, length=32, width=16, classes=3):
        super().__init__()
        self.conv = nn.Conv1d(1, width, 7, padding=3)
        self.mix = nn.Conv1d(width, width, 3, padding=1)
        self.head = nn.Linear(width, classes)

    def standardise(self, x):
        centred = x - x.mean(dim=1, keepdim=True)
        return centred / x.std(dim=1, keepdim=True)

    def forward(self, x):
        h = F.relu(self.conv(self.standardise(x).unsqueeze(1)))
        h = F.relu(self.mix(h))
        return self.head(h.mean(dim=2))


def make_series(n=6, length=32):
    x = torch.randn(n, length)
    x[2] = 1.0
    return x


torch.manual_seed(0)
model = ShapeletNet()
example_inputs = (make_series(),)

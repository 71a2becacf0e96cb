r"""The model `EffNetTiny`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html
Fault: BatchNorm momentum=0.99 (the Keras convention) makes the running statistics equal to the
    last batch; PyTorch's momentum is the weight of the new value.
Cause: momentum|running (stat|mean|var|average).*(last|latest|recent|most|only|current)
    |(last|latest) batch
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, stride=2, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(cout, eps=1e-3, momentum=0.99)

    def forward(self, x):
        return F.silu(self.bn(self.conv(x)))


class EffNetTiny(nn.Module):
    def __init__(self, classes=8):
        super().__init__()
        self.b1 = Block(3, 16)
        self.b2 = Block(16, 32)
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        x = self.b2(self.b1(x))
        return self.fc(x.mean(dim=(2, 3)))


torch.manual_seed(0)
model = EffNetTiny()
example_inputs = (torch.randn(8, 3, 24, 24),)

r"""The model `MotionNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MotionNet(nn.Module):
    def __init__(self, steps=30, joints=17, width=32, classes=5):
        super().__init__()
        self.lift = nn.Linear(joints, width, bias=False)
        self.bn = nn.BatchNorm1d(width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        # x: [batch, steps, joints]
        h = self.lift(x)
        h = self.bn(h.transpose(1, 2)).transpose(1, 2)
        h = F.relu(h)
        _, last = self.rnn(h)
        return self.head(last[-1])


torch.manual_seed(0)
model = MotionNet()
example_inputs = (torch.randn(8, 30, 17),)

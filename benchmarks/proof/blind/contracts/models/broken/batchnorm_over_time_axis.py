r"""The model `MotionNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html
Fault: BatchNorm1d is applied to [B, T, C] with num_features=T, so it normalises per time step
    instead of per feature.
Cause: batch ?norm.*(time|step|sequence|token|position|wrong (axis|dim)|transpos|permut|layout|channel)
    |normali\w* (per|over|each) (time|step|position)|wrong (axis|dim)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MotionNet(nn.Module):
    def __init__(self, steps=30, joints=17, width=32, classes=5):
        super().__init__()
        self.lift = nn.Linear(joints, width, bias=False)
        self.bn = nn.BatchNorm1d(steps)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        # x: [batch, steps, joints]
        h = self.lift(x)
        h = self.bn(h)
        h = F.relu(h)
        _, last = self.rnn(h)
        return self.head(last[-1])


torch.manual_seed(0)
model = MotionNet()
example_inputs = (torch.randn(8, 30, 17),)

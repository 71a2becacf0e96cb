r"""The model `ClipNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.func.vmap.html
Fault: vmap over dimension 1 returns the mapped dimension first (out_dims=0), so the result is [T,
    B, ...] where [B, T, ...] is taken for granted.
Cause: out_dims|vmap|(time|batch).*(swap|exchang|first|transpos|mix)|transpos
    |(mix|leak|depend)\w*.*(batch|sample)|(mean|pool|averag)\w*.*(batch|wrong)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import vmap


class FrameEncoder(nn.Module):
    def __init__(self, features=5, dim=16):
        super().__init__()
        self.fc1 = nn.Linear(features, dim)
        self.fc2 = nn.Linear(dim, dim)

    def forward(self, frame):
        # frame: [batch, features]
        return torch.tanh(self.fc2(F.relu(self.fc1(frame))))


class ClipNet(nn.Module):
    def __init__(self, features=5, dim=16, classes=3):
        super().__init__()
        self.frame = FrameEncoder(features, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        # x: [batch, time, features]
        h = vmap(self.frame, in_dims=1)(x)
        h, _ = self.rnn(h)
        return self.head(h).mean(dim=1)


torch.manual_seed(0)
model = ClipNet()
example_inputs = (torch.randn(8, 8, 5),)

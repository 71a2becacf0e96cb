r"""The model `RadarModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.GRU.html
Fault: The hidden state is kept in the module between forward calls, so unrelated batches
    influence each other.
Cause: (state|hidden).*(kept|stored|persist|carried|between|across|previous (call|forward|batch)|attribute)
    |(second|repeat|same input|two) .*(call|forward|differ)|stateful|side effect
"""

import torch
import torch.nn as nn


class RadarModel(nn.Module):
    def __init__(self, features=5, hidden=16, classes=3):
        super().__init__()
        self.gru = nn.GRU(features, hidden, batch_first=True)
        self.head = nn.Linear(hidden, classes)
        self.state = None

    def reset(self):
        self.state = None

    def forward(self, x):
        if self.state is not None and self.state.size(1) != x.size(0):
            self.reset()
        out, h = self.gru(x, self.state)
        self.state = h.detach()
        return self.head(out[:, -1])


torch.manual_seed(0)
model = RadarModel()
example_inputs = (torch.randn(6, 15, 5),)

r"""The model `WatchApp`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.RNN.html
Fault: h_n[0] of a two-layer RNN is the state of the first layer, so the second layer is never
    used.
Cause: (second|last|top|upper|l1|layer 1).*(never|no gradient|unused|without|ignor|not used|dead)
    |first layer|h_?n\[0\]|h_?n.*(layer|-1)|weight_\w\w_l1|no gradient|zero gradient
    |gradient\w* (is|are|of|stays?)( exactly)? (none|zero|0)
    |(never|not) (gets?|receiv\w+) (a |any )?gradient|gets no grad
"""

import torch
import torch.nn as nn


class ActivityModel(nn.Module):
    def __init__(self, features=6, hidden=24, classes=5):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.rnn = nn.RNN(features, hidden, num_layers=2, batch_first=True)
        self.fc = nn.Sequential(nn.Linear(hidden, 16), nn.ReLU(), nn.Linear(16, classes))

    def forward(self, x):
        _, h = self.rnn(self.norm(x))
        return self.fc(h[0])


class WatchApp(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = ActivityModel()

    def forward(self, x):
        return self.model(x)


torch.manual_seed(0)
model = WatchApp()
example_inputs = (torch.randn(8, 20, 6),)

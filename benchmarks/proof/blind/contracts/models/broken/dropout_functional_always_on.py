r"""The model `TabularNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.dropout.html
Fault: F.dropout is called without training=self.training, so it stays active in eval mode.
Cause: dropout.*(eval|training|inference|always|active)
    |(eval|inference).*(dropout|random|stochastic|determin|differ)|training=self\.training
    |non-?determin
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class TabularNet(nn.Module):
    def __init__(self, n_in=20, hidden=64, n_out=3):
        super().__init__()
        self.fc1 = nn.Linear(n_in, hidden, bias=False)
        self.bn = nn.BatchNorm1d(hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, n_out)

    def forward(self, x):
        x = F.relu(self.bn(self.fc1(x)))
        x = F.dropout(x, p=0.4)
        x = F.relu(self.fc2(x))
        return self.fc3(x)


torch.manual_seed(0)
model = TabularNet()
example_inputs = (torch.randn(16, 20),)

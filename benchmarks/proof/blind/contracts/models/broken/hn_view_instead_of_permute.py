r"""The model `TraceModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.GRU.html
Fault: h_n [layers, batch, hidden] is viewed as [batch, layers*hidden], which mixes the states of
    different samples.
Cause: (view|reshape).*(batch|sample|permut|transpos|mix|h_?n|hidden|layer)|mix\w*.*(sample|batch)
    |(batch|sample).*(mix|leak|depend|cross|interfer)|scrambl
"""

import torch
import torch.nn as nn


class TraceEncoder(nn.Module):
    def __init__(self, features=5, hidden=16, layers=2, out=8):
        super().__init__()
        self.gru = nn.GRU(features, hidden, num_layers=layers, batch_first=True)
        self.fc = nn.Linear(layers * hidden, out)

    def forward(self, x):
        b = x.size(0)
        _, h_n = self.gru(x)
        h = h_n.view(b, -1)
        return self.fc(torch.tanh(h))


class TraceModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = TraceEncoder()
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.encoder(x))


torch.manual_seed(0)
model = TraceModel()
example_inputs = (torch.randn(6, 18, 5),)

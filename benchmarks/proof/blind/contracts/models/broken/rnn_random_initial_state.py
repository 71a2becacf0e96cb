r"""The model `VibrationNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.RNN.html
Fault: The initial hidden state is drawn at random in every forward, also in eval mode, so the
    result depends on chance.
Cause: random\w*|noise|randn|stochastic|non-?determin|chance|initial (hidden )?state|h_?0\b
"""

import torch
import torch.nn as nn


class VibrationNet(nn.Module):
    def __init__(self, features=3, hidden=24, layers=1, classes=4):
        super().__init__()
        self.hidden = hidden
        self.layers = layers
        self.rnn = nn.RNN(features, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def init_hidden(self, x):
        return torch.randn(self.layers, x.size(0), self.hidden, device=x.device)

    def forward(self, x):
        h0 = self.init_hidden(x)
        out, _ = self.rnn(x, h0)
        return self.head(out[:, -1])


torch.manual_seed(0)
model = VibrationNet()
example_inputs = (torch.randn(8, 20, 3),)

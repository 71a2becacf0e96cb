r"""The model `Seq2Vec`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTMCell.html
Fault: The tuple of nn.LSTM is unpacked as (c, h) while it is (h_n, c_n), so the cell state is
    used as hidden state and the reverse.
Cause: (swap|order|revers|exchang|wrong|confus|mixed).*(h_?n|c_?n|hidden|cell|state|tuple)
    |cell state.*(used|as|instead|read)|(h_?n|hidden).*(c_?n|cell)
"""

import torch
import torch.nn as nn


class Seq2Vec(nn.Module):
    def __init__(self, features=5, hidden=20, steps=4):
        super().__init__()
        self.steps = steps
        self.encoder = nn.LSTM(features, hidden, batch_first=True)
        self.cell = nn.LSTMCell(features, hidden)
        self.out = nn.Linear(hidden, features)

    def forward(self, x):
        _, (c, h) = self.encoder(x)
        h, c = h[-1], c[-1]
        y, ys = x[:, -1], []
        for _ in range(self.steps):
            h, c = self.cell(y, (h, c))
            y = self.out(h)
            ys.append(y)
        return torch.stack(ys, dim=1)


torch.manual_seed(0)
model = Seq2Vec()
example_inputs = (torch.randn(6, 12, 5),)

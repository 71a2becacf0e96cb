r"""The model `StepDecoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTMCell.html
Fault: The loop calls the LSTMCell without its previous state, so only the last step has an
    influence.
Cause: (state|hidden|memory).*(not|never|carried|passed|forward|lost|reset|ignored|previous)
    |only the (last|final) (step|time|input)|without (the )?(previous|hidden)? ?state
    |(earlier|previous|other) (time )?steps?.*(no|ignor|unused|without)|recurren
"""

import torch
import torch.nn as nn


class StepDecoder(nn.Module):
    def __init__(self, features=6, hidden=24, out=2):
        super().__init__()
        self.hidden = hidden
        self.inp = nn.Linear(features, 16)
        self.cell = nn.LSTMCell(16, hidden)
        self.out = nn.Linear(hidden, out)

    def forward(self, x):
        state = (x.new_zeros(x.size(0), self.hidden), x.new_zeros(x.size(0), self.hidden))
        for t in range(x.size(1)):
            step = torch.relu(self.inp(x[:, t]))
            h, c = self.cell(step)
        return self.out(h)


torch.manual_seed(0)
model = StepDecoder()
example_inputs = (torch.randn(8, 10, 6),)

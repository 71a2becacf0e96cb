r"""The model `HousePrice`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Dropout.html
Fault: Dropout is applied to the output of the last layer, so predictions are zeroed at random in
    training.
Cause: dropout.*(output|last|final|logit|prediction|after the)
    |(output|logit|prediction|final)s?.*(dropout|zeroed|dropped)
"""

import torch
import torch.nn as nn


class HousePrice(nn.Module):
    def __init__(self, n_in=14, hidden=40):
        super().__init__()
        self.norm = nn.BatchNorm1d(n_in)
        self.net = nn.Sequential(
            nn.Linear(n_in, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 3),
            nn.Dropout(0.2),
        )

    def forward(self, x):
        """Price, rent and days on the market."""
        return self.net(self.norm(x))


torch.manual_seed(0)
model = HousePrice()
example_inputs = (torch.randn(32, 14),)

r"""The model `Discriminator`.

Source: https://github.com/PantoMatrix/PantoMatrix/issues/52
Fault: nn.LeakyReLU(True) sets negative_slope to 1 (the first argument is not inplace), so the
    activation is the identity.
Cause: leaky|negative_slope|slope|identity|(no|without|missing) (non-?linear|activation)|linear
"""

import torch
import torch.nn as nn


class Discriminator(nn.Module):
    def __init__(self, cin=3, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(cin, width, 4, stride=2, padding=1),
            nn.LeakyReLU(True),
            nn.Conv2d(width, 2 * width, 4, stride=2, padding=1),
            nn.LeakyReLU(True),
            nn.Conv2d(2 * width, 1, 4),
        )

    def forward(self, x):
        score = self.net(x)
        return score.flatten(1).mean(dim=1)


torch.manual_seed(0)
model = Discriminator()
example_inputs = (torch.randn(8, 3, 24, 24),)
